"""Calls as tags."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolCall, ToolSpec
from turngap.models.dialects import xml

TOOLS: dict[str, ToolSpec] = {
    "move_booking": ToolSpec(
        name="move_booking",
        parameters={
            "type": "object",
            "properties": {
                "booking_id": {"type": "string"},
                "seats": {"type": "integer"},
                "deposit": {"type": "number"},
                "notify": {"type": "boolean"},
                "tags": {"type": "array"},
                "note": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
        },
    )
}


def _call(parameters: str, name: str = "move_booking") -> ToolCall:
    (found,) = xml.find(f"<function={name}>{parameters}</function>", TOOLS)
    (call,) = found.calls
    return call


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("seats", "2.0", 2),
        ("seats", "two", "two"),
        ("seats", "2.5", "2.5"),
        ("seats", "12345678901234567890", 12345678901234567890),
        ("booking_id", "001042", "001042"),
        ("booking_id", " 7 ", " 7 "),
        ("deposit", "30", 30),
        ("deposit", "2031-05-02", "2031-05-02"),
        ("deposit", "NaN", "NaN"),
        ("notify", "True", True),
        ("tags", '["a"]', ["a"]),
        ("tags", "a, b", "a, b"),
        ("note", "null", None),
        ("unknown", "5", "5"),
    ],
)
def test_ing_12_the_schema_decides_what_a_text_is(key: str, text: str, value: Any) -> None:
    """ING-12: a number only where the schema says number and the text is one; nothing is dropped."""
    call = _call(f"<parameter={key}>{text}</parameter>")
    assert call.arguments == {key: value}
    assert type(call.arguments[key]) is type(value)


def test_ing_12_the_whole_case() -> None:
    """ING-12: seats 2.0 is 2 and the booking keeps its zeros, in one call."""
    call = _call("<parameter=seats>2.0</parameter><parameter=booking_id>001042</parameter>")
    assert call.arguments == {"seats": 2, "booking_id": "001042"}


def test_layout_of_the_tags_is_not_part_of_a_value() -> None:
    """One line break inside each end of a value belongs to the layout, more belong to the value."""
    call = _call("\n<parameter=booking_id>\n\nBK-1\n\n</parameter>\n")
    assert call.arguments == {"booking_id": "\nBK-1\n"}


def test_an_envelope_around_the_tag_belongs_to_it() -> None:
    """Qwen's <tool_call> around a function tag leaves nothing behind."""
    text = "<tool_call>\n<function=move_booking>\n<parameter=seats>\n2\n</parameter>\n</function>\n</tool_call>"
    (found,) = xml.find(text, TOOLS)
    assert (found.start, found.end) == (0, len(text))


def test_a_json_object_in_the_tag_is_read() -> None:
    """The form with JSON between the tags gives the same call."""
    assert _call('{"seats": 2}').arguments == {"seats": 2}


def test_an_unfinished_parameter_makes_the_call_malformed() -> None:
    """A cut call stays, with its text."""
    (found,) = xml.find("<function=move_booking><parameter=seats>2</parameter><parameter=booking_id>BK", TOOLS)
    assert found.calls[0].arguments is None
    assert "booking_id" in (found.calls[0].error or "")


def test_a_missing_end_tag_after_whole_parameters_is_tolerated() -> None:
    """All parameters are there, so the call counts, with a note."""
    (found,) = xml.find("<function=move_booking><parameter=seats>2</parameter>", TOOLS)
    assert found.calls[0].arguments == {"seats": 2}
    assert found.notes == ("unclosed_envelope",)


def test_two_tags_are_two_calls() -> None:
    """Calls are found in order; an unknown name is a call too."""
    found = xml.find("<function=a></function> and <function=b></function>", TOOLS)
    assert [one.calls[0].name for one in found] == ["a", "b"]


@given(
    st.text(st.characters(exclude_categories=("Cs",))).filter(
        lambda text: (
            "</parameter>" not in text
            and "<parameter" not in text
            and "<function" not in text
            and "</function>" not in text
        )
    )
)
def test_text_survives(text: str) -> None:
    """A string value is the text between the tags, byte for byte but for the layout's line breaks."""
    call = _call(f"<parameter=booking_id>\n{text}\n</parameter>")
    assert call.arguments == {"booking_id": text}
