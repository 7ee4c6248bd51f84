"""One reading of arguments: JSON first, noted repairs, and malformed calls that stay calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ToolSpec
from turngap.data.arguments import parse_call


def spec(tools: tuple[ToolSpec, ...], name: str) -> ToolSpec:
    """The tool of that name."""
    return next(tool for tool in tools if tool.name == name)


def test_a_missing_brace_is_malformed_with_position_and_text(boat_tools: tuple[ToolSpec, ...]) -> None:
    """ING-01: the call stays, its text is kept, the position is named."""
    text = '{"booking_id": "BK-1042", "date": "2031-05-02"'
    call = parse_call("move_booking", text, spec(boat_tools, "move_booking"))
    assert call.arguments is None
    assert call.raw == text
    assert call.error is not None
    assert "column" in call.error


@pytest.mark.parametrize("text", ['"BK-1042"', "[1]", "17", "null", "true"])
def test_json_that_is_no_object_is_malformed(boat_tools: tuple[ToolSpec, ...], text: str) -> None:
    """ING-02: strings, lists, numbers and null are no arguments of a tool that requires some."""
    assert parse_call("get_booking", text, spec(boat_tools, "get_booking")).arguments is None


@pytest.mark.parametrize("text", ["null", "", "  ", None])
def test_nothing_is_enough_for_a_tool_that_requires_nothing(boat_tools: tuple[ToolSpec, ...], text: str | None) -> None:
    """ING-02, MAT-06: empty and null count as {}."""
    call = parse_call("list_slots", text, spec(boat_tools, "list_slots"))
    assert call.arguments == {}
    assert "empty_arguments" in call.notes


def test_a_body_encoded_twice_is_peeled(boat_tools: tuple[ToolSpec, ...]) -> None:
    """ING-04: the whole body is an object inside a string."""
    call = parse_call("get_booking", json.dumps('{"booking_id": "BK-1042"}'), spec(boat_tools, "get_booking"))
    assert call.arguments == {"booking_id": "BK-1042"}
    assert "double_encoded" in call.notes


def test_a_string_that_looks_like_json_inside_stays_a_string(boat_tools: tuple[ToolSpec, ...]) -> None:
    """ING-04: a note that holds JSON is a note, byte for byte."""
    call = parse_call("add_note", '{"text": "{\\"seats\\": 2}"}', spec(boat_tools, "add_note"))
    assert call.arguments == {"text": '{"seats": 2}'}


def test_apostrophes_survive_and_python_is_a_noted_repair(boat_tools: tuple[ToolSpec, ...]) -> None:
    """ING-05: JSON wins untouched; a Python literal is read as one, never by replacing characters."""
    tool = spec(boat_tools, "add_note")
    text = '{"text": "the customer\'s boat isn\'t back"}'
    assert parse_call("add_note", text, tool).arguments == {"text": "the customer's boat isn't back"}
    call = parse_call("add_note", "{'text': 'ok', 'flag': True}", tool)
    assert call.arguments == {"text": "ok", "flag": True}
    assert "python_literal" in call.notes


def test_objects_and_strings_read_alike() -> None:
    """ING-21: both forms of one call are equal."""
    assert parse_call("get_booking", '{"booking_id":"BK-1"}') == parse_call("get_booking", {"booking_id": "BK-1"})


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1, "a": 2}', "{" * 5000, "(" * 5000, "9" * 5000])
def test_hostile_text_is_malformed_and_never_raises(text: str) -> None:
    """VIEW-02 and duplicate keys: kept as raw text, no exception."""
    call = parse_call("f", text)
    assert call.arguments is None
    assert call.raw == text


def test_objects_that_cannot_be_stored_are_malformed() -> None:
    """NaN and infinities in an object form are no JSON."""
    assert parse_call("f", {"a": float("nan")}).arguments is None


@given(st.text() | st.none() | st.integers() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()))
def test_reading_never_raises(arguments: Any) -> None:
    """Whatever comes: a call, with arguments or with the reason why not."""
    call = parse_call("f", arguments)
    assert (call.arguments is None) == (call.error is not None)
