"""Calls written as Python."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolCall, ToolSpec
from turngap.models.dialects import python

_BOOKING = {"type": "object", "properties": {"booking_id": {"type": "string"}, "seats": {"type": "integer"}}}
TOOLS = {
    "get_booking": ToolSpec(name="get_booking", parameters=_BOOKING),
    "desk.list": ToolSpec(name="desk.list"),
}


def _calls(text: str) -> list[ToolCall]:
    return [call for found in python.find(text, TOOLS) for call in found.calls]


@pytest.mark.parametrize(
    "text",
    [
        '[get_booking(booking_id="BK-1")]',
        "get_booking(booking_id='BK-1')",
        'Let me look.\n[get_booking(booking_id="BK-1")]',
        'print(get_booking(booking_id="BK-1"))'[6:-1],
        'get_booking("BK-1")',
        'default_api.get_booking(booking_id="BK-1")'[12:],
    ],
)
def test_ing_10_python_calls_are_recognised(text: str) -> None:
    """ING-10: a list of calls, a bare call and a call that ends a text give the call."""
    (call,) = _calls(text)
    assert (call.name, call.arguments) == ("get_booking", {"booking_id": "BK-1"})


def test_several_calls_and_all_kinds_of_literals() -> None:
    """Values are literals of any depth; true, false and null are understood."""
    text = '[get_booking(booking_id="a", seats=-2, x=[1, {"y": null}], z=true), desk.list()]'
    first, second = _calls(text)
    assert first.arguments == {"booking_id": "a", "seats": -2, "x": [1, {"y": None}], "z": True}
    assert (second.name, second.arguments) == ("desk.list", {})


def test_a_value_that_is_no_literal_makes_the_call_malformed() -> None:
    """Nothing is evaluated: a variable or an operation is an error of the call, which stays."""
    (call,) = _calls("[get_booking(booking_id=open('/etc/passwd').read())]")
    assert call.arguments is None
    assert "not a literal" in (call.error or "")


def test_a_list_that_breaks_off_is_malformed() -> None:
    """A cut list of calls stays a call with its text."""
    (call,) = _calls('[get_booking(booking_id="BK-1"')
    assert (call.name, call.arguments, call.raw) == ("get_booking", None, '[get_booking(booking_id="BK-1"')


@pytest.mark.parametrize(
    "text",
    [
        "You can call get_booking(booking_id) any time.",
        "print('hello')",
        "get_booking (see above) tells you more.",
        "[1, 2]",
        "def get_booking(x): pass",
        "other(a=1)",
    ],
)
def test_prose_and_other_code_stay_text(text: str) -> None:
    """Only calls of known tools that fill or end the text count."""
    assert _calls(text) == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(_VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    """Any literal survives being written as Python."""
    (call,) = _calls(f"[get_booking(booking_id={value!r})]")
    assert call.arguments == {"booking_id": value}
