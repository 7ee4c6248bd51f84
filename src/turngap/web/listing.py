"""From a query to what a list shows: a window of rows, how many there are, and how many behind every further choice.

Nothing here knows of pages. Windows are stable: the order is total, and every answer carries the version of the index
that it was given from, so that whoever puts windows together notices when the run has grown in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_

import msgspec
import numpy as np
import numpy.typing as npt

from turngap.web.columns import RESULTS, Bits, Columns
from turngap.web.entry import WHOLE
from turngap.web.index import Index, Shown
from turngap.web.query import FACETS, Query, QueryError, expression

MOST = 500
"""Rows that one window can have."""
_MOST_CHOICES = 200
"""Values of a facet that are offered; the most frequent ones."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a facet."""

    value: str
    count: int
    """Units that would be there if it were chosen, and everything else stayed."""
    chosen: bool


class Facet(msgspec.Struct, frozen=True, kw_only=True):
    """One filter with closed choices."""

    name: str
    """``category``, ``tool``, ``scenario``, or a protocol."""
    choices: tuple[Choice, ...]
    hidden: int = 0
    """Further values, which are rarer."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a list."""

    version: int
    """Of the index; windows of different versions do not fit together."""
    units: int
    """All of the run that are indexed."""
    total: int
    """Those that the query asks for."""
    start: int
    rows: tuple[Shown, ...]
    nothing: str = ""
    """Why there are no rows, where the query itself is the reason."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """Where a unit stands in a list, and its neighbours, as (item, trial)."""

    place: int
    """0-based; -1 where the list does not have it."""
    total: int
    before: tuple[str, int | None] | None
    after: tuple[str, int | None] | None


class Listing:
    """A query on one moment of an index."""

    def __init__(self, index: Index, query: Query) -> None:
        """Nothing is computed yet.

        Raises:
            QueryError: the query names a protocol that the run does not have.
        """
        self._index = index
        self._columns = index.columns
        self.query = _resolved(query, self._columns)
        self._words = expression(query.q, query.within)
        self._parts = dict(self._filters())
        self._held = reduce(and_, self._parts.values(), self._columns.everything)

    @property
    def total(self) -> int:
        """How many units the query asks for."""
        return self._held.bit_count()

    def window(self, start: int, count: int) -> Window:
        """Rows from a place of the list on.

        Args:
            start: 0-based.
            count: at most `MOST`.
        """
        numbers = self._columns.window(self._held, self._order(), max(start, 0), min(max(count, 0), MOST))
        nothing = "" if not self.query.q or self._words else "only words and numbers can be looked for"
        return Window(
            version=self._columns.version,
            units=self._columns.count,
            total=self.total,
            start=start,
            rows=tuple(self._index.shown(numbers, self._words)) if numbers else (),
            nothing=nothing,
        )

    def facets(self) -> tuple[Facet, ...]:
        """Every filter with its choices: protocols in order, then the others; those without a choice are left out."""
        found = []
        for name in (*self._columns.protocols, *FACETS):
            others = [part for facet, part in self._parts.items() if facet != name]
            base = reduce(and_, others, self._columns.everything)
            found.append(self._facet(name, base))
        return tuple(facet for facet in found if facet.choices)

    def beside(self, item: str, trial: int | None) -> Beside:
        """The neighbours of a unit in this list; where the list does not have it, its first unit is what follows."""
        order = self._order()
        number = self._index.number_of(item, WHOLE if trial is None else trial)
        place = None if number is None else self._columns.place_of(number, self._held, order)
        first = 0 if place is None else max(place - 1, 0)
        numbers = self._columns.window(self._held, order, first, 3 if place else 2)
        names = [(row.item, row.trial) for row in self._index.shown(numbers)]
        if place is None:
            return Beside(place=-1, total=self.total, before=None, after=next(iter(names), None))
        at = place - first
        return Beside(
            place=place,
            total=self.total,
            before=names[at - 1] if at else None,
            after=names[at + 1] if at + 1 < len(names) else None,
        )

    def _filters(self) -> Iterable[tuple[str, Bits]]:
        query, sets = self.query, self._columns.sets
        for protocol, result in query.results:
            yield protocol, sets.get((protocol, result), 0)
        for facet in FACETS:
            if chosen := query.chosen(facet):
                yield facet, reduce(or_, (sets.get((facet, value), 0) for value in chosen))
        if query.least is not None or query.most is not None:
            yield "length", self._columns.between("length", query.least, query.most)
        if query.q:
            yield "q", self._index.search(self._columns, self._words) if self._words else 0

    def _order(self) -> npt.NDArray[np.int64]:
        return self._columns.sorted_by(self.query.sort, self._index.by_id)

    def _facet(self, name: str, base: Bits) -> Facet:
        chosen = self.query.chosen(name)
        held = {value: bits for (facet, value), bits in self._columns.sets.items() if facet == name}
        counts = {value: (base & bits).bit_count() for value, bits in held.items()}
        wanted = [value for value in dict.fromkeys((*held, *chosen)) if counts.get(value) or value in chosen]
        if name in self._columns.protocols:
            # Every protocol that says anything of this run keeps its place, whatever is chosen elsewhere.
            silent = not held.keys() - {"none"}
            order = [] if silent and not chosen else [value for value in RESULTS if value in wanted or value in held]
        else:
            order = sorted(wanted, key=lambda value: (value not in chosen, -counts.get(value, 0), value))
        kept = order[: max(_MOST_CHOICES, len(chosen))]
        return Facet(
            name=name,
            choices=tuple(Choice(value=value, count=counts.get(value, 0), chosen=value in chosen) for value in kept),
            hidden=len(order) - len(kept),
        )


def _resolved(query: Query, columns: Columns) -> Query:
    """The same with a protocol for every result."""
    found: dict[str, str] = {}
    for protocol, result in query.results:
        name = protocol or _hardest(columns)
        if name not in columns.protocols:
            raise QueryError(f"protocol={name[:40]!r}: this run has {', '.join(columns.protocols)}")
        found[name] = result
    return msgspec.structs.replace(query, results=tuple(found.items()))


def _hardest(columns: Columns) -> str:
    """The last protocol that says anything of a unit, in the order of tables."""
    said = {facet for facet, value in columns.sets if value != "none"}
    return next((name for name in reversed(columns.protocols) if name in said), columns.protocols[-1])
