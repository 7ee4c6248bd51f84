"""State: tables of records, copy-on-write.

A domain's state type names its tables::

    class Desk(State):
        bookings: Table[Booking]
        next_number: int = 1

One `Pristine` holds the database as it was loaded; it is frozen and shared. A `State` holds only what differs from it,
so that a new one costs the same whatever the size of the database, and a fork costs nothing until somebody writes.
Records are immutable values: reading hands out the shared one, writing puts another in its place.

The digest of a state is the sum of one hash per record. Thus it can be kept up from the changed records alone, and it
depends on nothing but the content: not on the history, the order of keys or the database that the state started from.

Non-goals: transactions (a world runs each call on a fork and keeps it or drops it), indexes, foreign keys.
"""

from __future__ import annotations

import hashlib
import inspect
import typing
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from turngap.domains.frozen import StateError, canonical, freeze, thaw

R = TypeVar("R")

FIELDS = ""
"""Name of the pseudo-table that holds the fields of a state that are no tables."""
_MODULUS = 1 << 256


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the records of a table: an immutable value with typed fields."""


class _Entry:
    """What a state holds in place of a pristine record; shared between forks. `record` is None when it was deleted."""

    __slots__ = ("mark", "record")

    def __init__(self, record: Any, mark: int) -> None:
        self.record = record
        self.mark = mark


class _Gate:
    """Whether the tables of one state may be written: `refusal` is the reason why not."""

    __slots__ = ("refusal",)

    def __init__(self, refusal: str | None = None) -> None:
        self.refusal = refusal


def _mark(table: str, key: str, record: Any) -> int:
    """The record's share in the digest: a hash of its place and content."""
    text = canonical([table, key]) + canonical(record)
    return int.from_bytes(hashlib.sha256(text).digest(), "big")


class Pristine:
    """A database as it was loaded: frozen, shared by all states that start from it.

    Raises:
        StateError: the data does not fit the state type; the text names table, record and field.
    """

    def __init__(self, kind: type[State], data: Mapping[str, Any]) -> None:
        self.layout = kind.layout()
        self.tables: dict[str, dict[str, Any]] = {}
        unknown = sorted(data.keys() - self.layout.keys() - self.layout.fields.keys())
        if unknown:
            known = ", ".join([*self.layout, *self.layout.fields])
            raise StateError(f"{kind.__name__} has no table {unknown[0]!r}; it has {known}")
        for name, of in self.layout.items():
            rows = data.get(name, {})
            if not isinstance(rows, Mapping):
                raise StateError(f"{name}: should be an object of records by their key")
            self.tables[name] = {key: read_record(of, row, f"{name}[{key!r}]") for key, row in rows.items()}
        self.tables[FIELDS] = {
            name: read_record(of, data[name] if name in data else self.layout.default(name), name)
            for name, of in self.layout.fields.items()
        }
        self._marks: dict[tuple[str, str], int] = {}
        self._total: int | None = None

    def mark(self, table: str, key: str) -> int:
        """The share of one record in the digest; 0 where there is none."""
        rows = self.tables[table]
        if key not in rows:
            return 0
        found = self._marks.get((table, key))
        if found is None:
            found = self._marks[table, key] = _mark(table, key, rows[key])
        return found

    def total(self) -> int:
        """The sum over all records; the database is walked once, when this is first asked for."""
        if self._total is None:
            shares = (self.mark(table, key) for table, rows in self.tables.items() for key in rows)
            self._total = sum(shares) % _MODULUS
        return self._total


class Layout(dict[str, Any]):
    """Table name -> type of its records, in the order of declaration; `fields` holds the rest of a state type."""

    def __init__(self, kind: type[State]) -> None:
        super().__init__()
        self.kind = kind
        self.fields: dict[str, Any] = {}
        for name, hint in typing.get_type_hints(kind).items():
            if name.startswith("_"):
                continue
            if hasattr(State, name):
                raise StateError(f"{kind.__name__}.{name}: states have something of this name already; use another")
            if typing.get_origin(hint) is Table:
                self[name] = typing.get_args(hint)[0]
            else:
                self.fields[name] = hint

    def default(self, name: str) -> Any:
        """The declared default of a field.

        Raises:
            StateError: the field has none, and the data does not hold it.
        """
        try:
            return self.kind.defaults()[name]
        except KeyError:
            raise StateError(f"{self.kind.__name__}.{name}: the data does not hold it and it has no default") from None


def read_record(of: Any, data: Any, place: str) -> Any:
    """A frozen record from JSON values, or from a record.

    Raises:
        StateError: it does not fit the type `of`.
    """
    frozen = freeze(data, place)
    try:
        record = msgspec.convert(thaw(frozen) if isinstance(frozen, msgspec.Struct) else frozen, of)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        raise StateError(f"{place}{where.removesuffix('`')}: {problem}") from None
    return freeze(record, place)


class Table(Mapping[str, R], Generic[R]):
    """The records of one kind, by key: a mapping to read from, with `put`, `change` and `remove` to write.

    Iteration goes through the database's records in its order, then through added ones by key.
    """

    __slots__ = ("_changes", "_gate", "_name", "_of", "_owned", "_pristine", "_rows")

    def __init__(self, name: str, pristine: Pristine, changes: dict[str, _Entry], gate: _Gate) -> None:
        self._name = name
        self._pristine = pristine
        self._rows: dict[str, R] = pristine.tables[name]
        self._changes = changes
        self._owned = False
        self._gate = gate

    def __getitem__(self, key: str) -> R:
        entry = self._changes.get(key)
        if entry is None:
            return self._rows[key]
        if entry.record is None:
            raise KeyError(key)
        record: R = entry.record[0]
        return record

    def __contains__(self, key: object) -> bool:
        entry = self._changes.get(key) if isinstance(key, str) else None
        return key in self._rows if entry is None else entry.record is not None

    def __iter__(self) -> Iterator[str]:
        if not self._changes:
            return iter(self._rows)
        changes = self._changes
        kept = [key for key in self._rows if key not in changes or changes[key].record is not None]
        added = sorted(key for key, entry in changes.items() if key not in self._rows and entry.record is not None)
        return iter([*kept, *added])

    def __len__(self) -> int:
        return len(self._rows) + sum(
            (entry.record is not None) - (key in self._rows) for key, entry in self._changes.items()
        )

    def touched(self) -> Iterator[str]:
        """Keys whose records may differ from the database that the state started from."""
        return iter(self._changes)

    def put(self, key: str, record: R) -> R:
        """Add a record, or put it in the place of another. Returns it as it is now stored.

        Raises:
            StateError: the record is not of the table's type, or this state may not be written.
        """
        of = self._pristine.layout.fields[key] if self._name == FIELDS else self._pristine.layout[self._name]
        stored: R = read_record(of, record, self._place(key))
        self._write(key, _Entry((stored,), _mark(self._name, key, stored)))
        return stored

    def change(self, key: str, **fields: Any) -> R:
        """Put a copy of a record with other values in some fields in its place. Returns it as it is now stored.

        Raises:
            KeyError: there is no such record.
            StateError: a field is unknown or of the wrong type, or this state may not be written.
        """
        record: Any = self[key]
        if isinstance(record, dict):
            return self.put(key, {**record, **fields})  # type: ignore[arg-type] # R is a dict here
        try:
            return self.put(key, msgspec.structs.replace(record, **fields))
        except TypeError as error:
            raise StateError(f"{self._place(key)}: {error}") from None

    def remove(self, key: str) -> None:
        """Delete a record.

        Raises:
            KeyError: there is no such record.
            StateError: this state may not be written.
        """
        if key not in self:
            raise KeyError(key)
        self._write(key, _Entry(None, 0))

    def _write(self, key: str, entry: _Entry) -> None:
        if self._gate.refusal is not None:
            raise StateError(f"{self._place(key)}: {self._gate.refusal}")
        if not self._owned:
            self._changes = dict(self._changes)
            self._owned = True
        if entry.mark == self._pristine.mark(self._name, key):
            self._changes.pop(key, None)
        else:
            self._changes[key] = entry

    def _place(self, key: str) -> str:
        return f"{self._name}[{key!r}]" if self._name != FIELDS else key

    def fork(self, gate: _Gate) -> Table[R]:
        """The same table for another state; what is changed so far is shared until one of them writes."""
        self._owned = False
        return Table(self._name, self._pristine, self._changes, gate)

    def shift(self) -> int:
        """By how much the changes move the digest's sum."""
        return sum(entry.mark - self._pristine.mark(self._name, key) for key, entry in self._changes.items())


class _Inside:
    """What a state is made of."""

    __slots__ = ("gate", "pristine", "seed", "tables")

    def __init__(self, pristine: Pristine, tables: dict[str, Table[Any]], gate: _Gate, seed: int) -> None:
        self.pristine = pristine
        self.tables = tables
        self.gate = gate
        self.seed = seed


class State:
    """Base of a domain's state type. Tables and fields are declared as annotations (see the module docstring)."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _layout: ClassVar[Layout | None] = None
    _inside: _Inside

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A default left on the class would hide the state's own value, and be shared by every world.
        own = [name for name in inspect.get_annotations(cls) if not name.startswith("_") and name in cls.__dict__]
        cls._defaults = {**cls._defaults, **{name: cls.__dict__[name] for name in own}}
        cls._layout = None
        for name in own:
            delattr(cls, name)

    def __init__(self, source: Pristine | _Inside) -> None:
        """Begin with a database; what is inside another state is for forks."""
        if isinstance(source, Pristine):
            gate = _Gate()
            tables: dict[str, Table[Any]] = {name: Table(name, source, {}, gate) for name in source.tables}
            source = _Inside(source, tables, gate, 0)
        # The instance dict is written directly: assignment is what changes a field (`__setattr__`).
        self.__dict__.update(source.tables, _inside=source)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """A state with a database of its own, as a test of tools wants it. Worlds share one `Pristine` instead.

        Raises:
            StateError: the data does not fit the type.
        """
        return cls(Pristine(cls, data))

    @classmethod
    def layout(cls) -> Layout:
        """The tables and fields that the type declares."""
        if cls._layout is None:
            cls._layout = Layout(cls)
        return cls._layout

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The declared defaults of fields."""
        return cls._defaults

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            fields: Table[Any] = self._inside.tables[FIELDS]
            if name in fields:
                return fields[name]
        raise AttributeError(f"{type(self).__name__} has no table or field {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.layout().fields:
            raise StateError(f"{type(self).__name__} has no field {name!r}; records are written with put and change")
        self._inside.tables[FIELDS].put(name, value)

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same, by what changed where they share a database, else by their digests."""
        return isinstance(other, State) and self._sum(other.pristine) == other._sum(self.pristine)

    __hash__ = None  # type: ignore[assignment] # it can change

    @property
    def pristine(self) -> Pristine:
        """The database that this state started from."""
        return self._inside.pristine

    @property
    def seed(self) -> int:
        """The world's seed, for a tool that leaves something to chance: ``random.Random(f"{desk.seed} {key}")``."""
        return self._inside.seed

    def contents(self) -> Mapping[str, Table[Any]]:
        """All tables by name; the fields stand under `FIELDS`."""
        return self._inside.tables

    def fork(self, refusal: str | None = None, *, seed: int | None = None) -> Self:
        """Another state with the same content; neither sees what is written to the other from now on.

        Args:
            refusal: why the fork may not be written; None when it may.
            seed: its seed; None: the same.
        """
        inside, gate = self._inside, _Gate(refusal)
        tables = {name: table.fork(gate) for name, table in inside.tables.items()}
        return type(self)(_Inside(inside.pristine, tables, gate, inside.seed if seed is None else seed))

    def seal(self, refusal: str) -> None:
        """Refuse every further write, with this reason."""
        self._inside.gate.refusal = refusal

    def digest(self) -> str:
        """64 hex digits that are equal for equal content."""
        return f"{(self.pristine.total() + self._shift()) % _MODULUS:064x}"

    def merge(self, patch: Mapping[str, Any], place: str = "initial state") -> None:
        """Lay JSON data over the state: objects are merged key by key, null deletes a record, all else replaces.

        Raises:
            StateError: the patch names an unknown table or field, or what comes out does not fit its type.
        """
        layout = self.layout()
        for name, rows in patch.items():
            if name in layout.fields:
                self._inside.tables[FIELDS].put(name, _laid_over(self._inside.tables[FIELDS][name], rows))
                continue
            if name not in layout or not isinstance(rows, Mapping):
                known = ", ".join([*layout, *layout.fields])
                raise StateError(f"{place}: {name!r} should be one of {known}, and a table an object of records")
            table = self._inside.tables[name]
            for key, row in rows.items():
                if row is not None:
                    table.put(key, _laid_over(table.get(key), row))
                elif key in table:
                    table.remove(key)

    def _shift(self) -> int:
        return sum(table.shift() for table in self._inside.tables.values())

    def _sum(self, beside: Pristine) -> int:
        whole = 0 if beside is self.pristine else self.pristine.total()
        return (whole + self._shift()) % _MODULUS


def _laid_over(below: Any, above: Any) -> Any:
    if isinstance(below, msgspec.Struct):
        below = thaw(below)
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        merged = {key: _laid_over(below.get(key), value) for key, value in above.items()}
        return {**below, **merged}
    return above
