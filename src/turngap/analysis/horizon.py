"""The horizon curve: how many decisions a model survives on its own history, beside what independence would predict.

Reads the score rows of protocol `horizon`, asks nobody. `measured` at h is over the starts that have at least h
decisions ahead of them: a start near the end of its recording says nothing about more decisions than there are, and
taking it for a survivor would flatter long horizons. So the starts become fewer with h and come from longer
conversations, and the curve may rise a little where these are easier.

Two predictions stand beside it. `predicted` is p^h, p being what was measured at h = 1. `predicted_by_kind` takes the
rates of text and tool decisions at h = 1 apart and multiplies them along the very decisions that each start has ahead:
it differs from p^h where the mix of the two matters. What is left between it and `measured` is dependence: errors that
bring further errors, or decisions that are hard together.

Starts of one conversation share its decisions, so intervals weigh whole conversations
(`turngap.metrics.interval.cluster_interval`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from turngap.data import Figure
from turngap.metrics.interval import cluster_interval
from turngap.protocols.horizon import starts
from turngap.runs.store import RunStore


class HorizonPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The curve at one number of decisions."""

    h: int
    measured: Figure
    """Share of starts without an unresolved error within h decisions; n counts the starts with h decisions ahead."""
    predicted: float | None
    """p^h with the measured p of h = 1; None where nothing was measured at h = 1, or no start has h
    decisions ahead."""
    predicted_by_kind: float | None
    """The same with the rates of text and tool decisions apart, along the decisions of these very starts."""


class Horizon(msgspec.Struct, frozen=True, kw_only=True):
    """The whole curve."""

    points: tuple[HorizonPoint, ...]
    """h = 1, 2, ... up to what the run was asked for; empty for a run without this protocol."""
    starts: int
    """Decisions from which a run started, errored ones included."""
    errored: int
    """Starts that could not be measured, and are in no figure."""


class _Run(msgspec.Struct, frozen=True):
    """What one start says."""

    conversation: str
    kinds: tuple[str, ...]
    """Of the decisions ahead, as far as the run reaches."""
    survived: int


def horizon(store: RunStore) -> Horizon:
    """Compute the curve of a run.

    Args:
        store: an open run; only read.
    """
    rows: dict[str, dict[int, tuple[int, int]]] = {}
    total = errored = reach = 0
    for _, score in store.scores("horizon"):
        total += 1
        if score.errored or score.decision is None:
            errored += 1
            continue
        values = (int(score.values["reach"]), int(score.values["survived"]))
        rows.setdefault(score.conversation, {})[score.decision] = values
        reach = max(reach, values[0])
    runs = _runs(store, rows)
    first = _measured(runs, 1)
    rates = {kind: _rate([run for run in runs if run.kinds[0] == kind]) for kind in ("text", "tool")}
    curve = [(h, _measured(runs, h)) for h in range(1, (max(reach, store.config.horizon.max) if total else 0) + 1)]
    points = tuple(
        HorizonPoint(
            h=h,
            measured=measured,
            predicted=None if first.value is None or not measured.n else first.value**h,
            predicted_by_kind=_by_kind(runs, h, rates),
        )
        for h, measured in curve
    )
    return Horizon(points=points, starts=total, errored=errored)


def _runs(store: RunStore, rows: Mapping[str, Mapping[int, tuple[int, int]]]) -> list[_Run]:
    """The measured starts, in the order of their conversations' ids, so that no order of storing can matter."""
    found: list[_Run] = []
    for name in sorted(rows):
        ahead = starts(store.conversation(name))
        kinds = tuple(decision.kind for decision in ahead)
        for place, start in enumerate(ahead):
            if start.index in rows[name]:
                reach, survived = rows[name][start.index]
                found.append(_Run(name, kinds[place : place + reach], survived))
    return found


def _measured(runs: Sequence[_Run], h: int) -> Figure:
    counted = [run for run in runs if len(run.kinds) >= h]
    if not counted:
        return Figure(value=None, n=0)
    values = [float(run.survived >= h) for run in counted]
    return Figure(
        value=math.fsum(values) / len(values),
        n=len(values),
        ci95=cluster_interval(values, [run.conversation for run in counted]),
    )


def _rate(runs: Sequence[_Run]) -> float | None:
    return sum(run.survived >= 1 for run in runs) / len(runs) if runs else None


def _by_kind(runs: Sequence[_Run], h: int, rates: Mapping[str, float | None]) -> float | None:
    chances: list[float] = []
    for run in runs:
        if len(run.kinds) >= h:
            passed = [rates[kind] for kind in run.kinds[:h]]
            known = [rate for rate in passed if rate is not None]
            if len(known) < h:
                return None
            chances.append(math.prod(known))
    return math.fsum(chances) / len(chances) if chances else None
