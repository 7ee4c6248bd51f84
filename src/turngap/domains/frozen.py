"""Values that cannot change: what a state is made of.

`freeze` turns a record into one whose every part is immutable, so that any number of worlds can share it; `thaw` gives
plain dicts and lists back. `canonical` is the one meaning of equality that digests and diffs both use: keys and
members of sets have no order, numbers count by value (30, 30.0 and Decimal("30.00") are one; 0.1 + 0.2 is 0.3), a
numeric string is not a number, a boolean is not a number.

Non-goals: this is no protection against code that means to break it (``dict.__setitem__(frozen, ...)`` works).
"""

from __future__ import annotations

import datetime as dt
import enum
import math
import uuid
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

from turngap import jsonio

_SCALARS = (bool, int, float, Decimal, str)
_WRITTEN_OUT = (dt.date, dt.time, dt.timedelta, uuid.UUID)
"""Values that JSON holds as text."""
_DIGITS = 12
"""Significant digits to which fractions kept as floats are equal: sums of the same amounts in any order agree."""
_MOST_ZEROS = 400
"""Decimals with more digits before or behind the point are spelled with an exponent."""
_LONGEST = 4300
"""Decimal digits of the longest integer that Python writes out."""
_MOST = 10**_LONGEST


class StateError(Exception):
    """A value that a state cannot hold, or a write that is not allowed; the text names the place and the remedy."""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("a record of a state cannot be changed in place; use Table.change or thaw a copy and put it back")


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change. Equal to a plain dict with the same items."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> dict[str, Any]:
        """A plain dict with the same (frozen) values."""
        return dict(self)

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: Any) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses every change. Equal to a plain list with the same items."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def copy(self) -> list[Any]:
        """A plain list with the same (frozen) values."""
        return list(self)

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: Any) -> FrozenList:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)


class FrozenSet(frozenset[Any]):
    """A frozenset that is iterated in sorted order, so that no hash seed reaches a result."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(ordered(super().__iter__()))


def ordered(items: Iterable[Any]) -> list[Any]:
    """The members of a set in an order that depends on nothing else: by value where they have one, else by content."""
    found = list(items)
    for kinds in (str, (int, float, Decimal)):
        if all(isinstance(item, kinds) for item in found):
            return sorted(found)
    return sorted(found, key=canonical)


_AS_THEY_ARE = (bool, FrozenDict, FrozenList, FrozenSet)


def freeze(value: Any, place: str = "") -> Any:
    """The same value with every part immutable: dict, list and set become their frozen kinds, Structs are rebuilt.

    Args:
        value: JSON values, Decimal, date, time, UUID, Enum, sets, and frozen msgspec Structs (`Record`) of these.
        place: where it stands, for the error.

    Raises:
        StateError: a part has no JSON form or can be changed in place; the text names where.
    """
    kind = type(value)
    if value is None or kind in _AS_THEY_ARE:
        return value
    if kind is str:
        return _whole_text(value, place)
    if kind is int:
        if not -_MOST < value < _MOST:
            raise StateError(f"{_at(place)}: an integer of more than {_LONGEST} digits cannot be stored")
        return value
    if kind in (float, Decimal):
        if not math.isfinite(value):
            raise StateError(f"{_at(place)}: {str(value)[:40]} is not a JSON number")
        return value
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        return _freeze_container(value, place)
    if isinstance(value, msgspec.Struct):
        return _freeze_struct(value, place)
    if isinstance(value, (*_WRITTEN_OUT, enum.Enum)):
        return value
    raise StateError(
        f"{_at(place)}: {kind.__module__}.{kind.__qualname__} has no JSON form; use JSON values or a Record"
    )


def _whole_text(value: str, place: str) -> str:
    if value.isascii() or jsonio.clean(value) == value:
        return value
    raise StateError(f"{_at(place)}: text with a lone surrogate cannot be stored")


def _freeze_container(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        odd = next((key for key in value if type(key) is not str), None)
        if odd is not None:
            raise StateError(f"{_at(place)}: the key {odd!r} is no text")
        return FrozenDict({_whole_text(key, place): freeze(item, _under(place, key)) for key, item in value.items()})
    items = (freeze(item, f"{place}[{index}]") for index, item in enumerate(value))
    if isinstance(value, list):
        return FrozenList(items)
    return tuple(items) if isinstance(value, tuple) else FrozenSet(items)


def _freeze_struct(value: msgspec.Struct, place: str) -> msgspec.Struct:
    if not value.__struct_config__.frozen:
        raise StateError(f"{_at(place)}: {type(value).__name__} can be changed in place; declare it as a Record")
    changed = {}
    for name in value.__struct_fields__:
        before = getattr(value, name)
        after = freeze(before, _under(place, name))
        if after is not before:
            changed[name] = after
    return msgspec.structs.replace(value, **changed) if changed else value


def _under(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _at(place: str) -> str:
    return place or "the value"


def thaw(value: Any) -> Any:
    """A copy that may be changed: Structs become dicts, frozen containers plain ones, sets sorted lists.

    What it returns is what a database file holds for the value, except that a Decimal stays one.
    """
    if value is None or type(value) in _SCALARS:
        return value
    if isinstance(value, msgspec.Struct):
        return {name: thaw(item) for name, item in _spelled_out(value)}
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [thaw(item) for item in ordered(value)]
    if isinstance(value, (*_WRITTEN_OUT, enum.Enum)):
        return msgspec.to_builtins(value)
    return value


def _spelled_out(value: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    """Names and values of a Struct as JSON has them, the tag among them."""
    config = value.__struct_config__
    if config.tag_field is not None:
        yield config.tag_field, config.tag
    for written, name in zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True):
        yield written, getattr(value, name)


def canonical(value: Any) -> bytes:
    """One text per value, whatever the order of keys and the spelling of numbers. Takes what `freeze` takes."""
    return msgspec.json.encode(_canonical(value), order="deterministic")


def _canonical(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool, int):
        return value
    if kind in (float, Decimal):
        return _number(value)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [_canonical(item) for item in ordered(value)]
    if isinstance(value, msgspec.Struct):
        return {name: _canonical(item) for name, item in _spelled_out(value)}
    if isinstance(value, (*_WRITTEN_OUT, enum.Enum)):
        return _canonical(thaw(value))
    raise StateError(f"{kind.__module__}.{kind.__qualname__} has no JSON form")


def _number(value: float | Decimal) -> Any:
    """An integer, or a raw JSON number with as few digits as say the value."""
    if isinstance(value, float):
        if value.is_integer():
            return int(value)
        text = repr(value)
        if len(text) <= _DIGITS and "e" not in text:
            return msgspec.Raw(text.encode())
        value = Decimal(format(value, f".{_DIGITS}g"))
    if abs(value.adjusted()) > _MOST_ZEROS:
        return msgspec.Raw(str(value.normalize()).encode())
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return msgspec.Raw(b"0" if text == "-0" else text.encode())
