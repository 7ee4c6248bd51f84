"""Protocol turn: verdicts become scores, and nobody is asked about what nobody could act on."""

from __future__ import annotations

from turngap.data import (
    AssistantMessage,
    Cause,
    Conversation,
    Failure,
    Finish,
    Prediction,
    ToolCall,
    Verdict,
    decisions,
)
from turngap.errors import EndpointError
from turngap.judges.scripted import ScriptedJudge
from turngap.protocols import turn

YES, NO = Verdict(success=True), Verdict(success=False, category="wrong_fact", rationale="invents a date")


async def judged(
    conversation: Conversation, message: AssistantMessage, *verdicts: object, finish: Finish = Finish.STOP
):
    """Judge and score a prediction for the first decision."""
    decision = next(decisions(conversation))
    prediction = Prediction(message=message, finish=finish)
    verdict = await turn.judge(ScriptedJudge(list(verdicts)), conversation, decision, prediction)
    return turn.score(conversation, decision, prediction, verdict)


async def test_a_verdict_is_the_score(boat_conversation: Conversation) -> None:
    """Success and failure with the judge's words."""
    score = await judged(boat_conversation, AssistantMessage(content="One moment."), YES)
    assert (score.success, score.cause, score.values) == (True, None, {"success": 1.0})
    score = await judged(boat_conversation, AssistantMessage(content="One moment."), NO)
    assert (score.success, score.cause, score.category) == (False, Cause.WRONG, "wrong_fact")
    assert score.detail == "invents a date"


async def test_nothing_and_malformed_calls_fail_without_a_judge(boat_conversation: Conversation) -> None:
    """The scripted judge has no verdict to give, so asking it would be an error."""
    broken = AssistantMessage(calls=(ToolCall(name="get_booking", arguments=None, raw="{", error="..."),))
    assert (await judged(boat_conversation, broken)).cause is Cause.MALFORMED
    assert (await judged(boat_conversation, AssistantMessage(content=" "))).cause is Cause.WRONG
    assert (await judged(boat_conversation, AssistantMessage(), finish=Finish.LENGTH)).cause is Cause.CUT


async def test_a_judge_that_fails_is_errored(boat_conversation: Conversation) -> None:
    """JDG-04: no figure, cause judge."""
    score = await judged(boat_conversation, AssistantMessage(content="One moment."), EndpointError("503"))
    assert score.errored
    assert (score.cause, score.values) == (Cause.JUDGE, {})


def test_a_failed_prediction_is_not_judged(boat_conversation: Conversation) -> None:
    """The endpoint's failure stays the endpoint's."""
    decision = next(decisions(boat_conversation))
    failure = Failure(cause=Cause.ENDPOINT, reason="503")
    assert turn.score(boat_conversation, decision, failure, None).cause is Cause.ENDPOINT
