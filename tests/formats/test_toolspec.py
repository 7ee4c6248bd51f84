"""Tool specifications in the shapes that files have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.errors import DataError
from turngap.formats.base import Findings, Place
from turngap.formats.toolspec import normalise_schema, read_tools


def tools(value: Any) -> tuple[Any, list[str]]:
    """The tools and the kinds of oddities."""
    findings = Findings(Place(file="f"))
    return read_tools(value, "tools", findings), [oddity.kind for oddity in findings.oddities]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("str", "string"),
        ("int", "integer"),
        ("float", "number"),
        ("bool", "boolean"),
        ("dict", "object"),
        ("list", "array"),
        ("tuple", "array"),
        ("List[str]", "array"),
        ("STRING", "string"),
        ("OBJECT", "object"),
        ("any", None),
    ],
)
def test_types_of_other_worlds(written: str, meant: str | None) -> None:
    """Python's and upper-case type names become JSON Schema's, at any depth, with a note."""
    parameters = {"type": "dict", "properties": {"a": {"type": "array", "items": {"type": written}}}}
    schema, translated = normalise_schema(parameters)
    assert schema["type"] == "object"
    assert schema["properties"]["a"]["items"] == ({} if meant is None else {"type": meant})
    assert translated


def test_names_are_not_types() -> None:
    """A parameter that is called type, or a default that looks like a type name, stays."""
    parameters = {"type": "object", "properties": {"type": {"type": "string", "default": "int", "enum": ["int"]}}}
    assert normalise_schema(parameters) == (parameters, set())


def test_a_map_of_parameters() -> None:
    """Parameters written as a map of names become properties, and flags become the list of required ones."""
    schema, _ = normalise_schema({"a": {"type": "str", "required": True}, "b": {"type": "int"}})
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a"],
    }


def test_shapes_of_lists() -> None:
    """Wrapped, bare, and text forms are equal; a second tool of a name and one without a name are left out."""
    bare = {"name": "look", "description": "Look", "parameters": {"type": "object", "properties": {}}}
    expected, none = tools([bare])
    assert none == []
    assert tools([{"type": "function", "function": bare}])[0] == expected
    assert tools([bare, bare, {"description": "x"}]) == (expected, ["repeated_tool", "unreadable_tool"])
    assert tools(None) == ((), [])


def test_no_list() -> None:
    """A number is no list of tools."""
    with pytest.raises(DataError, match="tools should be a list"):
        tools(7)


TYPES = st.sampled_from(["string", "str", "dict", "List[int]", "any", "strange"])
SCHEMAS = st.recursive(
    st.builds(lambda kind: {"type": kind}, TYPES),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=2).map(
        lambda p: {"type": "dict", "properties": p}
    ),
    max_leaves=5,
)


@given(SCHEMAS)
def test_idempotent(schema: dict[str, Any]) -> None:
    """What was made JSON Schema stays as it is."""
    once, _ = normalise_schema(schema)
    assert normalise_schema(once) == (once, set())
