"""Calls as Gemma models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolCall, ToolSpec
from turngap.models.dialects import gemma

TOOLS = {"get_booking": ToolSpec(name="get_booking")}


def _calls(text: str) -> list[ToolCall]:
    return [call for found in gemma.find(text, TOOLS) for call in found.calls]


@pytest.mark.parametrize(
    "text",
    [
        'call:get_booking{booking_id:<|"|>BK-1<|"|>}',
        '<|tool_call>call:get_booking{booking_id:<|"|>BK-1<|"|>}<tool_call|>',
        "<start_function_call>call:get_booking{booking_id:<escape>BK-1<escape>}<end_function_call>",
        "call:get_booking{booking_id: BK-1}",
        '```tool_code\nget_booking(booking_id="BK-1")\n```',
        '```tool_code\nprint(get_booking(booking_id="BK-1"))\n```',
    ],
)
def test_ing_10_gemma_calls_are_recognised(text: str) -> None:
    """ING-10: the native pieces and the tool_code fence give the call."""
    (call,) = _calls(text)
    assert (call.name, call.arguments) == ("get_booking", {"booking_id": "BK-1"})


def test_values_of_every_kind() -> None:
    """Numbers, words, nested objects and arrays are read; quoted text keeps commas and braces."""
    (call,) = _calls('call:get_booking{a:1,b:-2.5,c:true,d:null,e:{f:[<|"|>x, {y}<|"|>,2]},g:[]}')
    assert call.arguments == {"a": 1, "b": -2.5, "c": True, "d": None, "e": {"f": ["x, {y}", 2]}, "g": []}


def test_quoted_digits_stay_text() -> None:
    """A value between quotes is text whatever it looks like, and so is a number with a leading zero."""
    (call,) = _calls('call:get_booking{a:<|"|>12<|"|>,b:0012}')
    assert call.arguments == {"a": "12", "b": "0012"}


def test_a_call_that_breaks_off_is_malformed() -> None:
    """A cut call stays, with its text and where it broke."""
    (call,) = _calls('call:get_booking{booking_id:<|"|>BK')
    assert call.arguments is None
    assert call.raw == '{booking_id:<|"|>BK'


def test_a_name_that_is_no_tools_is_text_unless_marked() -> None:
    """`call:` in prose does not make a call; inside the model's own markers it does."""
    assert _calls("Please call:office{room:1}") == []
    (call,) = _calls("<start_function_call>call:office{room:1}<end_function_call>")
    assert call.name == "office"


@given(st.text(alphabet='{}[]:,<|">ab1 '))
def test_it_never_raises(text: str) -> None:
    """Any text is read."""
    gemma.find("call:get_booking{" + text, TOOLS)
