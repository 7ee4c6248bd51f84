"""The explore page: three questions on the loaded runs, each with its own part of the address.

* What does the model say, and what does it call? (`turngap.web.says`)
* What does a rate of single decisions leave of a chain of them? (`turngap.web.chains`)
* Whom would a release gate let through? (`turngap.web.chooser`)

What is read of a run is kept by its stamp; the rest is cheap. Nothing here writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import msgspec

from turngap.web.chains import Chains, Measured, chains, measure
from turngap.web.chooser import BOUND, Choice, Wish, choose
from turngap.web.kept import Kept
from turngap.web.opened import Opened
from turngap.web.says import SIDES, Says, says
from turngap.web.shelf import Run

MOST_RUNS = 8
"""Runs that are shown where none were chosen; there are as many colours."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """All that the address says."""

    runs: str = ""
    """Ids, with commas between; empty: the first `MOST_RUNS`."""
    show: str = "all"
    """Which part of the figures: ``all`` or one of `SIDES`."""
    curve: str = ""
    """Kind of measured curve, see `turngap.web.chains.KINDS`."""
    rate: float | None = None
    """Chance of one decision, in percent."""
    length: int | None = None
    """Decisions of a chain."""
    metric: str = ""
    kind: str = "min"
    bound: float = BOUND
    confidence: float | None = None
    errored: int = 0
    baseline: str = ""
    """Of the gate, see `turngap.web.chooser.Wish`."""

    @property
    def sides(self) -> tuple[str, ...]:
        """Parts that are shown: what gets finished always is."""
        return (self.show, "end") if self.show in SIDES else SIDES


class Explore(msgspec.Struct, frozen=True, kw_only=True):
    """The page."""

    says: Says
    chains: Chains
    choice: Choice


class Explorer:
    """Answers queries about runs, and remembers what takes long to read."""

    def __init__(self, kept: Kept | None = None) -> None:
        self._kept = Kept() if kept is None else kept

    def explore(self, runs: Sequence[Run], query: Query) -> Explore:
        """All three explorers.

        Args:
            runs: those that are shown, in order.
            query: what is asked of them.

        Raises:
            StoreError: a run cannot be read (any more).
            HarnessFault: score rows contradict each other.
        """
        stamps = tuple((run.id, run.stamp()) for run in runs)
        wish = _wish(query)
        with ExitStack() as closing:
            opened = [_open(closing, run) for run in runs]
            curves = [self._measured(stamp, one) for stamp, one in zip(stamps, opened, strict=True)]
            return Explore(
                says=self._kept.get(("says", stamps), lambda: says([one() for one in opened])),
                chains=chains(curves, kind=query.curve, rate=_fraction(query.rate), length=query.length),
                choice=self._kept.get(("gate", stamps, wish), lambda: choose([one() for one in opened], wish)),
            )

    def _measured(self, stamp: tuple[str, str], opened: Callable[[], Opened]) -> Measured:
        return self._kept.get(("chain", stamp), lambda: measure(opened()))


def _open(closing: ExitStack, run: Run) -> Callable[[], Opened]:
    """Opens a run when something has to be read of it, and only once."""
    found: list[Opened] = []

    def opened() -> Opened:
        if not found:
            found.append(Opened(id=run.id, label=run.label, store=closing.enter_context(run.store())))
        return found[0]

    return opened


def _fraction(percent: float | None) -> float | None:
    return None if percent is None or not math.isfinite(percent) else percent / 100


def _wish(query: Query) -> Wish:
    return Wish(
        metric=query.metric,
        kind=query.kind,
        bound=query.bound,
        confidence=query.confidence,
        max_errored=max(query.errored, 0),
        baseline=query.baseline,
    )
