"""The normal form of a call's arguments: two calls match exactly when their normal forms are equal.

Working on normal forms, and not on pairs, is what makes matching symmetric, free of order effects and usable as a key.
The steps and their order are those of docs/matching.md; every one is switched by `MatchConfig`. Normalising is
idempotent, and the schema is only ever used to read a value, never to repair one: what does not fit stays as it came.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from turngap import jsonio
from turngap.config import MatchConfig
from turngap.data import ToolSpec
from turngap.metrics.schema import ABSENT, Shape, fold_text

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_MAX_NUMBER_TEXT = 400
"""A longer text is not taken for a number: no tool means it as one, and reading it would take quadratic time."""
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d\d:?\d\d)", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}


class Bag(list[Any]):
    """The elements of an array whose order means nothing, in a canonical order; how often one stands there counts."""


class Normaliser:
    """Normal forms of the arguments of one tool.

    Args:
        spec: the tool; None when the schema is not known, and then only what needs no schema is done.
        rules: which steps are taken.
        name: the tool's name, under which `rules` lists its arguments.
    """

    def __init__(self, spec: ToolSpec | None, rules: MatchConfig, name: str) -> None:
        self._rules = rules
        self._shape = Shape(spec.parameters if spec else {})
        self._sets = frozenset(rules.set_args.get(name, ()))
        self._times = frozenset(rules.fold_times.get(name, ()))
        self._defaults: dict[int, str] = {}

    def arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The normal form; arrays without order are `Bag`.

        Raises:
            RecursionError: arguments nested some hundreds of levels deep.
        """
        normal = self._value(arguments, self._shape, "")
        return normal if isinstance(normal, dict) else arguments

    def _value(self, value: Any, shape: Shape, where: str) -> Any:
        while shape.options:
            shape = self._choose(value, shape)
        value = self._read(value, shape)
        if isinstance(value, str):
            return self._text(value, shape, where)
        if isinstance(value, dict):
            return self._object(value, shape, where)
        if isinstance(value, list):
            return self._array(value, shape, where)
        return _by_value(value) if isinstance(value, float) else value

    def _choose(self, value: Any, shape: Shape) -> Shape:
        """The alternative of a union that the value means: as it stands, else once read, else by its bare type."""
        for option in shape.options:
            if option.admits(value):
                return option
        for option in shape.options:
            if option.admits(self._read(value, option)):
                return option
        for option in shape.options:
            if option.has_type(value):
                return option
        return shape.plain

    def _read(self, value: Any, shape: Shape) -> Any:
        """Read a text as the type that the schema declares, where the schema does not allow the text itself."""
        if not isinstance(value, str) or not shape.types or "string" in shape.types:
            return value
        if self._rules.parse_strings and shape.types & {"object", "array"}:
            parsed = _parse(value)
            if (isinstance(parsed, dict) and "object" in shape.types) or (
                isinstance(parsed, list) and "array" in shape.types
            ):
                return parsed
        return _coerce(value, shape.types) if self._rules.coerce else value

    def _text(self, value: str, shape: Shape, where: str) -> str:
        text = fold_text(value) if self._rules.fold_text else value
        if where in self._times:
            return _instant(text)
        if self._rules.enum_case and shape.choices is not None:
            return shape.spellings.get(text.casefold(), text)
        return text

    def _object(self, value: dict[str, Any], shape: Shape, where: str) -> dict[str, Any]:
        normal: dict[str, Any] = {}
        for name, item in value.items():
            path = f"{where}.{name}" if where else name
            child = shape.property(name)
            reading = self._value(item, child or shape.extra, path)
            if child is None or name in shape.required or not self._means_absent(reading, child, path):
                normal[name] = reading
        return normal

    def _means_absent(self, reading: Any, shape: Shape, where: str) -> bool:
        """Whether an optional argument says no more than leaving it out would."""
        if not self._rules.defaults:
            return False
        if reading is None:
            # Where null is a declared value beside another default, it says something that leaving out does not.
            return not (shape.declares_null and shape.default not in (ABSENT, None))
        if shape.default is ABSENT:
            return False
        if id(shape) not in self._defaults:
            self._defaults[id(shape)] = key_of(self._value(shape.default, shape, where))
        return key_of(reading) == self._defaults[id(shape)]

    def _array(self, value: list[Any], shape: Shape, where: str) -> list[Any]:
        items = [self._value(item, shape.item(index), where) for index, item in enumerate(value)]
        if (self._rules.sets and shape.unique) or where in self._sets:
            return Bag(sorted(items, key=key_of))
        return items


def key_of(normal: Any) -> str:
    """One text per normal form; true and 1, and "1" and 1, are told apart."""
    return jsonio.canonical(normal)


def _parse(text: str) -> Any:
    """Parse JSON text; a line break inside one of its strings, which models write, counts as a space."""
    for attempt in (text, fold_text(text)):
        try:
            return jsonio.loads(attempt)
        except jsonio.JsonError:
            continue
    return None


def _coerce(text: str, types: frozenset[str]) -> Any:
    bare = text.strip()
    word = _WORDS.get(bare.lower(), ABSENT)
    if word is not ABSENT:
        return word if ("null" if word is None else "boolean") in types else text
    if not types & {"integer", "number"} or len(bare) > _MAX_NUMBER_TEXT or not _NUMBER.fullmatch(bare):
        return text
    exact, near = Decimal(bare), float(bare)
    if math.isinf(near) or (near == 0 and exact):
        return text
    if exact == exact.to_integral_value():
        return int(exact)
    return near if "number" in types else text


def _by_value(number: float) -> int | float:
    """A whole float as the integer that its shortest spelling names: 1e23 is ten to the 23, digit by digit."""
    return int(Decimal(repr(number))) if number.is_integer() else number


def _instant(text: str) -> str:
    if not _INSTANT.fullmatch(text):
        return text
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return text
