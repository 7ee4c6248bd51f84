"""Calls as plain JSON."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolCall, ToolSpec
from turngap.models.dialects import jsontext

TOOLS = {"get_booking": ToolSpec(name="get_booking"), "list_slots": ToolSpec(name="list_slots")}


def _calls(text: str) -> list[ToolCall]:
    return [call for found in jsontext.find(text, TOOLS) for call in found.calls]


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"get_booking","parameters":{"booking_id":"BK-1"}}',
        '{"name": "get_booking", "arguments": "{\\"booking_id\\": \\"BK-1\\"}"}',
        '[{"name":"get_booking","arguments":{"booking_id":"BK-1"}}]',
        '{"function": {"name": "get_booking", "arguments": {"booking_id":"BK-1"}}, "type": "function"}',
        '{"tool_calls": [{"name": "get_booking", "arguments": {"booking_id":"BK-1"}}]}',
        'I look it up.\n```json\n{"name": "get_booking", "arguments": {"booking_id": "BK-1"}}\n```\nOne moment.',
        'I look it up:\n{"name": "get_booking", "arguments": {"booking_id": "BK-1"}}',
        '[TOOL_CALLS][{"name": "get_booking", "arguments": {"booking_id": "BK-1"}}]',
        '<|python_tag|>{"name": "get_booking", "parameters": {"booking_id": "BK-1"}}',
    ],
)
def test_ing_10_json_calls_are_recognised(text: str) -> None:
    """ING-10: the shapes in which models write JSON calls all give the call."""
    (call,) = _calls(text)
    assert (call.name, call.arguments) == ("get_booking", {"booking_id": "BK-1"})


def test_objects_in_a_row_are_several_calls() -> None:
    """JSON lines, with or without separators, are calls in order."""
    text = '{"name": "list_slots", "arguments": {}}; {"name": "get_booking", "arguments": {"booking_id": "BK-1"}}'
    assert [call.name for call in _calls(text)] == ["list_slots", "get_booking"]


@pytest.mark.parametrize(
    "text",
    [
        'Here is your booking:\n```json\n{"booking_id": "BK-1", "state": "open"}\n```',
        '{"name": "R. Vale", "postcode": "02134"}',
        '{"name": "R. Vale", "arguments": {"a": 1}}',
        'Use {"name": "get_booking", "arguments": {}} if you like, I said.',
        '{"name": "get_booking"}',
        "[1, 2, 3]",
        "{not json}",
        "get_booking",
    ],
)
def test_json_for_the_customer_stays_text(text: str) -> None:
    """JSON without a tool's name and arguments, or in the middle of a sentence, is no call."""
    assert _calls(text) == []


def test_an_invented_tool_is_a_call_only_when_it_is_the_whole_text() -> None:
    """An object of exactly name and arguments is a call of a tool that does not exist; elsewhere it is text."""
    alone = '{"name": "cancel_everything", "arguments": {"booking_id": "BK-1"}}'
    (call,) = _calls(alone)
    assert call.name == "cancel_everything"
    assert _calls(f"Like this:\n```json\n{alone}\n```") == []


def test_a_call_that_breaks_off_is_malformed() -> None:
    """A text that begins exactly like a call of a tool and is cut stays a call, with its text."""
    (call,) = _calls('{"name": "get_booking", "arguments": {"booking_id": "BK')
    assert (call.name, call.arguments, call.raw) == ("get_booking", None, '{"booking_id": "BK')


def test_rubble_behind_a_marker_is_a_malformed_call() -> None:
    """A marker that nothing else uses never vanishes."""
    (call,) = _calls('[TOOL_CALLS] {"name": "get_b')
    assert call.arguments is None


@given(st.text(alphabet='{}[]":,name get_booking arguments\\\n`'))
def test_it_never_raises(text: str) -> None:
    """Any text is read."""
    jsontext.find(text, TOOLS)
