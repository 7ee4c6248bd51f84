"""The general cluster bootstrap: against the special one, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest

from turngap.metrics.interval import cluster_bootstrap
from turngap.metrics.resample import interval_of, ratio, resampled


def test_a_ratio_has_the_interval_of_the_mean_over_clusters() -> None:
    """For a mean over units it agrees with the bootstrap of `turngap.metrics.interval`."""
    chance = np.random.default_rng(2)
    sizes = chance.integers(1, 9, 70)
    clusters = np.repeat(np.arange(70), sizes)
    values = np.clip(chance.random(70)[clusters] + chance.normal(0, 0.1, len(clusters)), 0, 1)
    totals, masses = np.bincount(clusters, values), sizes.astype(float)
    value, interval = interval_of(lambda counts: ratio(counts, totals, masses), 70, seed=1, resamples=20_000)
    assert value == pytest.approx(values.mean())
    assert interval == pytest.approx(
        cluster_bootstrap(values.tolist(), clusters.tolist(), seed=1, resamples=20_000),
        abs=0.004,
    )


def test_sta_07_nothing_gives_none() -> None:
    """STA-07: no clusters, or no mass in any of them, give None; draws without mass are left out; no warnings."""
    nothing = np.zeros(3)
    assert interval_of(lambda counts: ratio(counts, nothing, nothing), 0, seed=0) == (None, None)
    assert interval_of(lambda counts: ratio(counts, nothing, nothing), 3, seed=0) == (None, None)
    rare = np.array([1.0, 0.0, 0.0])
    found = resampled(lambda counts: ratio(counts, rare, rare), 3, seed=0)
    assert 0 < len(found) < 2000
    assert set(found) == {1.0}


def test_one_cluster_gives_the_bounds() -> None:
    """A single cluster says nothing about others."""
    one = np.array([0.4])
    value, interval = interval_of(lambda counts: ratio(counts, one, np.ones(1)), 1, seed=0, bounds=(-1.0, 1.0))
    assert value == pytest.approx(0.4)
    assert interval == (-1.0, 1.0)


def test_it_is_deterministic() -> None:
    """The same seed gives the same draws, another seed others."""
    totals = np.arange(20.0)
    results = [interval_of(lambda counts: ratio(counts, totals, np.ones(20)), 20, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]
