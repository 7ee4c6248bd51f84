"""Counterfactual repair: of the replays that failed, how many had one slip, and how many cannot do it?

Where the first unresolved error was repaired (`--after-failure repair-first`, or `continue`), the model went on as if
it had been right there. Either it then reached the end: one slip stood between it and a finished workflow. Or a second
error stayed unresolved: it fails again. A failure that no recorded decision can repair (the step limit, a context that
is full) is counted apart, since what would have been is unknown. The figures of `replay` are not touched by any of
this: a repaired replay has failed.

Reads stored trajectories, asks nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turngap.data import Category, Figure, Repaired, Trajectory
from turngap.metrics.interval import wilson
from turngap.runs.store import RunStore


class RepairedKind(msgspec.Struct, frozen=True, kw_only=True):
    """The same for one category of first errors."""

    category: Category
    finished: Figure
    """Share that would have finished; n counts the repaired replays of this category."""


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the replays of a run."""

    replays: int
    """Measured replays."""
    completed: int
    """Those that finished without help."""
    failed: int
    finished: Figure
    """Share of the repaired ones that would have finished: one slip. n is 0 where failures end a replay at once."""
    again: Figure
    """The others: share that failed a second time."""
    beyond: int
    """Failed ones that were not, or could not be, repaired."""
    potential: Figure
    """Share of all replays that finished, or would have after one repair; n is 0 where nothing was repaired."""
    by_category: tuple[RepairedKind, ...]
    """By category of the first error, the most frequent first."""


def repair(store: RunStore) -> Repair:
    """Count what one repair would have changed.

    Args:
        store: an open run; only read.
    """
    completed = failed = 0
    outcomes: list[tuple[Category, bool]] = []
    for name in store.conversation_ids():
        trajectory = store.trajectory(name)
        if not isinstance(trajectory, Trajectory):
            continue
        if trajectory.completed:
            completed += 1
            continue
        failed += 1
        first = trajectory.problems[0]
        if any(isinstance(event, Repaired) for event in trajectory.events[first.event :]):
            outcomes.append((first.category, len(trajectory.problems) == 1))
    finished = sum(good for _, good in outcomes)
    return Repair(
        replays=completed + failed,
        completed=completed,
        failed=failed,
        finished=_share(finished, len(outcomes)),
        again=_share(len(outcomes) - finished, len(outcomes)),
        beyond=failed - len(outcomes),
        potential=_share(completed + finished, completed + failed if outcomes else 0),
        by_category=_by_category(outcomes),
    )


def _by_category(outcomes: Sequence[tuple[Category, bool]]) -> tuple[RepairedKind, ...]:
    found = [
        RepairedKind(category=category, finished=_share(sum(results), len(results)))
        for category in Category
        if (results := [good for kind, good in outcomes if kind is category])
    ]
    return tuple(sorted(found, key=lambda kind: -kind.finished.n))


def _share(successes: int, n: int) -> Figure:
    return Figure(value=successes / n, n=n, ci95=wilson(successes, n)) if n else Figure(value=None, n=0)
