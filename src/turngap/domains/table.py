"""Tables of a state: frozen rows that are shared, and what one state holds in their place.

A `Table` reads through its changes to the rows of the database as it was loaded. The changes are shared between forks
until one of them writes; so a fork copies nothing, and a first write copies as much as was changed, never the database.

The digest of a table is the sum of one hash per record. It can be kept up from the changed records alone, and depends
on nothing but the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from turngap import jsonio
from turngap.domains.frozen import StateError, canonical, freeze, thaw

R = TypeVar("R")

FIELDS = ""
"""Name of the pseudo-table that holds the fields of a state that are no tables."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the records of a table: an immutable value with typed fields."""


def read_record(of: Any, data: Any, place: str) -> Any:
    """A frozen record from JSON values, or from a record.

    Args:
        of: the type it has to fit.
        data: the values.
        place: where it stands, for the error.

    Raises:
        StateError: it does not fit the type.
    """
    try:
        record = msgspec.convert(thaw(data), of)
    except msgspec.ValidationError as error:
        problem, where = jsonio.misfit(error)
        raise StateError(f"{place}{where}: {problem}") from None
    return freeze(record, place)


@cache
def _field_types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


class Rows:
    """The records of one table as they were loaded. Nothing in it changes but a memory of hashes."""

    __slots__ = ("_marks", "_of", "_total", "name", "records")

    def __init__(self, name: str, of: Any, data: Mapping[str, Any]) -> None:
        """Read the records.

        Args:
            name: the table's; `FIELDS` for the fields of a state.
            of: the type of the records; for fields a dict, name -> type.
            data: key -> record.

        Raises:
            StateError: a record does not fit; the text names it.
        """
        self.name = name
        self._of = of
        self._marks: dict[str, int] = {}
        self._total: int | None = None
        self.records: Mapping[str, Any] = MappingProxyType({key: self.read(key, data[key]) for key in data})

    def read(self, key: str, data: Any) -> Any:
        """A record for this table.

        Raises:
            StateError: it does not fit.
        """
        if type(key) is not str:
            raise StateError(f"{self.name}: the key {key!r} is no text")
        return read_record(self._of[key] if self.name == FIELDS else self._of, data, self.place(key))

    def revise(self, key: str, record: Any, fields: Mapping[str, Any]) -> Any:
        """A copy of a record of this table with other values in some fields; only these are looked at.

        Raises:
            StateError: a field is unknown, or its value does not fit.
        """
        if isinstance(record, dict):
            return self.read(key, {**record, **fields})
        types = _field_types(type(record)) if isinstance(record, msgspec.Struct) else {}
        unknown = [name for name in fields if name not in types]
        if unknown:
            raise StateError(f"{self.place(key)}: {type(record).__name__} has no field {unknown[0]!r}")
        read = {name: read_record(types[name], value, f"{self.place(key)}.{name}") for name, value in fields.items()}
        return msgspec.structs.replace(record, **read)

    def place(self, key: str) -> str:
        """How messages call a record."""
        return key if self.name == FIELDS else f"{self.name}[{key!r}]"

    def mark(self, key: str, record: Any) -> int:
        """The share of a record in the digest: a hash of its place and content."""
        text = canonical([self.name, key, record])
        return int.from_bytes(hashlib.sha256(text).digest(), "big")

    def loaded_mark(self, key: str) -> int:
        """The share of the record that was loaded; 0 where there was none."""
        if key not in self.records:
            return 0
        found = self._marks.get(key)
        if found is None:
            found = self._marks[key] = self.mark(key, self.records[key])
        return found

    def total(self) -> int:
        """The sum of all shares; the table is walked once, when this is first asked for."""
        if self._total is None:
            self._total = sum(map(self.loaded_mark, self.records))
        return self._total


class _Change:
    """What a state holds in place of a loaded record; shared between forks."""

    __slots__ = ("_mark", "gone", "record")

    def __init__(self, record: Any, *, gone: bool = False) -> None:
        self.record = record
        self.gone = gone
        self._mark: int | None = 0 if gone else None

    def mark(self, rows: Rows, key: str) -> int:
        if self._mark is None:
            self._mark = rows.mark(key, self.record)
        return self._mark


class Gate:
    """Whether the tables of one state may be written: `refusal` is the reason why not."""

    __slots__ = ("refusal",)

    def __init__(self, refusal: str | None = None) -> None:
        self.refusal = refusal


class Table(Mapping[str, R], Generic[R]):
    """The records of one kind, by key: a mapping to read from, with `put`, `change` and `remove` to write.

    Iteration goes through the database's records in its order, then through added ones by key.
    """

    __slots__ = ("_changes", "_gate", "_loaded", "_owned", "_rows")

    def __init__(self, rows: Rows, gate: Gate, changes: dict[str, _Change] | None = None) -> None:
        self._rows = rows
        self._loaded: Mapping[str, R] = rows.records
        self._changes: dict[str, _Change] = {} if changes is None else changes
        self._owned = changes is None
        self._gate = gate

    def __getitem__(self, key: str) -> R:
        if self._changes and (change := self._changes.get(key)) is not None:
            if change.gone:
                raise KeyError(key)
            record: R = change.record
            return record
        return self._loaded[key]

    def __contains__(self, key: object) -> bool:
        change = self._changes.get(key) if isinstance(key, str) else None
        return key in self._loaded if change is None else not change.gone

    def __iter__(self) -> Iterator[str]:
        if not self._changes:
            return iter(self._loaded)
        kept = [key for key in self._loaded if key in self]
        added = sorted(key for key, change in self._changes.items() if not change.gone and key not in self._loaded)
        return iter(kept + added)

    def __len__(self) -> int:
        moved = sum((not change.gone) - (key in self._loaded) for key, change in self._changes.items())
        return len(self._loaded) + moved

    def __repr__(self) -> str:
        return f"<Table {self._rows.name!r} of {len(self)}>"

    def put(self, key: str, record: R) -> R:
        """Add a record, or put it in the place of another. Returns it as it is now stored.

        Raises:
            StateError: the record is not of the table's type, or this state may not be written.
        """
        stored: R = self._rows.read(key, record)
        self._write(key, _Change(stored))
        return stored

    def change(self, key: str, **fields: Any) -> R:
        """Put a copy of a record with other values in some fields in its place. Returns it as it is now stored.

        Raises:
            KeyError: there is no such record.
            StateError: a field is unknown or of the wrong type, or this state may not be written.
        """
        stored: R = self._rows.revise(key, self[key], fields)
        self._write(key, _Change(stored))
        return stored

    def remove(self, key: str) -> None:
        """Delete a record.

        Raises:
            KeyError: there is no such record.
            StateError: this state may not be written.
        """
        if key not in self:
            raise KeyError(key)
        self._write(key, _Change(None, gone=True))

    def touched(self) -> Iterator[str]:
        """Keys whose records may differ from those that were loaded."""
        return iter(self._changes)

    def fork(self, gate: Gate) -> Table[R]:
        """The same table for another state."""
        self._owned = False
        return Table(self._rows, gate, self._changes)

    def shift(self) -> int:
        """By how much the changes move the sum of the table's shares in the digest."""
        return sum(change.mark(self._rows, key) - self._rows.loaded_mark(key) for key, change in self._changes.items())

    def _write(self, key: str, change: _Change) -> None:
        if self._gate.refusal is not None:
            raise StateError(f"{self._rows.place(key)} cannot be written: {self._gate.refusal}")
        if not self._owned:
            self._changes = dict(self._changes)
            self._owned = True
        if change.gone and key not in self._loaded:
            del self._changes[key]
        else:
            self._changes[key] = change
