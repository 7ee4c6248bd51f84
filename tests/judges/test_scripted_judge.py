"""The scripted judge: says what it was told, keeps what it saw."""

from __future__ import annotations

import pytest

from turngap.data import AssistantMessage, Conversation, Prediction, Trajectory, Verdict, decisions
from turngap.errors import EndpointError, JudgeError
from turngap.judges import TurnCase, WorkflowCase
from turngap.judges.scripted import ScriptedJudge


async def test_it_answers_in_order_and_then_fails(boat_conversation: Conversation) -> None:
    """Verdicts, booleans and errors come in the order of the script; after the last there is none."""
    decision = next(decisions(boat_conversation))
    case = TurnCase(
        conversation=boat_conversation, decision=decision, prediction=Prediction(message=AssistantMessage())
    )
    whole = WorkflowCase(conversation=boat_conversation, trajectory=Trajectory(conversation="boat"))
    judge = ScriptedJudge([True, Verdict(success=False, category="late"), EndpointError("down")], label="one")
    assert (await judge.turn(case)).success
    assert (await judge.workflow(whole)).category == "late"
    with pytest.raises(EndpointError):
        await judge.turn(case)
    with pytest.raises(JudgeError, match="3 answers"):
        await judge.turn(case)
    assert judge.cases == [case, whole, case, case]
    await judge.aclose()
    assert judge.closed


async def test_it_answers_by_a_function(boat_conversation: Conversation) -> None:
    """A function of the case can answer for ever."""
    judge = ScriptedJudge(lambda case: isinstance(case, WorkflowCase))
    whole = WorkflowCase(conversation=boat_conversation, trajectory=Trajectory(conversation="boat"))
    assert (await judge.workflow(whole)).success
    assert (await judge.workflow(whole)).success
