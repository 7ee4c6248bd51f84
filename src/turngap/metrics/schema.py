"""What a tool's JSON schema says about comparing two values, read once and without trusting it.

`Shape` is the view of one (sub)schema that normalisation needs: types, required names, defaults, enums, whether an
array is a set, the alternatives of a union. Schemas in recordings are often broken (``"type": "dict"``,
``"required": true``, references that lead nowhere); what cannot be understood is read as "says nothing", never raises.

Not a validator: whether arguments obey the schema in full is the business of `turngap.metrics.validation`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

ABSENT: Final = object()
"""Stands for "the schema states no default"; None cannot, for null is a default that schemas do state."""

TYPE_ALIASES: Final = {
    "dict": "object",
    "list": "array",
    "tuple": "array",
    "int": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "bool": "boolean",
}
"""Type names that recordings use in place of JSON schema's own."""

_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_MAX_HOPS = 8
"""References are followed this deep, so that a schema that refers to itself ends."""
_MAX_UNIONS = 4
"""Unions directly inside unions are entered this deep, for the same reason."""


def fold_text(text: str) -> str:
    """NFC, trimmed, every inner run of white space one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def json_type(value: Any) -> str:
    """The JSON schema type of a parsed value; a whole number is an ``integer`` however it is spelled."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


class Shape:
    """One schema as comparison sees it.

    Args:
        schema: the schema; anything but an object says nothing.
        root: the document that local references (``#/$defs/...``) point into; the schema itself when left out.
        unions: unions entered so far on the way here.
    """

    def __init__(self, schema: Any, root: Any = None, unions: int = 0) -> None:
        self._root = schema if root is None else root
        self._unions = unions
        self._flat = _flatten(schema, self._root, 0)
        self._properties: dict[str, Shape | None] = {}
        self._prefix: dict[int, Shape] = {}

    @cached_property
    def options(self) -> tuple[Shape, ...]:
        """The alternatives of ``anyOf``/``oneOf``, each with the keywords that stand beside the union."""
        found = [item for word in ("anyOf", "oneOf") for item in _list(self._flat.get(word))]
        if self._unions >= _MAX_UNIONS:
            return ()
        return tuple(Shape({"allOf": [self._beside, item]}, self._root, self._unions + 1) for item in found)

    @cached_property
    def plain(self) -> Shape:
        """This schema without its union."""
        return Shape(self._beside, self._root, _MAX_UNIONS)

    @cached_property
    def _beside(self) -> dict[str, Any]:
        return {word: value for word, value in self._flat.items() if word not in ("anyOf", "oneOf")}

    @cached_property
    def types(self) -> frozenset[str]:
        """The types that are declared, or follow from an enum or a union; empty: any."""
        own = _type_names(self._flat.get("type"))
        if own and self._flat.get("nullable") is True:
            own |= {"null"}
        if own:
            return own
        if self.choices is not None:
            return frozenset(json_type(choice) for choice in self.choices)
        if self.options and all(option.types for option in self.options):
            return frozenset().union(*(option.types for option in self.options))
        if isinstance(self._flat.get("properties"), dict):
            return frozenset({"object"})
        return frozenset()

    @property
    def declares_null(self) -> bool:
        """Whether null is one of the values that the schema names."""
        return "null" in self.types

    @cached_property
    def required(self) -> frozenset[str]:
        """Names of the properties that have to be there."""
        return frozenset(name for name in _list(self._flat.get("required")) if isinstance(name, str))

    @property
    def closed(self) -> bool:
        """Whether other properties than the declared ones are refused."""
        return self._flat.get("additionalProperties") is False

    @property
    def unique(self) -> bool:
        """Whether the array is a set."""
        return self._flat.get("uniqueItems") is True

    @property
    def default(self) -> Any:
        """The stated default, or `ABSENT`."""
        return self._flat.get("default", ABSENT)

    @cached_property
    def choices(self) -> tuple[Any, ...] | None:
        """The values of ``enum`` or ``const``; None when there is neither."""
        if "const" in self._flat:
            return (self._flat["const"],)
        return tuple(self._flat["enum"]) if _list(self._flat.get("enum")) else None

    @cached_property
    def spellings(self) -> dict[str, str]:
        """Case-folded text -> the enum's own spelling; empty when the enum tells values apart by case alone."""
        texts = [choice for choice in self.choices or () if isinstance(choice, str)]
        found = {fold_text(text).casefold(): text for text in texts}
        return found if len(found) == len(set(texts)) else {}

    def property(self, name: str) -> Shape | None:
        """The schema of a declared property, or None when the schema does not know the name."""
        if name not in self._properties:
            declared = self._flat.get("properties")
            known = isinstance(declared, dict) and name in declared
            self._properties[name] = Shape(declared[name], self._root) if known else None  # type: ignore[index]
        return self._properties[name]

    @cached_property
    def extra(self) -> Shape:
        """The schema of properties that are not declared."""
        return Shape(self._flat.get("additionalProperties"), self._root)

    def item(self, index: int) -> Shape:
        """The schema of an array's element."""
        items = self._flat.get("items")
        prefix = items if isinstance(items, list) else _list(self._flat.get("prefixItems"))
        # Elements behind the prefix share one schema, kept under the first index behind it.
        index = min(index, len(prefix))
        if index not in self._prefix:
            rest = self._flat.get("additionalItems") if isinstance(items, list) else items
            self._prefix[index] = Shape(prefix[index] if index < len(prefix) else rest, self._root)
        return self._prefix[index]

    def names(self) -> Iterator[str]:
        """The declared properties."""
        declared = self._flat.get("properties")
        return iter(declared if isinstance(declared, dict) else ())

    def has_type(self, value: Any) -> bool:
        """Whether the value is of a declared type, or none is declared."""
        kind = json_type(value)
        return not self.types or kind in self.types or (kind == "integer" and "number" in self.types)

    def admits(self, value: Any) -> bool:
        """Whether the value looks like one of this schema's, as far as it takes to choose among alternatives."""
        if self.options:
            return any(option.admits(value) for option in self.options)
        if not self.has_type(value):
            return False
        if self.choices is not None and not self._is_choice(value):
            return False
        if not isinstance(value, dict):
            return True
        if not self.required <= value.keys() or (self.closed and not value.keys() <= set(self.names())):
            return False
        # A property with fixed values tells the alternatives of a tagged union apart.
        children = ((self.property(name), item) for name, item in value.items())
        return all(child is None or child.choices is None or child.admits(item) for child, item in children)

    def _is_choice(self, value: Any) -> bool:
        if isinstance(value, str):
            folded = fold_text(value).casefold()
            return any(isinstance(one, str) and fold_text(one).casefold() == folded for one in self.choices or ())
        return any(json_type(one) == json_type(value) and one == value for one in self.choices or ())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _type_names(declared: Any) -> frozenset[str]:
    names = declared if isinstance(declared, list) else [declared]
    texts = [name.lower() for name in names if isinstance(name, str)]
    return frozenset(TYPE_ALIASES.get(name, name) for name in texts) & _TYPES


def _flatten(schema: Any, root: Any, hops: int) -> dict[str, Any]:
    """Replace ``$ref`` and ``allOf`` by what they bring, so that one object holds every keyword."""
    if not isinstance(schema, dict) or hops > _MAX_HOPS:
        return {}
    if "$ref" not in schema and "allOf" not in schema:
        return schema
    merged: dict[str, Any] = {}
    parts = [resolve(schema["$ref"], root)] if "$ref" in schema else []
    parts += _list(schema.get("allOf"))
    parts.append({word: value for word, value in schema.items() if word not in ("$ref", "allOf")})
    for part in parts:
        _merge(merged, _flatten(part, root, hops + 1))
    return merged


def _merge(into: dict[str, Any], part: dict[str, Any]) -> None:
    """Add one member of an ``allOf``: what both say about a property, both have to hold."""
    for word, value in part.items():
        known = into.get(word)
        if word == "properties" and isinstance(known, dict) and isinstance(value, dict):
            both = {name: {"allOf": [known[name], value[name]]} for name in known.keys() & value.keys()}
            into[word] = {**known, **value, **both}
        elif word == "required" and isinstance(known, list) and isinstance(value, list):
            into[word] = [*known, *value]
        elif word == "type" and _type_names(known) & _type_names(value):
            into[word] = sorted(_type_names(known) & _type_names(value))
        else:
            into[word] = value


def resolve(reference: Any, root: Any) -> Any:
    """The target of a local reference; nothing else is followed, and never over the network."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node = root
    for step in filter(None, reference[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(name)
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node
