"""State: what the tools of a domain act on, copy-on-write.

A domain's state type names its tables, and fields of its own if it has any::

    class Desk(State):
        bookings: Table[Booking]
        next_number: int = 1

One `Pristine` holds the database as it was loaded; it is frozen and shared. A `State` holds only what differs from it,
so that a new one costs the same whatever the size of the database, and a fork costs nothing until somebody writes.
Records are immutable values: reading hands out the shared one, writing puts another in its place.

Non-goals: transactions (a world runs each call on a fork and keeps it or drops it), indexes, foreign keys.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import msgspec
import msgspec.inspect

from turngap.domains.frozen import StateError, thaw
from turngap.domains.table import FIELDS, Gate, Rows, Table

_MODULUS = 1 << 256


class Layout:
    """What a state type declares.

    Raises:
        StateError: a name that states use themselves, or a type hint that cannot be resolved.
    """

    def __init__(self, kind: type[State], defaults: Mapping[str, Any]) -> None:
        self.name = kind.__name__
        self.defaults = defaults
        """Field -> the value that it has where the data holds none."""
        try:
            hints = typing.get_type_hints(kind)
        except NameError as error:
            raise StateError(f"{self.name}: a type hint cannot be resolved: {error}") from None
        declared = {name: hint for name, hint in hints.items() if not name.startswith("_")}
        taken = next((name for name in declared if hasattr(State, name)), None)
        if taken is not None:
            raise StateError(f"{self.name}.{taken}: states have something of this name already; use another")
        for name, hint in declared.items():
            if hint is Table:
                raise StateError(f"{self.name}.{name}: a table needs the type of its records, such as Table[Booking]")
            try:
                msgspec.inspect.type_info(typing.get_args(hint)[0] if typing.get_origin(hint) is Table else hint)
            except (NameError, TypeError) as error:
                raise StateError(f"{self.name}.{name}: its type cannot be used: {error}") from None
        is_table = {name: typing.get_origin(hint) is Table for name, hint in declared.items()}
        self.tables = {name: typing.get_args(hint)[0] for name, hint in declared.items() if is_table[name]}
        """Table -> type of its records, in the order of declaration."""
        self.fields = {name: hint for name, hint in declared.items() if not is_table[name]}
        """Field that is no table -> its type."""

    def refuse_unknown(self, names: Mapping[str, Any]) -> None:
        """Raise a `StateError` for a name that is neither a table nor a field."""
        known = [*self.tables, *self.fields]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise StateError(f"{self.name} has no table {unknown[0]!r}; it has {', '.join(known)}")


class Pristine:
    """A database as it was loaded: frozen, shared by all states that start from it.

    Raises:
        StateError: the data does not fit the state type; the text names table, record and field.
    """

    def __init__(self, kind: type[State], data: Mapping[str, Any]) -> None:
        layout = kind.layout()
        if not isinstance(data, Mapping):
            raise StateError(f"the data should be an object of tables, not {type(data).__name__}")
        layout.refuse_unknown(data)
        missing = [name for name in layout.fields if name not in data and name not in layout.defaults]
        if missing:
            raise StateError(f"{layout.name}.{missing[0]}: the data does not hold it, and it has no default")
        tables = {}
        for name, of in layout.tables.items():
            rows = data.get(name, {})
            if not isinstance(rows, Mapping):
                raise StateError(f"{name}: should be an object of records by their key, not {type(rows).__name__}")
            tables[name] = Rows(name, of, rows)
        fields = {name: data.get(name, layout.defaults.get(name)) for name in layout.fields}
        self.tables = MappingProxyType({**tables, FIELDS: Rows(FIELDS, layout.fields, fields)})

    def total(self) -> int:
        """The sum of all records' shares in the digest."""
        return sum(rows.total() for rows in self.tables.values())


class _Inside:
    """What a state is made of."""

    __slots__ = ("gate", "pristine", "seed", "tables")

    def __init__(self, pristine: Pristine, tables: dict[str, Table[Any]], gate: Gate, seed: int) -> None:
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
        # A default left on the class would hide the state's own value, and be in the hands of every world.
        own = {name: cls.__dict__[name] for name in inspect.get_annotations(cls) if name in cls.__dict__}
        cls._defaults = {**cls._defaults, **own}
        cls._layout = None
        for name in own:
            delattr(cls, name)

    def __init__(self, source: Pristine | _Inside) -> None:
        """Begin with a database; what is inside another state is for forks."""
        if isinstance(source, Pristine):
            gate = Gate()
            source = _Inside(source, {name: Table(rows, gate) for name, rows in source.tables.items()}, gate, 0)
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
        """What the type declares.

        Raises:
            StateError: the declaration makes no sense.
        """
        if cls._layout is None:
            cls._layout = Layout(cls, cls._defaults)
        return cls._layout

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            fields = self._inside.tables[FIELDS]
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
        return MappingProxyType(self._inside.tables)

    def fork(self, refusal: str | None = None) -> Self:
        """Another state with the same content; neither sees what is written to the other from now on.

        Args:
            refusal: why the fork may not be written; None when it may.
        """
        inside, gate = self._inside, Gate(refusal)
        tables = {name: table.fork(gate) for name, table in inside.tables.items()}
        return type(self)(_Inside(inside.pristine, tables, gate, inside.seed))

    def seeded(self, seed: int) -> Self:
        """The same state with a seed: another view of the same tables, so meant for a sealed one."""
        inside = self._inside
        return type(self)(_Inside(inside.pristine, inside.tables, inside.gate, seed))

    def seal(self, refusal: str) -> None:
        """Refuse every further write, with this reason."""
        self._inside.gate.refusal = refusal

    def digest(self) -> str:
        """64 hex digits that are equal for equal content."""
        return f"{(self.pristine.total() + self._shift()) % _MODULUS:064x}"

    def merge(self, patch: Mapping[str, Any]) -> None:
        """Lay JSON data over the state: objects are merged key by key, null deletes a record, all else replaces.

        Raises:
            StateError: the patch names an unknown table or field, or what comes out does not fit its type.
        """
        layout = self.layout()
        layout.refuse_unknown(patch)
        fields = self._inside.tables[FIELDS]
        for name, over in patch.items():
            if name in layout.fields:
                fields.put(name, _laid_over(fields[name], over))
                continue
            if not isinstance(over, Mapping):
                raise StateError(f"{name}: should be an object of records by their key, not {type(over).__name__}")
            table = self._inside.tables[name]
            for key, row in over.items():
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
        return {**below, **{key: _laid_over(below.get(key), value) for key, value in above.items()}}
    return above
