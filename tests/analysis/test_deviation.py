"""Where a recorded run left the way of its task's actions."""

from __future__ import annotations

from typing import Any

import msgspec

from turngap.analysis.deviation import first_deviation
from turngap.config import MatchConfig
from turngap.data import AssistantMessage, Category, Conversation, ToolCall, ToolMessage
from turngap.judges.rules import Fault
from turngap.metrics.matching import Matcher


def call(name: str, **arguments: Any) -> ToolCall:
    """A well-formed call."""
    return ToolCall(name=name, arguments=arguments)


GET = call("get_booking", booking_id="BK-1042")
MOVE = call("move_booking", booking_id="BK-1042", date="2031-05-02", seats=2)
NOTE = call("add_note", booking_id="BK-1042", text="moved")


def found(conversation: Conversation, *actions: ToolCall, told: tuple[str, ...] = ()) -> Any:
    """The first deviation from these actions."""
    matcher = Matcher(conversation.tools, MatchConfig())
    return first_deviation(conversation, actions, matcher, told=told)


def changed(conversation: Conversation, position: int, message: Any) -> Conversation:
    """The conversation with another message."""
    messages = list(conversation.messages)
    messages[position] = message
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def test_a_run_that_did_everything_has_none(boat_conversation: Conversation) -> None:
    """Reads do not count, whether they are asked for or not."""
    assert found(boat_conversation, MOVE) is None
    assert found(boat_conversation, GET, call("list_slots"), MOVE, told=("2 May",)) is None


def test_a_change_with_other_arguments(boat_conversation: Conversation) -> None:
    """The same tool is wanted with another date."""
    wanted = call("move_booking", booking_id="BK-1042", date="2031-05-03", seats=2)
    deviation = found(boat_conversation, wanted)
    assert (deviation.decision, deviation.category) == (2, Category.WRONG_ARGUMENTS)
    assert 'date: reference "2031-05-03", prediction "2031-05-02"' in deviation.evidence


def test_a_change_that_nobody_asked_for(boat_conversation: Conversation) -> None:
    """A tool that is not among the actions."""
    deviation = found(boat_conversation, NOTE)
    assert (deviation.decision, deviation.category) == (2, Category.WRONG_TOOL)
    assert "still asks for add_note" in deviation.evidence


def test_an_action_that_was_left_out_is_placed_at_the_end(boat_conversation: Conversation) -> None:
    """Where nothing else is wrong, the last decision stands for what is missing."""
    deviation = found(boat_conversation, MOVE, NOTE)
    assert (deviation.decision, deviation.category) == (3, Category.MISSING_CALL)


def test_a_refused_change_is_a_sign_but_no_harm(boat_conversation: Conversation) -> None:
    """An error result changed nothing: alone it is no deviation, with something left out it is the first sign."""
    stray = AssistantMessage(calls=(call("set_contact", booking_id="BK-1042"),))
    messages = [*boat_conversation.messages[:3], boat_conversation.messages[3], *boat_conversation.messages[4:]]
    messages[4:4] = [stray, ToolMessage(name="set_contact", content="Error: locked")]
    conversation = msgspec.structs.replace(boat_conversation, messages=tuple(messages))
    assert found(conversation, MOVE) is None
    deviation = found(conversation, MOVE, NOTE)
    assert (deviation.decision, deviation.category) == (2, Category.WRONG_TOOL)


def test_an_asked_for_change_that_was_refused_stays_open(boat_conversation: Conversation) -> None:
    """It was not done, so it is missing."""
    refused = changed(boat_conversation, 6, ToolMessage(name="move_booking", content="locked", error=True))
    assert found(refused, MOVE).category is Category.MISSING_CALL


def test_a_fact_that_was_never_said(boat_conversation: Conversation) -> None:
    """Placed at the text that says something else nobody bears out, where there is one."""
    deviation = found(boat_conversation, MOVE, told=("11:30",))
    assert (deviation.decision, deviation.category) == (3, Fault.MISSING_FACT)
    other = changed(boat_conversation, 3, AssistantMessage(content="It is at 10:45. Shall I move it to 2 May?"))
    deviation = found(other, MOVE, told=("11:30",))
    assert (deviation.decision, deviation.category) == (1, Fault.INVENTED_FACT)
    assert "10:45" in deviation.evidence


def test_words_are_looked_for_where_a_fact_has_no_figures(boat_conversation: Conversation) -> None:
    """A name has to be said as it is, whatever the case."""
    assert found(boat_conversation, MOVE, told=("Booking",)) is None
    assert found(boat_conversation, MOVE, told=("Harbour Lane",)).category is Fault.MISSING_FACT


def test_a_recording_without_decisions_has_nothing_to_say() -> None:
    """No decision, no deviation."""
    assert first_deviation(Conversation(id="empty"), [MOVE], Matcher((), MatchConfig())) is None
