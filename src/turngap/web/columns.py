"""The filters of a list in memory: which units have what, as sets of bits, and numbers to sort by.

A `Columns` is one moment of an index and never changes, so that requests share it without a lock. A set of units is a
Python integer, bit i for the unit in place i: to intersect and to count sets of 100,000 units takes microseconds, which
is what makes counts behind every choice of every filter affordable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from turngap.web.entry import ERRORED, FAILED, NONE, PASSED, SPOILED

Bits = int
"""A set of units."""

RESULTS: dict[str, str] = {
    "passed": PASSED,
    "failed": FAILED,
    "errored": ERRORED,
    "user": SPOILED,
    "none": NONE,
}
"""What a protocol says of a unit, as addresses have it -> as the index has it."""
NUMBERS = ("length", "first_error", "steps", "seconds", "tokens")
"""What the list can be sorted by beside its own order and ids."""
_WIDTH = 4  # bytes of a term's number


class Raw(msgspec.Struct, frozen=True):
    """The rows of an index in order, column by column."""

    numbers: Sequence[int]
    """The key of each unit, ascending."""
    results: Sequence[bytes]
    """One letter for each protocol."""
    terms: Sequence[bytes]
    """Numbers of the terms that a unit has."""
    values: Mapping[str, Sequence[float | None]]
    """By the names of `NUMBERS`."""


class Columns:
    """One moment of an index."""

    version: int
    """Grows with every change."""
    protocols: tuple[str, ...]
    """Those that can say something here, in the order of tables."""
    count: int
    """How many units there are."""
    sets: dict[tuple[str, str], Bits]
    """Facet and value -> the units that have it. Facets: ``tool``, ``category``, ``scenario``, and the protocols with
    the names of `RESULTS`."""

    def __init__(
        self, version: int, protocols: tuple[str, ...], raw: Raw, names: Mapping[int, tuple[str, str]]
    ) -> None:
        """`names` has facet and value of every term."""
        self.version = version
        self.protocols = protocols
        self.count = len(raw.numbers)
        self._numbers = np.asarray(raw.numbers, dtype=np.int64)
        self._values = {
            name: np.array([np.nan if one is None else one for one in column], dtype=np.float64)
            for name, column in raw.values.items()
        }
        self.sets = {**self._of_results(raw.results), **self._of_terms(raw.terms, names)}
        self._orders: dict[str, npt.NDArray[np.int64]] = {}

    def _of_results(self, rows: Sequence[bytes]) -> dict[tuple[str, str], Bits]:
        width = len(self.protocols)
        letters = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(self.count, width)
        found = {}
        for at, protocol in enumerate(self.protocols):
            for name, letter in RESULTS.items():
                held = _bits(letters[:, at] == ord(letter))
                if held:
                    found[protocol, name] = held
        return found

    def _of_terms(self, rows: Sequence[bytes], names: Mapping[int, tuple[str, str]]) -> dict[tuple[str, str], Bits]:
        terms = np.frombuffer(b"".join(rows), dtype="<u4")
        lengths = np.fromiter((len(row) // _WIDTH for row in rows), dtype=np.int64, count=len(rows))
        places = np.repeat(np.arange(self.count), lengths)
        order = np.argsort(terms, kind="stable")
        known, starts = np.unique(terms[order], return_index=True)
        found = {}
        for term, held in zip(known.tolist(), np.split(places[order], starts[1:]), strict=False):
            mask = np.zeros(self.count, dtype=bool)
            mask[held] = True
            found[names[term]] = _bits(mask)
        return found

    @property
    def everything(self) -> Bits:
        """All units."""
        return (1 << self.count) - 1

    def among(self, numbers: Sequence[int]) -> Bits:
        """The units with these keys, as far as they are here."""
        if not self.count or not numbers:
            return 0
        mask = np.zeros(self.count, dtype=bool)
        mask[self._places(np.asarray(numbers, dtype=np.int64))] = True
        return _bits(mask)

    def _places(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where the units with these keys stand, in that order, without those that are not here."""
        places = np.minimum(np.searchsorted(self._numbers, wanted), self.count - 1)
        found: npt.NDArray[np.int64] = places[self._numbers[places] == wanted]
        return found

    def between(self, name: str, least: float | None, most: float | None) -> Bits:
        """The units whose number of that name lies in a range, both ends included."""
        column = self._values[name]
        mask = np.ones(self.count, dtype=bool)
        if least is not None:
            mask &= column >= least
        if most is not None:
            mask &= column <= most
        return _bits(mask)

    def sorted_by(self, key: str, ids: Callable[[], Sequence[int]] = tuple) -> npt.NDArray[np.int64]:
        """Places of all units in an order.

        Args:
            key: empty for the order of the data; ``id``; one of `NUMBERS`; with ``-`` in front the other way round.
                Units without the number come last either way, and equals keep the order of the data.
            ids: for ``id``, gives the keys of all units in the order of their ids; else not called.
        """
        order = self._orders.get(key)
        if order is None:
            order = self._sorted(key.removeprefix("-"), ids, backwards=key.startswith("-"))
            self._orders[key] = order
        return order

    def _sorted(self, key: str, ids: Callable[[], Sequence[int]], *, backwards: bool) -> npt.NDArray[np.int64]:
        if key in self._values:
            column = self._values[key]
            return np.argsort(-column if backwards else column, kind="stable")
        order = np.arange(self.count)
        if key == "id" and self.count:
            order = self._places(np.asarray(ids(), dtype=np.int64))
        return order[::-1] if backwards else order

    def window(self, held: Bits, order: npt.NDArray[np.int64], start: int, count: int) -> list[int]:
        """Keys of the units of a set, in an order, from one place of the list on."""
        kept = order[self._mask(held)[order]]
        return [int(number) for number in self._numbers[kept[start : start + count]]]

    def place_of(self, number: int, held: Bits, order: npt.NDArray[np.int64]) -> int | None:
        """Where a unit stands in the list of a set; None where it is not in it."""
        kept = order[self._mask(held)[order]]
        found = np.flatnonzero(self._numbers[kept] == number)
        return int(found[0]) if len(found) else None

    def total(self, name: str) -> float:
        """The sum of a column."""
        return float(np.nansum(self._values[name]))

    def _mask(self, held: Bits) -> npt.NDArray[np.bool_]:
        size = (self.count + 7) // 8
        raw = np.frombuffer(held.to_bytes(size, "little"), dtype=np.uint8)
        return np.unpackbits(raw, bitorder="little", count=self.count).astype(bool)


def _bits(mask: npt.NDArray[np.bool_]) -> Bits:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
