"""How far a figure fell from one run to another, over the units that both measured.

Units are paired by conversation and decision, never by position. The interval weighs whole conversations, alike in both
runs: for the same level it is the one that `turngap compare` shows, of a fall instead of a rise.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import msgspec
import numpy as np

from turngap.analysis.figure import Columns, Kind, columns
from turngap.analysis.sample import Sample
from turngap.metrics.interval import LEVEL, Interval, cluster_interval
from turngap.metrics.resample import Numbers, difference_of_ratios


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
        seed: of the random weights of a pooled ratio.
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
    if before.measure.kind is Kind.POOLED:
        sums = [_sums(*one, conversations) for one in zip((first, second), weights, strict=True)]
        _, ends = difference_of_ratios(sums[0], sums[1], seed=seed, level=level)
    else:
        falls = [old - new for old, new in zip(first, second, strict=True)]
        ends = cluster_interval(falls, conversations, bounds=(-1.0, 1.0), level=level)
    return Drop(value=value, n=len(pairs), interval=ends)


def _pairs(one: Columns, other: Columns, among: Collection[str]) -> list[tuple[int, int]]:
    """Positions of the same unit in both, in the order of the first."""
    where = {place: at for at, place in enumerate(other.places)}
    return [(at, where[place]) for at, place in enumerate(one.places) if place in where and place[0] in among]


def _mean(values: list[float], weights: list[float]) -> float:
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def _sums(values: list[float], weights: list[float], conversations: list[str]) -> tuple[Numbers, Numbers]:
    """Sums of values and of weights, one entry a conversation."""
    place = {name: at for at, name in enumerate(sorted(set(conversations)))}
    totals, masses = np.zeros(len(place)), np.zeros(len(place))
    for name, value, weight in zip(conversations, values, weights, strict=True):
        totals[place[name]] += value * weight
        masses[place[name]] += weight
    return totals, masses
