"""Reading schemas: unions, references, and schemas that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.config import MatchConfig
from turngap.data import ToolCall, ToolSpec
from turngap.metrics.matching import Matcher

ABSENT = object()


def one_tool(schema: dict[str, Any]) -> Matcher:
    """A matcher of the single tool `t` with argument `x` of the given schema."""
    parameters = {"type": "object", "properties": {"x": schema}}
    return Matcher([ToolSpec(name="t", parameters=parameters)], MatchConfig())


def t(value: Any = ABSENT) -> ToolCall:
    """A call of the tool `t`."""
    return ToolCall(name="t", arguments={} if value is ABSENT else {"x": value})


@pytest.mark.parametrize(
    ("schema", "left", "right", "equal"),
    [
        ({"type": ["integer", "null"]}, "5", 5, True),
        ({"type": ["integer", "null"]}, "null", ABSENT, True),
        ({"type": ["integer", "string"]}, "5", 5, False),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", 5, False),
        ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, "5", 5, True),
        ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, "AUTO", "auto", True),
        (
            {"oneOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]},
            '{"n": "1"}',
            {"n": 1},
            True,
        ),
        (
            {
                "oneOf": [
                    {"properties": {"k": {"const": "a"}, "v": {"type": "string"}}, "required": ["k"]},
                    {"properties": {"k": {"const": "b"}, "v": {"type": "integer"}}, "required": ["k"]},
                ]
            },
            {"k": "b", "v": "1"},
            {"k": "b", "v": 1},
            True,
        ),
        ({"enum": [1, 2]}, "1", 1, True),
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2.0], [1, 2], True),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            ["1", "1"],
            ["1", 1],
            True,
        ),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": "1.50"}, {"a": 1.5}, True),
        ({"allOf": [{"type": "integer"}, {"minimum": 0}]}, "5", 5, True),
        ({"type": "int"}, "5", 5, True),
    ],
)
def test_unions_references_and_nesting(schema: dict[str, Any], left: Any, right: Any, equal: bool) -> None:
    """A text is read as another type only where the schema allows no text, at every depth."""
    matcher = one_tool(schema)
    assert matcher.same(t(left), t(right)) is equal
    assert matcher.same(t(right), t(left)) is equal


def test_references_are_followed_in_place_and_cycles_end() -> None:
    """A local $ref counts as what it points to, also when the schema contains itself."""
    node = {
        "type": "object",
        "properties": {"n": {"type": "integer", "default": 0}, "next": {"$ref": "#/$defs/node"}},
    }
    parameters = {"type": "object", "properties": {"x": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    matcher = Matcher([ToolSpec(name="t", parameters=parameters)], MatchConfig())
    assert matcher.same(t({"n": "1", "next": {"next": {"n": "2"}}}), t({"n": 1, "next": {"n": 0, "next": {"n": 2.0}}}))
    assert matcher.problem(t({"next": {"n": "two"}})) == (
        "invalid arguments for t: argument 'x.next.n' should be an integer, not \"two\""
    )


BROKEN: list[Any] = [
    {"type": "dict", "properties": {"x": {"type": "float"}}, "required": True},
    {"type": "object", "properties": [1, 2]},
    {"type": "object", "properties": {"x": True}, "required": [1, {}]},
    {"type": "object", "properties": {"x": {"type": ["nope", 3]}}},
    {"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}},
    {"type": "object", "properties": {"x": {"$ref": "http://192.0.2.1/schema"}}},
    {"$ref": "#"},
    {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}},
    {"type": "object", "properties": {"x": {"enum": "abc", "items": 3, "minimum": "1"}}},
    {"type": "object", "properties": {"x": {"required": True, "type": "integer"}}},
]


@pytest.mark.parametrize("schema", BROKEN)
def test_a_broken_schema_never_raises(schema: Any) -> None:
    """A schema that makes no sense is read as saying nothing; calls still compare."""
    matcher = Matcher([ToolSpec(name="t", parameters=schema)], MatchConfig())
    for value in (ABSENT, None, 1, "a", [1], {"a": 1}):
        assert matcher.same(t(value), t(value))
        matcher.problem(t(value))
    assert not matcher.same(t(1), t(2))
    assert not matcher.same(t({"a": 1}), t({"b": 1}))


KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "default",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "$ref",
        "additionalProperties",
        "uniqueItems",
        "prefixItems",
        "pattern",
        "nullable",
        "minimum",
        "$schema",
        "$id",
        "x",
    ]
)
PIECES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.sampled_from(
        ["object", "integer", "string", "dict", "#", "#/properties/x", "#/x/0", "http://192.0.2.1/", "(", "", "x", "1"]
    )
)
NONSENSE = st.recursive(
    PIECES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4), max_leaves=12
)
ARGUMENTS = st.dictionaries(st.sampled_from(["x", "y"]), NONSENSE, max_size=2)


@settings(deadline=None)
@given(st.dictionaries(KEYWORDS, NONSENSE, max_size=6), ARGUMENTS, ARGUMENTS)
def test_no_schema_and_no_value_raises(schema: dict[str, Any], left: dict[str, Any], right: dict[str, Any]) -> None:
    """Whatever stands in a schema, calls compare symmetrically, equal themselves and can be checked."""
    matcher = Matcher([ToolSpec(name="t", parameters=schema)], MatchConfig())
    one, other = ToolCall(name="t", arguments=left), ToolCall(name="t", arguments=right)
    assert matcher.same(one, one)
    assert matcher.same(one, other) == matcher.same(other, one)
    matcher.problem(one)
    matcher.explain(one, other)
