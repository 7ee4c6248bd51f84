"""Statistics of weighted clusters: against the closed form for means, and at their edges."""

from __future__ import annotations

import numpy as np
import pytest

from turngap.metrics.interval import cluster_interval
from turngap.metrics.paired import paired_difference
from turngap.metrics.resample import difference_of_ratios, interval_of, ratio, resampled


def _ratio_of(totals: np.ndarray, masses: np.ndarray, worth: float) -> tuple[np.ndarray, np.ndarray]:
    return np.append(totals, worth * masses.mean()), np.append(masses, masses.mean())


def test_a_ratio_has_the_interval_of_the_mean_over_clusters() -> None:
    """For a mean over units it agrees with the interval that is computed."""
    chance = np.random.default_rng(2)
    sizes = chance.integers(1, 9, 70)
    clusters = np.repeat(np.arange(70), sizes)
    values = np.clip(chance.random(70)[clusters] + chance.normal(0, 0.1, len(clusters)), 0, 1)
    totals, masses = np.bincount(clusters, values), sizes.astype(float)
    low, high = (_ratio_of(totals, masses, worth) for worth in (0.0, 1.0))
    value, interval = interval_of(lambda rows: ratio(rows, *low), lambda rows: ratio(rows, *high), 70, seed=1)
    assert value == pytest.approx(values.mean())
    assert interval == pytest.approx(cluster_interval(values.tolist(), clusters.tolist()), abs=0.006)


def test_a_difference_of_ratios_over_equal_masses_is_a_paired_difference() -> None:
    """Where both ratios have the same masses their difference is a mean of differences, and has its interval."""
    chance = np.random.default_rng(4)
    one, other = chance.random(30), chance.random(30)
    masses = np.ones(30)
    value, interval = difference_of_ratios((one, masses), (other, masses), seed=3)
    expected = paired_difference(other.tolist(), one.tolist(), range(30))
    assert value == pytest.approx(expected.value)
    assert interval == pytest.approx(expected.ci95, abs=0.015)
    # Turned round it is the same interval, turned round.
    back, mirrored = difference_of_ratios((other, masses), (one, masses), seed=3)
    assert interval is not None and mirrored is not None and value is not None
    assert (back, mirrored) == (pytest.approx(-value), pytest.approx((-interval[1], -interval[0])))


def test_sta_07_nothing_gives_none() -> None:
    """STA-07: no clusters, or no mass in any of them, give None; draws without mass are left out; no warnings."""
    nothing = np.zeros(3)
    assert difference_of_ratios((np.zeros(0), np.zeros(0)), (np.zeros(0), np.zeros(0)), seed=0) == (None, None)
    assert difference_of_ratios((nothing, nothing), (nothing, np.ones(3)), seed=0) == (None, None)
    rare = np.array([1.0, 0.0, 0.0])
    found = resampled(lambda counts: ratio(counts, rare, rare), 3, seed=0)
    assert 0 < len(found) < 2000
    assert set(found) == {1.0}


def test_one_cluster_says_next_to_nothing() -> None:
    """A single cluster leaves nearly the whole range, whatever it shows."""
    one = np.ones(1)
    value, interval = difference_of_ratios((one, one), (one, one), seed=0)
    assert value == 0 and interval is not None
    assert interval[0] < -0.9 and interval[1] > 0.9


def test_it_is_deterministic() -> None:
    """The same seed gives the same weights, another seed others."""
    totals = np.arange(20.0) / 20
    results = [difference_of_ratios((totals, np.ones(20)), (totals**2, np.ones(20)), seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]
