"""What changed from one run to another, conversation by conversation and protocol by protocol.

Units are those that both runs have measured, paired by `turngap.analysis.panel` (by conversation and decision, never by
position). A conversation is *right* under a figure when all its units are: it is fixed where it was not right before,
broken where it no longer is. Where it has several units it can also be better or worse without being right; figures
that are no shares of right and wrong (likeness, F1) know only these two and the same. For live trials the conversation
is a task and its unit the share of its trials that succeed.

The paired difference with its interval and p is `turngap.analysis.compare`'s, untouched.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from turngap.analysis.compare import Comparison, PairedFigure, compare
from turngap.analysis.figure import Kind
from turngap.analysis.panel import LOWER_IS_BETTER, Pairing, panel
from turngap.errors import ConfigError, UsageError
from turngap.web.opened import Opened, directories, in_labels

FIRST = ("workflow.success", "replay.completed", "pass^1", "strict.exact", "turn.success")
"""Figures that the list goes by where nothing was chosen: the first that both runs have."""


class Change(StrEnum):
    """What became of a conversation under one figure."""

    FIXED = "fixed"
    """Right now, and not before."""
    BETTER = "better"
    """More of it right, not all."""
    WORSE = "worse"
    """Less of it right, as it was not all before."""
    BROKEN = "broken"
    """Right before, and no longer."""
    SAME_WRONG = "same-wrong"
    """As much of it right as before, not all."""
    SAME = "same"
    """As before, under a figure that is no share of right and wrong."""
    SAME_RIGHT = "same-right"
    """Right before and now."""


TITLES: Mapping[Change, str] = {
    Change.FIXED: "fixed",
    Change.BETTER: "better",
    Change.WORSE: "worse",
    Change.BROKEN: "broken",
    Change.SAME_WRONG: "same, wrong",
    Change.SAME: "same",
    Change.SAME_RIGHT: "same, right",
}
"""How each is said."""
SIGNS: Mapping[Change, str] = {
    Change.FIXED: "▲",
    Change.BETTER: "△",
    Change.WORSE: "▽",
    Change.BROKEN: "▼",
    Change.SAME_WRONG: "✕",
    Change.SAME: "=",
    Change.SAME_RIGHT: "✓",
}
"""A sign for each, so that none is known by its colour alone."""
CHANGED = (Change.FIXED, Change.BETTER, Change.WORSE, Change.BROKEN)
SORTS = ("change", "gain", "loss", "id")
"""Orders of the list: what was broken first and then what was fixed, the largest gain, the largest loss, by id."""
_RANK = {
    change: at
    for at, change in enumerate(
        (Change.BROKEN, Change.FIXED, Change.WORSE, Change.BETTER, Change.SAME_WRONG, Change.SAME, Change.SAME_RIGHT)
    )
}
_WHOLE = (Kind.SHARE, Kind.TASKS)
"""Kinds of figures under which 1 means that all is right."""
_ROUNDING = 1e-9
_FORCIBLE = ", or --force to compare all the same"


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One conversation under one figure."""

    first: float
    """Mean over its paired units in the first run."""
    second: float
    n: int
    """Paired units."""
    better: int
    """Units that are better in the second run."""
    worse: int
    change: Change

    @property
    def gain(self) -> float:
        """Second less first."""
        return self.second - self.first


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One conversation under all figures."""

    id: str
    place: int
    """Its number among the shared ones, in the order of the data."""
    cells: tuple[Cell | None, ...]
    """In the order of `Changes.figures`; None where one of the runs has no unit of it."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: what `turngap compare` says of it, and how many conversations went which way."""

    name: str
    paired: PairedFigure
    counts: tuple[tuple[Change, int], ...]
    """Only changes that there can be under this figure, in the order of `Change`."""
    total: int


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs held against each other."""

    comparison: Comparison
    unit: str
    """``conversation`` or ``task``."""
    verdict: str
    """The comparison in plain words."""
    notes: tuple[str, ...]
    """What a reader has to know; differences that were passed over by force come first."""
    columns: tuple[Column, ...]
    """Of figures of which more is better: that a user failed more often changes nothing in a conversation."""
    rows: tuple[Row, ...]
    """All shared conversations, in the order of the data."""
    lacks: tuple[tuple[str, ...], tuple[str, ...]]
    """Conversations that the first, and the second, has not."""

    def at(self, name: str) -> int:
        """The place of a figure; of the first of `FIRST` that there is, else of the first one, where it is unknown."""
        names = [column.name for column in self.columns]
        chosen = next((wanted for wanted in (name, *FIRST) if wanted in names), None)
        return 0 if chosen is None else names.index(chosen)


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs that cannot be compared: not measured alike, of two kinds, nothing in common, or one run twice."""

    reason: str
    """In the words of `turngap compare`."""
    forcible: bool
    """Whether they can be compared all the same."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the list."""

    rows: tuple[Row, ...]
    """Those of one page."""
    total: int
    """Rows that pass the filter."""
    first: int
    """How many pass it before this page."""


def changes(first: Opened, second: Opened, *, force: bool = False) -> Changes | Refused:
    """Hold the second run against the first.

    Args:
        first: the baseline.
        second: what is held against it.
        force: go on although the runs did not measure the same thing; `Comparison.forced` then says what differs.

    Raises:
        HarnessFault: score rows contradict each other.
    """
    stores = [first.store, second.store]
    names = directories((first, second))
    try:
        comparison = compare(stores, force=force)
    except (ConfigError, UsageError) as error:
        forcible = _FORCIBLE in str(error)
        return Refused(reason=in_labels(str(error).replace(_FORCIBLE, ""), names), forcible=forcible)
    names |= {run.label: one.label for run, one in zip(comparison.runs, (first, second), strict=True)}
    figures = [figure for figure in comparison.contrasts[0].figures if figure.name not in LOWER_IS_BETTER]
    found = panel(stores, metrics=[figure.name for figure in figures], force=force)
    cells = [_cells(pairing) for pairing in found.pairings]
    rows = tuple(
        Row(id=key, place=place, cells=tuple(of.get(key) for of in cells))
        for place, key in enumerate(found.shared, start=1)
    )
    columns = tuple(
        Column(
            name=figure.name,
            paired=figure,
            counts=tuple(_counts(pairing, of)),
            total=len(of),
        )
        for figure, pairing, of in zip(figures, found.pairings, cells, strict=True)
    )
    forced, notes = ([in_labels(line, names) for line in lines] for lines in (comparison.forced, comparison.notes))
    return Changes(
        comparison=comparison,
        unit=comparison.unit,
        verdict=in_labels(comparison.contrasts[0].verdict, names),
        notes=(*(f"Not comparable, forced: {line}" for line in forced), *notes),
        columns=columns,
        rows=rows,
        lacks=(comparison.runs[0].lacks, comparison.runs[1].lacks),
    )


def select(
    found: Changes, *, by: str = "", change: str = "", text: str = "", sort: str = "", first: int = 0, most: int = 100
) -> Selection:
    """Filter and sort the conversations.

    Args:
        found: see `changes`.
        by: the figure that filter and order go by; see `Changes.at`.
        change: one of `Change`, or ``changed`` for all that differ; anything else keeps all that the figure is over.
        text: what ids have to contain, whatever its case.
        sort: one of `SORTS`; ``change`` where it is another.
        first: rows to pass over.
        most: rows of a page.
    """
    at = found.at(by)
    wanted = set(CHANGED) if change == "changed" else {one for one in Change if one == change}
    folded = text.casefold()
    kept = [
        (row, cell)
        for row in found.rows
        if (cell := row.cells[at] if row.cells else None) is not None
        and (not wanted or cell.change in wanted)
        and folded in row.id.casefold()
    ]
    kept.sort(key=lambda pair: _order(pair[0], pair[1], sort))
    first = min(max(first, 0), max(len(kept) - 1, 0) // most * most)
    return Selection(rows=tuple(row for row, _ in kept[first : first + most]), total=len(kept), first=first)


def _order(row: Row, cell: Cell, sort: str) -> tuple[float | str, ...]:
    if sort == "id":
        return (row.id,)
    if sort == "gain":
        return (-cell.gain, row.place)
    if sort == "loss":
        return (cell.gain, row.place)
    return (_RANK[cell.change], -abs(cell.gain), row.place)


def _cells(pairing: Pairing) -> dict[str, Cell]:
    """Conversation -> what became of it."""
    units: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    ones, others = pairing.columns
    pairs = zip(pairing.clusters, ones.values, others.values, ones.weights, strict=True)
    for conversation, before, after, weight in pairs:
        units[conversation].append((before, after, weight))
    return {key: _cell(found, pairing.measure.kind) for key, found in units.items()}


def _cell(units: Sequence[tuple[float, float, float]], kind: Kind) -> Cell:
    mass = math.fsum(weight for _, _, weight in units)
    first = math.fsum(before * weight for before, _, weight in units) / mass
    second = math.fsum(after * weight for _, after, weight in units) / mass
    return Cell(
        first=first,
        second=second,
        n=len(units),
        better=sum(after > before + _ROUNDING for before, after, _ in units),
        worse=sum(after < before - _ROUNDING for before, after, _ in units),
        change=_change(first, second, whole=kind in _WHOLE),
    )


def _change(first: float, second: float, *, whole: bool) -> Change:
    """`whole`: whether 1 means that all is right."""
    was, now = (whole and value >= 1 - _ROUNDING for value in (first, second))
    if was and now:
        return Change.SAME_RIGHT
    if now:
        return Change.FIXED
    if was:
        return Change.BROKEN
    if abs(first - second) <= _ROUNDING:
        return Change.SAME_WRONG if whole else Change.SAME
    return Change.BETTER if second > first else Change.WORSE


def _counts(pairing: Pairing, cells: Mapping[str, Cell]) -> Iterator[tuple[Change, int]]:
    whole = pairing.measure.kind in _WHOLE
    several = not whole or pairing.measure.kind is Kind.TASKS or any(cell.n > 1 for cell in cells.values())
    parts = (Change.BETTER, Change.WORSE)
    for change in Change:
        if several if change in parts else whole is (change is not Change.SAME):
            yield change, sum(cell.change is change for cell in cells.values())
