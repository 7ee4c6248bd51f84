"""How far a figure fell from one run to another, over the units that both measured.

Units are paired by conversation and decision, never by position. The interval is a cluster bootstrap that draws whole
conversations, so that both runs are drawn alike, and makes up for few of them (`turngap.metrics.resample`). Where no
pair differs a bootstrap would claim certainty; the interval is then what the number of conversations allows.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import msgspec
import numpy as np

from turngap.analysis.figure import Columns, Kind, columns
from turngap.analysis.sample import Sample
from turngap.metrics.interval import LEVEL, SAME, Interval, cluster_bootstrap, expanded_level, settled
from turngap.metrics.paired import no_difference
from turngap.metrics.resample import ratio, resampled

_TAIL = 50
"""Draws that have to lie beyond each end of an interval."""


class Drop(msgspec.Struct, frozen=True, kw_only=True):
    """A drop in absolute terms; below zero where the figure rose. `value` is None exactly when n is 0."""

    value: float | None
    n: int
    """Pairs of units."""
    interval: Interval | None = None
    """Two-sided, at the level that was asked for."""


def drop(before: Sample, after: Sample, *, among: Collection[str], seed: int, level: float = LEVEL) -> Drop:
    """The figure of `before` less that of `after`, on shared units.

    Args:
        before: units of the baseline.
        after: units of the run.
        among: conversations that count; others are left out.
        seed: of the bootstrap.
        level: of the interval.
    """
    one, other = (columns(each.measure, each.units) for each in (before, after))
    pairs = _pairs(one, other, among)
    if not pairs:
        return Drop(value=None, n=0)
    conversations = [one.conversations[at] for at, _ in pairs]
    first, second = [one.values[at] for at, _ in pairs], [other.values[at] for _, at in pairs]
    weights = [one.weights[at] for at, _ in pairs], [other.weights[at] for _, at in pairs]
    value = _mean(first, weights[0]) - _mean(second, weights[1])
    clusters = len(set(conversations))
    if first == second and weights[0] == weights[1]:
        ends: Interval | None = no_difference(clusters, level=level)
    elif before.measure.kind is Kind.POOLED:
        ends = _of_ratios((first, second), weights, conversations, seed=seed, level=level)
    else:
        # Drawn as a rise, as `turngap compare` does, so that both show the same ends.
        rises = [new - old for old, new in zip(first, second, strict=True)]
        rise = cluster_bootstrap(rises, conversations, seed=seed, bounds=(-1.0, 1.0), level=level)
        ends = None if rise is None else (-rise[1], -rise[0])
    return Drop(value=value, n=len(pairs), interval=ends)


def _pairs(one: Columns, other: Columns, among: Collection[str]) -> list[tuple[int, int]]:
    """Positions of the same unit in both, in the order of the first."""
    where = {place: at for at, place in enumerate(other.places)}
    return [(at, where[place]) for at, place in enumerate(one.places) if place in where and place[0] in among]


def _mean(values: list[float], weights: list[float]) -> float:
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def _of_ratios(
    values: tuple[list[float], list[float]],
    weights: tuple[list[float], list[float]],
    conversations: list[str],
    *,
    seed: int,
    level: float,
) -> Interval:
    """The interval of the difference of two pooled ratios whose weights differ."""
    names = sorted(set(conversations))
    if len(names) == 1:
        return -1.0, 1.0
    place = {name: at for at, name in enumerate(names)}
    sums = np.zeros((4, len(names)))
    for row, (column, weighing) in enumerate(zip(values, weights, strict=True)):
        for name, value, weight in zip(conversations, column, weighing, strict=True):
            sums[2 * row, place[name]] += value * weight
            sums[2 * row + 1, place[name]] += weight
    tail = (1 - expanded_level(len(names), level=level)) / 2
    draws = resampled(
        lambda counts: ratio(counts, sums[0], sums[1]) - ratio(counts, sums[2], sums[3]),
        len(names),
        seed=seed,
        resamples=max(2000, round(_TAIL / tail)),
    )
    if np.ptp(draws) <= SAME:
        return settled(float(draws[0]), len(names), bounds=(-1.0, 1.0), level=level)
    low, high = np.quantile(draws, (tail, 1 - tail))
    return float(low), float(high)
