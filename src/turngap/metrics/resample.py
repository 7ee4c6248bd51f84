"""The cluster bootstrap for statistics that are more than a mean: ratios, products, differences of them.

Whole conversations are drawn again with replacement, as in `turngap.metrics.interval`, and the statistic is computed
anew from each draw, so that what was estimated from the data is estimated again. A draw is described by how often it
has each conversation: a row of counts. The statistic is given many rows at once and returns one number for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from turngap.metrics.interval import SAME, Interval, expanded_level, settled

Numbers = npt.NDArray[np.float64]
Statistic = Callable[[Numbers], Numbers]
"""Counts, one row a draw and one column a cluster -> one number a draw; NaN where a draw leaves it undefined."""

RESAMPLES = 2000
_CELLS = 1_000_000
"""Counts that are held in memory at once."""


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
    statistic: Statistic,
    clusters: int,
    *,
    seed: int,
    bounds: Interval = (0.0, 1.0),
    resamples: int = RESAMPLES,
) -> tuple[float | None, Interval | None]:
    """A statistic of all clusters, and its 95% percentile interval, taken at the expanded level.

    Where the statistic is the same in every draw the interval is that of `turngap.metrics.interval.settled`.

    Args:
        statistic: see `Statistic`.
        clusters: how many there are.
        seed: of the draws.
        bounds: the interval of a single cluster, which says nothing about how clusters differ.
        resamples: draws.

    Returns:
        (value, interval); (None, None) without clusters, or where the statistic of all of them is undefined.
    """
    if clusters == 0:
        return None, None
    value = float(statistic(np.ones((1, clusters)))[0])
    if np.isnan(value):
        return None, None
    if clusters == 1:
        return value, bounds
    found = resampled(statistic, clusters, seed=seed, resamples=resamples)
    if not len(found):
        return value, bounds
    if np.ptp(found) <= SAME:
        return value, settled(value, clusters, bounds=bounds)
    tail = (1 - expanded_level(clusters)) / 2
    low, high = np.quantile(found, (tail, 1 - tail))
    return value, (min(float(low), value), max(float(high), value))


def ratio(counts: Numbers, totals: Numbers, masses: Numbers) -> Numbers:
    """Sum of totals over sum of masses in every draw; NaN where a draw has no mass."""
    mass = counts @ masses
    found: Numbers = np.divide(counts @ totals, mass, out=np.full(len(counts), np.nan), where=mass > 0)
    return found
