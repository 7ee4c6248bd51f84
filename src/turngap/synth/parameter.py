"""What a tool's schema says of each parameter, in the form in which values are looked for.

References are followed, of alternatives the one that says most is taken, and descriptions are read for quoted examples
and for choices that the schema leaves to prose (``either 'no longer needed' or 'ordered by mistake'``). Non-goals:
validation; a value made from this may still be refused.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from turngap.data import ToolSpec

ValueKind = Literal["text", "integer", "number", "boolean", "list", "object"]

_TYPES: dict[str, ValueKind] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
}
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SUCH_AS = re.compile(r"such as ([^\s'\",;]+)")
_CHOICE = re.compile(r"\b(either|one of|must be|has to be)\b", re.IGNORECASE)


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a tool, or one part of it."""

    name: str
    kind: ValueKind
    required: bool = True
    choices: tuple[Any, ...] = ()
    """The only values that it takes, where they are few."""
    examples: tuple[str, ...] = ()
    """Values that the description quotes."""
    item: Parameter | None = None
    """Of a list: what stands in it."""
    fields: tuple[Parameter, ...] = ()
    """Of an object: what stands in it, as far as the schema says."""
    description: str = ""


def parameters(spec: ToolSpec) -> tuple[Parameter, ...]:
    """The parameters of a tool, in the order of its schema."""
    return _fields(spec.parameters, spec.parameters, 0)


def _fields(node: dict[str, Any], root: dict[str, Any], depth: int) -> tuple[Parameter, ...]:
    required = node.get("required") or ()
    properties: dict[str, Any] = node.get("properties") or {}
    return tuple(_parameter(name, body, root, name in required, depth) for name, body in properties.items())


def _parameter(name: str, body: Any, root: dict[str, Any], required: bool, depth: int) -> Parameter:
    node = _resolved(body, root, depth)
    kind = _kind(node)
    text = str(node.get("description") or "")
    item = None
    if kind == "list":
        item = _parameter(name, node.get("items") or {"type": "string"}, root, True, depth + 1)
    return Parameter(
        name=name,
        kind=kind,
        required=required,
        choices=_choices(node, text, kind),
        examples=_examples(text, node),
        item=item,
        fields=_fields(node, root, depth + 1) if kind == "object" and depth < 8 else (),
        description=text,
    )


def _resolved(body: Any, root: dict[str, Any], depth: int) -> dict[str, Any]:
    """A schema without references and alternatives."""
    node: dict[str, Any] = body if isinstance(body, dict) else {}
    for _ in range(8 - min(depth, 8)):
        if isinstance(node.get("$ref"), str):
            part = (root.get("$defs") or {}).get(node["$ref"].rpartition("/")[2])
            node = {**(part if isinstance(part, dict) else {}), **{k: v for k, v in node.items() if k != "$ref"}}
            continue
        options = next((node[word] for word in ("anyOf", "oneOf", "allOf") if isinstance(node.get(word), list)), None)
        if not options:
            break
        told = [one for one in options if isinstance(one, dict) and one.get("type") != "null"]
        rest = {word: value for word, value in node.items() if word not in ("anyOf", "oneOf", "allOf")}
        telling = sorted(told, key=lambda one: ("$ref" in one, "properties" in one))
        node = {**(telling[-1] if telling else {}), **rest}
    return node


def _kind(node: dict[str, Any]) -> ValueKind:
    types = node.get("type")
    named = types if isinstance(types, list) else [types]
    found = next((_TYPES[one] for one in named if one in _TYPES), None)
    return found or ("object" if "properties" in node else "text")


def _choices(node: dict[str, Any], text: str, kind: ValueKind) -> tuple[Any, ...]:
    if isinstance(node.get("enum"), list):
        return tuple(value for value in node["enum"] if value is not None)
    if "const" in node:
        return (node["const"],)
    if kind == "boolean":
        return (True, False)
    quoted = _quoted(text)
    return quoted if kind == "text" and len(quoted) > 1 and all(quoted) and _CHOICE.search(text) else ()


def _examples(text: str, node: dict[str, Any]) -> tuple[str, ...]:
    given = node.get("examples")
    told = [str(one) for one in given] if isinstance(given, list) else []
    named = [found.rstrip(".)") for found in _SUCH_AS.findall(text)]
    return tuple(dict.fromkeys([*told, *_quoted(text), *named]))


def _quoted(text: str) -> tuple[str, ...]:
    return tuple(single or double for single, double in _QUOTED.findall(text))
