"""Protocol strict: calls against recorded calls, and the ledger."""

from __future__ import annotations

from typing import Any

import msgspec

from turngap.config import MatchConfig
from turngap.data import (
    AssistantMessage,
    Cause,
    Conversation,
    Finish,
    Prediction,
    Score,
    ToolCall,
    ToolMessage,
    decisions,
)
from turngap.metrics.matching import Matcher
from turngap.protocols import strict


def score(conversation: Conversation, index: int, message: AssistantMessage, finish: Finish = Finish.STOP) -> Score:
    """Score a prediction for one decision."""
    decision = list(decisions(conversation))[index]
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    return strict.score(conversation, decision, Prediction(message=message, finish=finish), matcher)


def calls(*made: tuple[str, dict[str, Any]]) -> AssistantMessage:
    """A message with these calls."""
    return AssistantMessage(calls=tuple(ToolCall(name=name, arguments=arguments) for name, arguments in made))


def test_the_reference_is_exact(boat_conversation: Conversation) -> None:
    """Every recorded decision against itself is a success with full figures."""
    for decision in decisions(boat_conversation):
        result = score(boat_conversation, decision.index, decision.reference)
        assert result.success and result.cause is None
        if decision.kind == "tool":
            assert (result.values["exact"], result.values["name"], result.values["arg_f1"]) == (1.0, 1.0, 1.0)


def test_text_where_a_call_was_due_scores_zero(boat_conversation: Conversation) -> None:
    """MAT-07: nothing called is 0, not a perfect score for nothing."""
    result = score(boat_conversation, 0, AssistantMessage(content="One moment."))
    assert (result.values["exact"], result.values["name"], result.values["arg_f1"]) == (0.0, 0.0, 0.0)
    assert result.cause is Cause.WRONG and "prediction: text" in result.detail


def test_right_tool_and_one_wrong_argument_is_partly_right(boat_conversation: Conversation) -> None:
    """Two of three leaves on either side: F1 2/3."""
    result = score(
        boat_conversation, 2, calls(("move_booking", {"booking_id": "BK-1042", "date": "2031-05-09", "seats": 2}))
    )
    assert result.values["exact"] == 0.0 and result.values["name"] == 1.0
    assert abs(result.values["arg_f1"] - 2 / 3) < 1e-12
    assert (result.values["arg_tp"], result.values["arg_pred"], result.values["arg_ref"]) == (2.0, 3.0, 3.0)


def test_calls_of_two_decisions_in_one_message_are_not_exact(boat_conversation: Conversation) -> None:
    """MAT-05: the boundary between decisions matters; the second is scored on its own gold history."""
    both = calls(
        ("get_booking", {"booking_id": "BK-1042"}),
        ("move_booking", {"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2}),
    )
    assert score(boat_conversation, 0, both).values["exact"] == 0.0
    assert score(boat_conversation, 2, list(decisions(boat_conversation))[2].reference).values["exact"] == 1.0


def test_a_call_on_a_text_decision_is_spurious(boat_conversation: Conversation) -> None:
    """Text decisions have one strict figure: the share with an uncalled-for call."""
    assert score(boat_conversation, 1, calls(("list_slots", {}))).values == {"spurious": 1.0}
    assert score(boat_conversation, 1, AssistantMessage(content="?")).values == {"spurious": 0.0}


def test_the_explanation_names_the_sides_rightly(boat_conversation: Conversation) -> None:
    """MAT-11: reference first, prediction second, never swapped."""
    detail = score(boat_conversation, 0, calls(("find_customer", {"email": "a@example.org"}))).detail
    assert detail.index("reference") < detail.index("get_booking") < detail.index("prediction")
    assert detail.index("prediction") < detail.index("find_customer")


def test_broken_arguments_are_malformed_and_cut_ones_are_cut(boat_conversation: Conversation) -> None:
    """ING-01: strict 0, cause malformed; where the token limit broke the call, cause cut."""
    broken = AssistantMessage(calls=(ToolCall(name="get_booking", arguments=None, raw='{"boo', error="..."),))
    assert score(boat_conversation, 0, broken).cause is Cause.MALFORMED
    assert score(boat_conversation, 0, broken, Finish.LENGTH).cause is Cause.CUT
    assert score(boat_conversation, 0, broken).values["exact"] == 0.0


def test_a_recording_that_is_malformed_is_errored(boat_conversation: Conversation) -> None:
    """No prediction can be right about it, so none is counted wrong."""
    broken = AssistantMessage(calls=(ToolCall(name="get_booking", arguments=None, raw="{", error="..."),))
    messages = (boat_conversation.messages[0], broken, ToolMessage(content="{}"), *boat_conversation.messages[3:])
    result = score(msgspec.structs.replace(boat_conversation, messages=messages), 0, AssistantMessage(content="?"))
    assert result.errored and result.cause is Cause.DATA
