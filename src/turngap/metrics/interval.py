"""Intervals: Wilson's for shares, a cluster bootstrap for means of decisions that belong to conversations.

They are two-sided and at 95%, where no other level is asked for.

Percentiles of a bootstrap are a little too narrow when clusters are few, for the same reason that a mean of few values
is given a t interval. `expanded_level` makes up for that (Hesterberg's expanded percentiles, see docs/figures.md).

Decisions of one conversation resemble each other, so a mean over decisions is not known as well as its n suggests;
whole conversations are what is drawn again. All functions are deterministic and give None where there is nothing to
measure, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

Interval = tuple[float, float]

LEVEL = 0.95
"""How often an interval holds the truth, where nothing else is asked for."""
_TAIL = 50
"""Draws that have to lie beyond each end of a bootstrap interval, so that the end is known well enough."""
_CELLS = 1_000_000
"""Random draws that are held in memory at once."""
SAME = 1e-9
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


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    weights: Sequence[float] | None = None,
    seed: int,
    resamples: int = 2000,
    bounds: Interval = (0.0, 1.0),
    level: float = LEVEL,
) -> Interval | None:
    """Percentile interval of a (weighted) mean when whole clusters are drawn again with replacement.

    The mean of a draw is the sum of all its values over the sum of all its weights, so large conversations weigh as
    much as in the figure itself. The percentiles are taken at the `expanded_level`. Where all clusters have the same
    mean there is nothing to draw, and the interval is that of `settled`.

    Args:
        values: one per unit.
        clusters: the cluster (conversation) of each unit; the order in which units stand does not matter.
        weights: of each unit, not negative; None: 1 each.
        seed: of the draws; equal input gives equal output.
        resamples: number of draws; more are made where so few would lie beyond the ends that these would be uncertain.
        bounds: what the figure can be at all. It is the interval when all units belong to one cluster, for one cluster
            says nothing about how clusters differ.
        level: two-sided; in (0, 1).

    Returns:
        (low, high), or None without units or without weight.

    Raises:
        ValueError: sequences of unequal length, a negative weight.
    """
    totals, masses = _sums(values, clusters, weights)
    used = masses > 0
    totals, masses = totals[used], masses[used]
    count = len(totals)
    if count == 0:
        return None
    if count == 1:
        return bounds
    if np.ptp(totals / masses) <= SAME:
        return settled(math.fsum(totals) / math.fsum(masses), count, bounds=bounds, level=level)
    random = np.random.default_rng(seed)
    tail = (1 - expanded_level(count, level=level)) / 2
    resamples = max(resamples, round(_TAIL / tail))
    means = []
    rows = max(1, _CELLS // count)
    for start in range(0, resamples, rows):
        drawn = random.integers(0, count, (min(rows, resamples - start), count))
        means.append(totals[drawn].sum(axis=1) / masses[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), (tail, 1 - tail))
    # Rounding alone must not put the figure outside its interval, nor the interval outside what can be.
    mean = math.fsum(totals) / math.fsum(masses)
    return max(bounds[0], min(float(low), mean)), min(bounds[1], max(float(high), mean))


def settled(value: float, clusters: int, *, bounds: Interval = (0.0, 1.0), level: float = LEVEL) -> Interval:
    """The interval of a figure that is the same in every draw of clusters: what so many of them allow.

    A bootstrap has nothing to draw there and would claim certainty. A share or mean in [0, 1] gets Wilson's interval
    over as many units as there are clusters (of the two numbers of successes that the value lies between, where it is
    none). A difference gets plus and minus the Wilson bound of a share that was 0 in all of them, times the largest
    difference. A figure without a highest value stays a point, for nothing says how far it might go.
    """
    if not all(math.isfinite(end) for end in bounds):
        return value, value
    if bounds[0] < 0:
        reach = bounds[1] * (wilson(0, clusters, level=level) or (0.0, 1.0))[1]
        return max(bounds[0], value - reach), min(bounds[1], value + reach)
    least = min(clusters, max(0, math.floor(value * clusters + SAME)))
    most = min(clusters, max(0, math.ceil(value * clusters - SAME)))
    low = (wilson(least, clusters, level=level) or bounds)[0]
    return low, (wilson(most, clusters, level=level) or bounds)[1]


def expanded_level(clusters: int, *, level: float = LEVEL) -> float:
    """The level at which percentiles have to be taken so that they cover `level` with so many clusters (two or more).

    The tail is that of the normal distribution beyond sqrt(n / (n - 1)) times the t quantile with n - 1 degrees.
    """
    reach = float(stdtrit(clusters - 1, (1 + level) / 2)) * math.sqrt(clusters / (clusters - 1))
    return min(max(_HIGHEST, level), float(1 - 2 * ndtr(-reach)))


def _sums(
    values: Sequence[float], clusters: Sequence[Hashable], weights: Sequence[float] | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Weighted sum of values, and sum of weights, of each cluster, in an order that the units' order has no part in."""
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
    table = np.array(sums, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
