"""Intervals: Wilson's for shares of independent units, and one rule for means of units that belong to clusters.

They are two-sided and at 95%, where no other level is asked for.

Decisions of one conversation, and trials of one task, resemble each other, so a mean over them is not known as well as
its n suggests: what varies is the cluster. `cluster_interval` weighs whole clusters at random and reckons with one more
cluster that nobody has seen, all of whose units came out as badly (for the lower end) or as well (for the upper one) as
can be. So few clusters, or clusters that all agree, never claim to be sure; an outcome that is better throughout never
has a lower end that is lower; and with one zero or one in each cluster it is the exact interval of Clopper and Pearson.
Why this rule, and how often it holds the truth: docs/decisions/figures.md.

A figure without a highest value (a count) has no worst case to reckon with: `cluster_bootstrap` gives it percentiles,
taken at the `expanded_level` that makes up for few clusters.

All functions are deterministic and give None where there is nothing to measure, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from turngap.metrics.weighing import low_end

Interval = tuple[float, float]

LEVEL = 0.95
"""How often an interval holds the truth, where nothing else is asked for."""
TAIL = 50
"""Draws that have to lie beyond each end of an interval that is drawn, so that the end is known well enough."""
_CELLS = 1_000_000
"""Random draws that are held in memory at once."""
_SAME = 1e-9
"""Values this close are equal: sums in another order differ in the last digits."""
_HIGHEST = 0.999
"""Level to which percentiles are widened at most: with two or three clusters nothing helps."""


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval | None:
    """Wilson's score interval of a share, two-sided at `level`; None for n = 0.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, spread = successes / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # The ends are exact in theory; rounding must not push them inside.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return low, high


def cluster_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    weights: Sequence[float] | None = None,
    bounds: Interval = (0.0, 1.0),
    level: float = LEVEL,
) -> Interval | None:
    """The interval of a (weighted) mean over units that belong to clusters.

    Each cluster enters the mean with all its units and a random weight of its own (`turngap.metrics.weighing`); so does
    one cluster more, of middling size, whose units all lie at the end of `bounds` that is looked at. The interval ends
    where the weighted mean lies beyond with a chance of half of what `level` leaves.

    Args:
        values: one per unit, within `bounds`.
        clusters: the cluster (conversation, task) of each unit; the order in which units stand does not matter.
        weights: of each unit, not negative; None: 1 each.
        bounds: what a unit can be at all.
        level: two-sided; from 0.5 up, below 1.

    Returns:
        (low, high), or None without units or without weight. The mean lies inside.

    Raises:
        ValueError: sequences of unequal length, a negative weight.
    """
    totals, masses = _sums(values, clusters, weights)
    if not len(totals):
        return None
    lowest, highest = bounds
    found, counts = np.unique(np.stack((masses, totals / masses), axis=1), axis=0, return_counts=True)
    groups = np.append(counts, 1).astype(np.float64)
    sizes, means = np.append(found[:, 0], masses.mean()), np.clip(found[:, 1], lowest, highest)
    chance = (1 - level) / 2
    low = low_end(np.append(means, lowest), sizes, groups, chance)
    high = -low_end(np.append(-means, -highest), sizes, groups, chance)
    # Rounding alone must not put the figure outside its interval.
    mean = min(highest, max(lowest, math.fsum(totals) / math.fsum(masses)))
    return min(low, mean), max(high, mean)


def cluster_bootstrap(
    values: Sequence[float], clusters: Sequence[Hashable], *, seed: int, resamples: int = 2000, level: float = LEVEL
) -> Interval | None:
    """Percentile interval of the mean of a figure without a highest value, whole clusters being drawn again.

    The mean of a draw is the sum of all its values over their number, so large clusters weigh as much as in the figure
    itself. The percentiles are taken at the `expanded_level`.

    Args:
        values: one per unit.
        clusters: the cluster of each unit; the order in which units stand does not matter.
        seed: of the draws; equal input gives equal output.
        resamples: number of draws; more are made where so few would lie beyond the ends that these would be uncertain.
        level: two-sided; in (0, 1).

    Returns:
        (low, high); None with fewer than two clusters, for one says nothing about others.

    Raises:
        ValueError: sequences of unequal length.
    """
    totals, masses = _sums(values, clusters, None)
    count = len(totals)
    if count < 2:
        return None
    mean = math.fsum(totals) / math.fsum(masses)
    if np.ptp(totals / masses) <= _SAME:
        return mean, mean
    random = np.random.default_rng(seed)
    tail = (1 - expanded_level(count, level=level)) / 2
    resamples = max(resamples, round(TAIL / tail))
    means = []
    rows = max(1, _CELLS // count)
    for start in range(0, resamples, rows):
        drawn = random.integers(0, count, (min(rows, resamples - start), count))
        means.append(totals[drawn].sum(axis=1) / masses[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), (tail, 1 - tail))
    return min(float(low), mean), max(float(high), mean)


def expanded_level(clusters: int, *, level: float = LEVEL) -> float:
    """The level at which percentiles have to be taken so that they cover `level` with so many clusters (two or more).

    The tail is that of the normal distribution beyond sqrt(n / (n - 1)) times the t quantile with n - 1 degrees.
    """
    reach = float(stdtrit(clusters - 1, (1 + level) / 2)) * math.sqrt(clusters / (clusters - 1))
    return min(max(_HIGHEST, level), float(1 - 2 * ndtr(-reach)))


def _sums(
    values: Sequence[float], clusters: Sequence[Hashable], weights: Sequence[float] | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sums of weighted values and of weights of clusters with weight, in an order that the units' has no part in."""
    weights = [1.0] * len(values) if weights is None else weights
    if not len(values) == len(clusters) == len(weights):
        raise ValueError(f"{len(values)} values, {len(clusters)} clusters, {len(weights)} weights")
    if any(weight < 0 for weight in weights):
        raise ValueError("a weight is negative")
    members: dict[Hashable, list[tuple[float, float]]] = {}
    for value, cluster, weight in zip(values, clusters, weights, strict=True):
        members.setdefault(cluster, []).append((weight * value, weight))
    # fsum is exact, so that neither the units' order nor the clusters' names can reach the result.
    sums = sorted(
        (math.fsum(one for one, _ in units), math.fsum(one for _, one in units)) for units in members.values()
    )
    table = np.array([one for one in sums if one[1] > 0], dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
