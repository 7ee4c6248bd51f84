"""What a call is told about itself."""

from __future__ import annotations

import time
from typing import Any

import pytest

from turngap.config import MatchConfig
from turngap.data import ToolCall, ToolSpec
from turngap.metrics.matching import Matcher


@pytest.fixture
def matcher(boat_tools: tuple[ToolSpec, ...]) -> Matcher:
    """The boat-hire desk under the default rules."""
    return Matcher(boat_tools, MatchConfig())


def checked(schema: dict[str, Any], **arguments: Any) -> str | None:
    """The problem of a call of the tool `t` whose parameters have the given schema."""
    matcher = Matcher([ToolSpec(name="t", parameters=schema)], MatchConfig())
    return matcher.problem(ToolCall(name="t", arguments=arguments))


def test_problems_are_said_in_words_for_the_model(matcher: Matcher) -> None:
    """Each kind of invalid call is named by tool and argument, and never by a value of the reference."""
    cases = [
        (ToolCall(name="cancel_everything", arguments={}), "there is no tool named 'cancel_everything'"),
        (ToolCall(name="", arguments={}), "the call names no tool"),
        (
            ToolCall(name="move_booking", arguments={"seats": "two"}),
            (
                "invalid arguments for move_booking: missing required arguments 'booking_id', 'date'; "
                "argument 'seats' should be an integer, not \"two\""
            ),
        ),
        (
            ToolCall(name="get_booking", arguments={"booking_id": "BK-1", "page": 2}),
            "invalid arguments for get_booking: unknown argument 'page'",
        ),
        (
            ToolCall(name="set_contact", arguments={"booking_id": "BK-1", "contact": {"name": 7}}),
            "invalid arguments for set_contact: argument 'contact.name' should be a string, not 7",
        ),
        (ToolCall(name="set_contact", arguments={"booking_id": "BK-1", "page": 2}), None),
    ]
    for call, problem in cases:
        assert matcher.problem(call) == problem


def test_broken_keywords_do_not_hide_the_sound_ones() -> None:
    """What is sound in a partly broken schema is still checked."""
    schema = {"type": "dict", "properties": {"x": {"type": "float", "required": True}}, "required": ["x"]}
    assert checked(schema) == "invalid arguments for t: missing required argument 'x'"
    assert checked(schema, x="abc") == "invalid arguments for t: argument 'x' should be a number, not \"abc\""
    assert checked(schema, x="1.5") is None


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer", "minimum": 1}, 0, "argument 'x': 0 is less than the minimum of 1"),
        ({"enum": ["a", "b"]}, "c", 'argument \'x\' should be one of "a", "b", not "c"'),
        ({"type": ["integer", "null"]}, "c", "argument 'x' should be an integer or null, not \"c\""),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c",
            "argument 'x' fits none of the forms that the schema allows: \"c\"",
        ),
        ({"type": "array", "items": {"type": "integer"}}, [1, "c"], "argument 'x[1]' should be an integer, not \"c\""),
        ({"type": "object", "required": ["y"]}, {}, "missing required argument 'x.y'"),
        ({"type": "string", "nullable": True}, None, None),
        ({"multipleOf": 0.01}, 0.07, None),
        ({"multipleOf": 0.01}, 0.075, "argument 'x': 0.075 is not a multiple of 0.01"),
        ({"multipleOf": 3}, 10**30, "argument 'x': 1000000000000000000000000000000 is not a multiple of 3"),
    ],
)
def test_each_rule_has_its_words(schema: dict[str, Any], value: Any, problem: str | None) -> None:
    """The message names the place, what is asked for and what came."""
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    assert checked(parameters, x=value) == (f"invalid arguments for t: {problem}" if problem else None)


@pytest.mark.parametrize("word", ["not", "anyOf", "if"])
def test_a_schema_that_applies_itself_refuses_nothing(word: str) -> None:
    """A schema that refers to itself for the same value would never end; one that does so for a part is checked."""
    itself = {"$ref": "#/$defs/a"}
    circle = {
        "type": "object",
        "properties": {"x": itself},
        "$defs": {"a": {word: [itself] if word == "anyOf" else itself}},
    }
    assert checked(circle, x=1) is None
    tree = {"type": "object", "properties": {"x": {"$ref": "#"}}, "additionalProperties": False}
    assert checked(tree, x={"x": {"y": 1}}) == "invalid arguments for t: unknown argument 'x.x.y'"


@pytest.mark.parametrize("depth", [38, 40, 190])
def test_deep_arguments_against_a_recursive_schema_do_not_overflow(depth: int) -> None:
    """However deep a model nests its arguments, checking them ends."""
    deep: Any = 1
    for _ in range(depth):
        deep = {"x": deep}
    assert (
        checked({"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}}, x=deep)
        is None
    )


def test_long_values_and_many_problems_are_cut() -> None:
    """A message stays short whatever the model sent."""
    parameters = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcdef"}}
    problem = checked(parameters, **dict.fromkeys("abcdef", "long " * 1000))
    assert problem is not None
    assert problem.endswith("…; and 3 more")
    assert len(problem) < 500
    huge = checked({"properties": {"x": {"multipleOf": 3}}}, x=10**400)
    assert huge is not None
    assert len(huge) < 150


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^BK-\\d{4}$", "BK-1042", "BK-12"),
        ("^[\\w.]+@[\\w-]+\\.\\w+$", "a.b@c-d.org", "a.b"),
        ("^\\p{L}+$", "Zoë", "a1"),
        ("^caf\\u00e9$", "café", "cafe"),
        ("^a\\/b$", "a/b", "ab"),
        ("b", "abc", "ac"),
    ],
)
def test_patterns_are_held(pattern: str, good: str, bad: str) -> None:
    """A pattern that the schema asks for is checked, anywhere in the text unless it says otherwise."""
    schema = {"properties": {"x": {"type": "string", "pattern": pattern}}}
    assert checked(schema, x=good) is None
    assert checked(schema, x=bad) == f"invalid arguments for t: argument 'x': {bad!r} does not match {pattern!r}"


@pytest.mark.parametrize("pattern", ["(", "^(?=.*\\d).+$", "(a)\\1", "a{5000}"])
def test_patterns_of_another_dialect_refuse_nothing(pattern: str) -> None:
    """What the engine cannot read, look-ahead and back-references among it, is left out; the rest is still checked."""
    schema = {
        "properties": {"x": {"pattern": pattern, "maxLength": 3}},
        "patternProperties": {pattern: {"type": "null"}},
    }
    assert checked({**schema, "additionalProperties": False}, x="abc", y="abc") is None
    assert checked(schema, x="abcd") == "invalid arguments for t: argument 'x': 'abcd' is too long"


def test_pattern_properties_are_held() -> None:
    """Properties by pattern are checked, and what neither a name nor a pattern knows is called unknown."""
    schema = {
        "properties": {"id": {}},
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert checked(schema, id=1, n_a=2) is None
    assert checked(schema, n_a=[]) == "invalid arguments for t: argument 'n_a' should be an integer, not []"
    assert checked(schema, n_a=2, m=1) == "invalid arguments for t: unknown argument 'm'"
    assert checked({**schema, "additionalProperties": {"type": "null"}}, m=[]) == (
        "invalid arguments for t: argument 'm' should be null, not []"
    )


def _branching(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"x": {"pattern": "^(a+)+$"}}}, {"x": "a" * 50_000 + "!"}),
        ({"properties": {"x": {"pattern": "^(a|a)*$"}}}, {"x": "a" * 50_000 + "!"}),
        ({"properties": {"x": {"pattern": "(.*)*(.*)*(.*)*=$"}}}, {"x": "a" * 50_000 + "!"}),
        ({"patternProperties": {"^(a+)+$": {"type": "null"}}}, {"a" * 50_000 + "!": 1}),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 50_000 + "!": 1}),
        ({"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False}, {"a" * 50_000 + "!": 1}),
        ({"properties": {"x": {"format": "regex", "propertyNames": {"pattern": "(a+)+$"}}}}, {"x": {"a" * 50_000: 1}}),
        ({"properties": {"x": {"uniqueItems": True}}}, {"x": [{"a": n} for n in range(30_000)]}),
        ({"anyOf": [{"properties": {"x": {"$ref": "#"}}, "minProperties": n} for n in (8, 9, 7)]}, _branching(35)),
        ({"properties": {"x": {"items": {"type": "null", "pattern": "a"}}}}, {"x": ["b"] * 300_000}),
    ],
)
def test_no_schema_holds_a_run_up(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Patterns that back-track, branches that multiply and long arrays are over in seconds, not in centuries."""
    began = time.monotonic()
    checked(schema, **arguments)
    assert time.monotonic() - began < 20


def test_what_was_found_before_the_bound_counts() -> None:
    """A call with more to check than the bound allows is still refused for what was seen."""
    found = checked({"properties": {"x": {"items": {"type": "null"}}}}, x=["b"] * 300_000)
    assert found is not None
    assert found.startswith("invalid arguments for t: argument 'x[0]' should be null, not \"b\"; ")
    assert found.endswith("; and many more")


def test_equal_items_are_found_by_value() -> None:
    """1 and 1.0 are one item, true is another."""
    schema = {"properties": {"x": {"uniqueItems": True}}}
    assert checked(schema, x=[1, True, "1", [1], {"a": 1}]) is None
    assert checked(schema, x=[{"a": 1, "b": 2}, {"b": 2, "a": 1}]) is not None
