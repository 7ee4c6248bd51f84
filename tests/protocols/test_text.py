"""Protocol text: what scores, and what the ledger says."""

from __future__ import annotations

import pytest

from turngap.config import TextConfig
from turngap.data import AssistantMessage, Cause, Conversation, Failure, Finish, Prediction, ToolCall, decisions
from turngap.protocols import text


def score(conversation: Conversation, message: AssistantMessage, finish: Finish = Finish.STOP):
    """Score a prediction for the second decision, a text decision."""
    decision = list(decisions(conversation))[1]
    return text.score(conversation, decision, Prediction(message=message, finish=finish), TextConfig())


def test_the_reference_scores_one(boat_conversation: Conversation) -> None:
    """The recorded text against itself is 1 in every figure."""
    result = score(boat_conversation, list(decisions(boat_conversation))[1].reference)
    assert result.values == {"rouge1": 1.0, "rouge2": 1.0, "rougeL": 1.0}
    assert result.success and result.cause is None and result.category == "default"


def test_a_tool_call_scores_zero_and_is_wrong(boat_conversation: Conversation) -> None:
    """Also when the text beside the call is the reference: the decision was text."""
    reference = list(decisions(boat_conversation))[1].reference
    message = AssistantMessage(content=reference.content, calls=(ToolCall(name="list_slots", arguments={}),))
    result = score(boat_conversation, message)
    assert result.values["rouge1"] == 0.0 and result.cause is Cause.WRONG


@pytest.mark.parametrize("said", ["", "  ", "\n"])
def test_an_empty_answer_scores_zero_and_stays_in_n(boat_conversation: Conversation, said: str) -> None:
    """TXT-04: no exception, no NaN, not filtered out."""
    result = score(boat_conversation, AssistantMessage(content=said))
    assert result.values["rouge1"] == 0.0 and result.cause is Cause.WRONG and not result.errored


def test_a_cut_answer_keeps_its_similarity_and_is_blamed_on_the_limit(boat_conversation: Conversation) -> None:
    """The figure says how similar it is; the ledger says that it was cut."""
    result = score(boat_conversation, AssistantMessage(content="It is for two people on"), Finish.LENGTH)
    assert 0 < result.values["rouge1"] < 1 and result.cause is Cause.CUT


def test_an_errored_unit_has_no_figure(boat_conversation: Conversation) -> None:
    """A failed endpoint is never a zero."""
    decision = list(decisions(boat_conversation))[1]
    failure = Failure(cause=Cause.ENDPOINT, reason="503", kind="EndpointError")
    result = text.score(boat_conversation, decision, failure, TextConfig())
    assert result.errored and result.values == {} and result.cause is Cause.ENDPOINT
