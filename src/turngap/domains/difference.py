"""What differs between two states, record by record and field by field, for a person to read.

Two states have no difference exactly when their digests are equal: both go by `turngap.domains.frozen.canonical`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from turngap import jsonio
from turngap.domains.frozen import canonical, thaw
from turngap.domains.state import State
from turngap.domains.table import FIELDS, Table


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place in which a state differs from another."""

    table: str
    """The table; empty for a field of the state itself."""
    key: str
    """The record's key, or the name of the state's field."""
    path: str
    """Where inside the record, such as ``items[0].price``; empty for the whole record."""
    kind: Literal["changed", "added", "removed"]
    """What happened on the way from the first state to the second."""
    before: Any = None
    """As JSON; None where it was added."""
    after: Any = None
    """As JSON; None where it was removed."""

    def __str__(self) -> str:
        place = f"{self.table}[{self.key}]" if self.table else self.key
        place += f".{self.path}" if self.path and not self.path.startswith("[") else self.path
        if self.kind == "changed":
            return f"{place}: {_shown(self.before)} -> {_shown(self.after)}"
        return f"{place} {self.kind}: {_shown(self.before if self.kind == 'removed' else self.after)}"


_ABSENT: Any = object()
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_MOST_SHOWN = 200


def _shown(value: Any) -> str:
    text = jsonio.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({len(text)} characters)"


def content(state: State) -> dict[str, dict[str, Any]]:
    """All records of a state as JSON values, in its order: table -> key -> record; fields stand under `FIELDS`."""
    tables = {
        name: {key: _json(thaw(record)) for key, record in table.items()} for name, table in state.contents().items()
    }
    return {name: table for name, table in tables.items() if table or name != FIELDS}


def differences(before: State, after: State) -> tuple[Difference, ...]:
    """Every difference, in the order of tables, then by key and path.

    States that started from one database are compared by what changed in them; others are compared as a whole.
    """
    found: list[Difference] = []
    empty: dict[str, Any] = {}
    tables = {**before.contents(), **after.contents()}
    for name in tables:
        old, new = before.contents().get(name, empty), after.contents().get(name, empty)
        for key in sorted(_candidates(before, after, old, new)):
            one, other = old.get(key, _ABSENT), new.get(key, _ABSENT)
            if one is not other:
                found += (
                    Difference(table=name if name != FIELDS else "", key=key, path=path, kind=kind, before=b, after=a)
                    for path, kind, b, a in _walk("", _plain(one), _plain(other))
                )
    return tuple(found)


def _candidates(before: State, after: State, old: Any, new: Any) -> set[str]:
    if before.pristine is after.pristine and isinstance(old, Table) and isinstance(new, Table):
        return {*old.touched(), *new.touched()}
    return {*old, *new}


def _plain(value: Any) -> Any:
    return value if value is _ABSENT else thaw(value)


_Found = tuple[str, Literal["changed", "added", "removed"], Any, Any]


def _walk(path: str, old: Any, new: Any) -> Iterator[_Found]:
    if old is _ABSENT or new is _ABSENT:
        if old is not new:
            kind: Literal["added", "removed"] = "added" if old is _ABSENT else "removed"
            yield path, kind, None if old is _ABSENT else _json(old), None if new is _ABSENT else _json(new)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _walk(f"{path}.{key}" if path else key, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _walk(f"{path}[{index}]", one, other)
    elif canonical(old) != canonical(new):
        yield path, "changed", _json(old), _json(new)


def _json(value: Any) -> Any:
    return msgspec.json.decode(_ENCODER.encode(value))
