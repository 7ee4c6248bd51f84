"""Calls in <tool_call> envelopes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolSpec
from turngap.models.dialects import hermes

TOOLS = {"get_booking": ToolSpec(name="get_booking", parameters={"required": ["booking_id"]})}


def test_one_object_is_one_call() -> None:
    """A well-formed envelope gives its call without notes."""
    (found,) = hermes.find('<tool_call>{"name": "get_booking", "arguments": {"booking_id": "BK-1"}}</tool_call>', TOOLS)
    assert found.calls[0].name == "get_booking"
    assert found.calls[0].arguments == {"booking_id": "BK-1"}
    assert found.notes == ()


@pytest.mark.parametrize(
    "body",
    [
        '{"name":"get_booking","arguments":{"booking_id":"BK-1"}}\n{"name":"get_booking","arguments":{"booking_id":"BK-2"}}',
        '[{"name":"get_booking","arguments":{"booking_id":"BK-1"}},{"name":"get_booking","arguments":{"booking_id":"BK-2"}}]',
    ],
)
def test_ing_07_several_calls_in_one_envelope(body: str) -> None:
    """ING-07: two objects, or an array, in one envelope are two calls in order, noted as tolerated."""
    (found,) = hermes.find(f"<tool_call>\n{body}\n</tool_call>", TOOLS)
    assert [call.arguments for call in found.calls] == [{"booking_id": "BK-1"}, {"booking_id": "BK-2"}]
    assert "several_calls_in_one_envelope" in found.notes


def test_a_missing_end_tag_is_tolerated_when_the_call_is_whole() -> None:
    """A call whose end tag never came counts, with a note."""
    (found,) = hermes.find('<tool_call>\n{"name": "get_booking", "arguments": {"booking_id": "BK-1"}}', TOOLS)
    assert found.calls[0].arguments == {"booking_id": "BK-1"}
    assert "unclosed_envelope" in found.notes


def test_a_call_cut_in_the_middle_stays_a_malformed_call() -> None:
    """What the token limit cut is a malformed call with its text, never dropped."""
    (found,) = hermes.find('<tool_call>{"name": "get_booking", "arguments": {"booking_id": "BK', TOOLS)
    (call,) = found.calls
    assert call.name == "get_booking"
    assert call.arguments is None
    assert call.raw == '{"booking_id": "BK'


def test_ing_01_a_missing_brace_inside_arguments_is_malformed() -> None:
    """ING-01: arguments that end too early are malformed with the position, not repaired."""
    text = '<tool_call>{"name": "get_booking", "arguments": {"booking_id": "BK-1", "deep": {"a": 1}</tool_call>'
    (found,) = hermes.find(text, TOOLS)
    assert found.calls[0].arguments is None
    assert found.calls[0].error


def test_only_the_outer_brace_missing_is_tolerated() -> None:
    """Whole arguments in an object that was not closed count, with a note on the call."""
    (found,) = hermes.find('<tool_call>{"name": "get_booking", "arguments": {"booking_id": "BK-1"}</tool_call>', TOOLS)
    assert found.calls[0].arguments == {"booking_id": "BK-1"}
    assert found.calls[0].notes == ("unclosed_object",)


def test_an_end_tag_inside_a_string_does_not_end_the_envelope() -> None:
    """Arguments may talk about tags."""
    arguments = {"booking_id": "</tool_call> or <tool_call>"}
    body = json.dumps({"name": "get_booking", "arguments": arguments})
    (found,) = hermes.find(f"<tool_call>{body}</tool_call>", TOOLS)
    assert found.calls[0].arguments == arguments


def test_two_envelopes_are_two_findings() -> None:
    """Each envelope is found by itself, in order."""
    one = '<tool_call>{"name": "get_booking", "arguments": {"booking_id": "BK-%d"}}</tool_call>'
    found = hermes.find(f"First {one % 1} then\n{one % 2} bye", TOOLS)
    assert [call.arguments for each in found for call in each.calls] == [{"booking_id": "BK-1"}, {"booking_id": "BK-2"}]


def test_a_python_literal_is_noted() -> None:
    """Single quotes are read as a Python literal, apostrophes in values survive."""
    (found,) = hermes.find(
        "<tool_call>{'name': 'get_booking', 'arguments': {'booking_id': \"it's\"}}</tool_call>", TOOLS
    )
    assert found.calls[0].arguments == {"booking_id": "it's"}
    assert found.calls[0].notes == ("python_literal",)


def test_a_python_call_in_an_envelope_is_a_call() -> None:
    """An envelope around f(x=1) is read by the Python rules."""
    (found,) = hermes.find('<tool_call>get_booking(booking_id="BK-1")</tool_call>', TOOLS)
    assert found.calls[0].arguments == {"booking_id": "BK-1"}


def test_an_empty_envelope_is_a_malformed_call() -> None:
    """The marker is unmistakable, so something stays even when nothing is in it."""
    (found,) = hermes.find("<tool_call></tool_call>", TOOLS)
    assert found.calls[0].arguments is None


def test_a_duplicate_key_makes_the_call_malformed() -> None:
    """A key that stands twice is never silently resolved."""
    text = '<tool_call>{"name": "get_booking", "arguments": {"booking_id": "1", "booking_id": "2"}}</tool_call>'
    (found,) = hermes.find(text, TOOLS)
    assert found.calls[0].name == "get_booking"
    assert found.calls[0].arguments is None


def test_prose_is_no_call() -> None:
    """Text without the marker is left alone."""
    assert hermes.find('I could use get_booking with {"booking_id": 1}.', TOOLS) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), _JSON, max_size=3), min_size=1, max_size=3))
def test_what_is_written_is_read(arguments: list[dict[str, object]]) -> None:
    """Any JSON arguments survive the envelope."""
    text = "\n".join(
        f"<tool_call>{json.dumps({'name': 'get_booking', 'arguments': one}, ensure_ascii=False)}</tool_call>"
        for one in arguments
    )
    assert [call.arguments for found in hermes.find(text, TOOLS) for call in found.calls] == arguments


@given(st.text(alphabet='<tool_call>/{}[]":,name arguments\\x'))
def test_it_never_raises(text: str) -> None:
    """Rubble around the marker gives malformed calls, not exceptions."""
    hermes.find("<tool_call>" + text, TOOLS)
