"""Whole clusters drawn again, for statistics that are more than a mean: ratios, products, differences of them.

Two ways to draw. `draws` and `resampled` draw clusters with replacement, and describe a draw by how often it has each.
`interval_of` weighs them at random and reckons with one cluster that nobody has seen, exactly as
`turngap.metrics.interval.cluster_interval` does for means, of which it is the generalisation: the statistic is computed
anew from each weighting, so that what was estimated from the data is estimated again. A statistic is given many rows of
counts or weights at once and returns one number for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from turngap.metrics.interval import LEVEL, TAIL, Interval

Numbers = npt.NDArray[np.float64]
Statistic = Callable[[Numbers], Numbers]
"""Counts or weights, one row a draw and one column a cluster -> one number a draw; NaN where it is undefined."""

RESAMPLES = 2000
_CELLS = 1_000_000
"""Counts that are held in memory at once."""
_LEAST = 4000  # weightings of an interval


def draws(clusters: int, *, seed: int, resamples: int = RESAMPLES) -> Iterator[Numbers]:
    """Yield blocks of counts: how often each draw of `clusters` clusters has each of them."""
    random = np.random.default_rng(seed)
    rows = max(1, _CELLS // clusters)
    even = np.full(clusters, 1 / clusters)
    for start in range(0, resamples, rows):
        yield random.multinomial(clusters, even, min(rows, resamples - start)).astype(np.float64)


def resampled(statistic: Statistic, clusters: int, *, seed: int, resamples: int = RESAMPLES) -> Numbers:
    """The statistic of every draw in which it is defined."""
    blocks = [statistic(counts) for counts in draws(clusters, seed=seed, resamples=resamples)]
    found: Numbers = np.concatenate(blocks)
    defined: Numbers = found[~np.isnan(found)]
    return defined


def interval_of(
    low: Statistic, high: Statistic, clusters: int, *, seed: int, bounds: Interval = (0.0, 1.0), level: float = LEVEL
) -> tuple[float | None, Interval | None]:
    """A statistic of all clusters, and its interval under random weights.

    Args:
        low: the statistic of one cluster more than there are; the last one is the unseen one, as it makes the
            statistic least.
        high: the same with the unseen one as it makes the statistic greatest.
        clusters: how many there are.
        seed: of the weights; the same for both ends.
        bounds: what the statistic can be at all.
        level: two-sided.

    Returns:
        (value, interval); (None, None) without clusters, or where the statistic of all of them is undefined.
    """
    if clusters == 0:
        return None, None
    seen = np.ones((1, clusters + 1))
    seen[0, -1] = 0
    value = float(low(seen)[0])
    if np.isnan(value):
        return None, None
    tail = (1 - level) / 2
    below, above = _weighed((low, high), clusters + 1, max(_LEAST, round(TAIL / tail)), seed)
    ends = float(np.quantile(below, tail)), float(np.quantile(above, 1 - tail))
    return value, (max(bounds[0], min(ends[0], value)), min(bounds[1], max(ends[1], value)))


def _weighed(statistics: tuple[Statistic, Statistic], columns: int, rows: int, seed: int) -> tuple[Numbers, Numbers]:
    random = np.random.default_rng(seed)
    found: tuple[list[Numbers], list[Numbers]] = ([], [])
    block = max(1, _CELLS // columns)
    for start in range(0, rows, block):
        weights = random.exponential(size=(min(block, rows - start), columns))
        for statistic, values in zip(statistics, found, strict=True):
            values.append(statistic(weights))
    return np.concatenate(found[0]), np.concatenate(found[1])


def difference_of_ratios(
    first: tuple[Numbers, Numbers],
    second: tuple[Numbers, Numbers],
    *,
    seed: int,
    unit: Interval = (0.0, 1.0),
    level: float = LEVEL,
) -> tuple[float | None, Interval | None]:
    """A ratio of sums less another one over the same clusters, both weighed alike.

    Args:
        first: totals and masses, one entry a cluster.
        second: those of the ratio that is taken off.
        seed: of the weights.
        unit: what one unit of mass can bring to a total.
        level: of the interval.

    Returns:
        (difference, interval); (None, None) where a ratio has no mass.
    """
    least, most = unit

    def with_unseen(worth: tuple[float, float]) -> Statistic:
        (one, of_one), (other, of_other) = (
            _joined(*sums, value) for sums, value in zip((first, second), worth, strict=True)
        )
        return lambda weights: ratio(weights, one, of_one) - ratio(weights, other, of_other)

    return interval_of(
        with_unseen((least, most)),
        with_unseen((most, least)),
        len(first[0]),
        seed=seed,
        bounds=(least - most, most - least),
        level=level,
    )


def _joined(totals: Numbers, masses: Numbers, worth: float) -> tuple[Numbers, Numbers]:
    """Sums with those of the unseen cluster: of the size of a middling one among those that have mass."""
    size = float(masses[masses > 0].mean()) if masses.any() else 0.0
    return np.append(totals, worth * size), np.append(masses, size)


def ratio(counts: Numbers, totals: Numbers, masses: Numbers) -> Numbers:
    """Sum of totals over sum of masses in every draw; NaN where a draw has no mass."""
    mass = counts @ masses
    found: Numbers = np.divide(counts @ totals, mass, out=np.full(len(counts), np.nan), where=mass > 0)
    return found
