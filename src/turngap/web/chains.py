"""Chain arithmetic for a page: what a rate of single decisions leaves of a chain, beside what was measured.

The curve of a rate p is p^n: n decisions, each right with chance p, none having to do with any other. Beside it stand
measured curves of the loaded runs, of one kind at a time:

* ``survival``: replays still free of errors, by tool decisions made;
* ``horizon``: decisions survived on the model's own history (protocol `horizon`), wrong calls put right included;
* ``trials``: live trials of a task that all succeed, pass^k by k.

All arithmetic is `turngap.analysis.chain`'s; the page's script repeats `completion` and is held against it by a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from turngap.analysis.chain import Chain, Length, chain, completion
from turngap.analysis.horizon import horizon
from turngap.analysis.propagation import propagation
from turngap.data import Figure
from turngap.web.opened import Opened

KINDS: Mapping[str, str] = {
    "survival": "replays still free of errors, by tool decisions",
    "horizon": "decisions survived on own history, retries included",
    "trials": "trials of a task that all succeed",
}
"""Kind of curve -> what it shows. The first knows no retries, like p^n, so that it comes first."""
AXES: Mapping[str, str] = {
    "survival": "tool decisions made",
    "horizon": "decisions on own history",
    "trials": "trials of a task",
}
"""Kind of curve -> what is counted along it."""
LONGEST = 60
"""Decisions of the longest chain that can be asked for."""
RATE, LENGTH = 0.9, 10
"""Asked for where nothing was measured."""
_SHORTEST_AXIS = 10


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A measured curve at one place."""

    at: int
    measured: Figure
    expected: float | None
    """Were the run's own single decisions independent."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """The curve of one run."""

    run: str
    label: str
    series: int
    """Place of the run among those loaded, for its colour."""
    points: tuple[Point, ...]
    """Those that rest on anything."""

    def at(self, place: int) -> Point | None:
        """The point there."""
        return next((point for point in self.points if point.at == place), None)


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """The conversations of one run as chains, and what its own rates predict for them."""

    run: str
    label: str
    series: int
    lengths: tuple[Length, ...]
    """Counted as the curve counts: without text decisions for ``survival``."""
    chain: Chain
    finished: float | None
    """What the rate that was asked for leaves of this mix; None where it is one of trials, not of decisions."""


class Chains(msgspec.Struct, frozen=True, kw_only=True):
    """Curves, mixes, and the chain that was asked for."""

    kind: str
    kinds: tuple[str, ...]
    """Those that some run has."""
    curves: tuple[Curve, ...]
    mixes: tuple[Mix, ...]
    rate: float
    length: int
    finished: float
    """What is left of the chain: rate^length."""
    most: int
    """Where the axis and the choice of lengths end: measured curves and whole conversations fit."""

    @property
    def table(self) -> tuple[tuple[int, float, tuple[Point | None, ...]], ...]:
        """Place, p^place, and each curve's point there, up to `most`."""
        return tuple(
            (at, left(self.rate, at), tuple(curve.at(at) for curve in self.curves)) for at in range(1, self.most + 1)
        )


def left(rate: float, length: int) -> float:
    """What is left of chains of one length: rate^length."""
    found = completion(rate, rate, [Length(0, length)])
    return 1.0 if found is None else found


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of one run, whatever is asked for; worth keeping."""

    run: str
    label: str
    curves: dict[str, tuple[Point, ...]]
    chain: Chain | None
    """None for live trials, which have no recorded decisions."""


def measure(one: Opened) -> Measured:
    """Read the curves and the chain of a run.

    Raises:
        HarnessFault: score rows contradict each other.
    """
    if one.live:
        return Measured(run=one.id, label=one.label, curves={"trials": tuple(_trials(one))}, chain=None)
    seed = one.store.settings.seed
    curves = {"horizon": tuple(_horizon(one)), "survival": tuple(_survival(one, seed))}
    return Measured(run=one.id, label=one.label, curves=curves, chain=chain(one.store, seed=seed))


def chains(
    found: Sequence[Measured], *, kind: str = "", rate: float | None = None, length: int | None = None
) -> Chains:
    """Put measured curves beside the chain that is asked for.

    Args:
        found: one for each run, in order.
        kind: of `KINDS`; the first that was measured where it is another.
        rate: chance of a decision, in [0, 1]; None: what the first run measured for one, in tenths of percent.
        length: decisions of the chain; None: what the first run's conversations have in the middle.
    """
    kinds = tuple(name for name in KINDS if any(one.curves.get(name) for one in found))
    shown = kind if kind in kinds else next(iter(kinds), "survival")
    curves = tuple(
        Curve(run=one.run, label=one.label, series=at, points=one.curves[shown])
        for at, one in enumerate(found)
        if one.curves.get(shown)
    )
    first = next((curve.points[0].measured.value for curve in curves if curve.points[0].at == 1), None)
    asked = (RATE if first is None else round(first, 3)) if rate is None else min(max(rate, 0.0), 1.0)
    lengths = [(at, one, _lengths(one.chain, shown)) for at, one in enumerate(found) if one.chain is not None]
    middle = next((size for _, _, mix in lengths if (size := _middle(mix))), LENGTH)
    asked_length = min(max(middle if length is None else length, 1), LONGEST)
    furthest = max((curve.points[-1].at for curve in curves), default=0)
    longest = max((one.n_text + one.n_tool for _, _, mix in lengths for one in mix), default=0)
    return Chains(
        kind=shown,
        kinds=kinds,
        curves=curves,
        mixes=tuple(
            Mix(
                run=one.run,
                label=one.label,
                series=at,
                lengths=mix,
                chain=one.chain,
                finished=None if shown == "trials" else completion(asked, asked, mix),
            )
            for at, one, mix in lengths
            if one.chain is not None
        ),
        rate=asked,
        length=asked_length,
        finished=left(asked, asked_length),
        most=min(max(furthest, longest if shown != "trials" else 0, asked_length, _SHORTEST_AXIS), LONGEST),
    )


def _horizon(one: Opened) -> Iterator[Point]:
    for point in horizon(one.store).points:
        if point.measured.n:
            yield Point(at=point.h, measured=point.measured, expected=point.predicted)


def _survival(one: Opened, seed: int) -> Iterator[Point]:
    for row in propagation(one.store, seed=seed).depths:
        if row.survival.n:
            yield Point(at=row.depth, measured=row.survival, expected=row.expected)


def _trials(one: Opened) -> Iterator[Point]:
    single = one.figure("pass^1").value
    for k in range(1, one.store.rollout.trials + 1):
        figure = one.figure(f"pass^{k}")
        if figure.n and single is not None:
            yield Point(at=k, measured=figure, expected=left(single, k))


def _lengths(found: Chain, kind: str) -> tuple[Length, ...]:
    mix: Counter[tuple[int, int]] = Counter()
    for one in found.lengths:
        mix[(0 if kind == "survival" else one.n_text), one.n_tool] += one.count
    return tuple(Length(*size, count) for size, count in sorted(mix.items()))


def _middle(lengths: Sequence[Length]) -> int:
    """The median number of decisions; 0 without conversations."""
    sizes = sorted((one.n_text + one.n_tool, one.count) for one in lengths)
    rest = sum(count for _, count in sizes) / 2
    for size, count in sizes:
        rest -= count
        if rest <= 0:
            return size
    return 0
