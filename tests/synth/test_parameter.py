"""What a tool's schema says of its parameters."""

from __future__ import annotations

from typing import Any

from turngap.data import ToolSpec
from turngap.synth.parameter import Parameter, parameters


def _of(body: dict[str, Any], **more: Any) -> Parameter:
    schema = {"type": "object", "properties": {"thing": body}, "required": ["thing"], **more}
    (found,) = parameters(ToolSpec(name="tool", parameters=schema))
    return found


def test_references_and_alternatives_lead_to_what_says_most() -> None:
    """Of a reference and anything at all, the fields of the reference are taken."""
    flight = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    items = {"anyOf": [{"type": "object", "additionalProperties": True}, {"$ref": "#/$defs/Flight"}]}
    found = _of({"type": "array", "items": items}, **{"$defs": {"Flight": flight}})
    assert found.kind == "list"
    assert found.item is not None
    assert [(one.name, one.kind, one.required) for one in found.item.fields] == [("number", "text", True)]


def test_choices_come_from_the_schema_or_from_prose_that_says_so() -> None:
    """An enum is a choice, and so is "either a or b"; mere examples are none."""
    assert _of({"enum": ["a", "b", None]}).choices == ("a", "b")
    assert _of({"type": "boolean"}).choices == (True, False)
    assert _of({"type": "string", "description": "Either 'mine' or 'yours'."}).choices == ("mine", "yours")
    assert _of({"type": "string", "description": "Such as 'mine' or 'yours'."}).choices == ()


def test_examples_are_read_from_descriptions_with_and_without_quotes() -> None:
    """A value after "such as" is an example, whatever stands around it."""
    assert _of({"type": "string", "description": "The order, such as '#W0000000'."}).examples == ("#W0000000",)
    assert _of({"type": "string", "description": "such as BK-1042."}).examples == ("BK-1042",)


def test_null_and_lists_of_types_do_not_hide_the_type() -> None:
    """An optional number is a number."""
    assert _of({"type": ["null", "integer"]}).kind == "integer"
    assert _of({"anyOf": [{"type": "number"}, {"type": "null"}]}).kind == "number"


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    """A tree of nodes is taken apart to some depth and no further."""
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}
    assert _of({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}}).kind == "object"


def test_a_tool_without_a_schema_has_no_parameters() -> None:
    """Nothing declared is nothing taken."""
    assert parameters(ToolSpec(name="tool")) == ()
