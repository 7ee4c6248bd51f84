"""Intervals against scipy, and at their edges."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from turngap.metrics.interval import cluster_bootstrap, expanded_level, settled, wilson


@settings(deadline=None)
@given(st.integers(1, 3000), st.data())
def test_wilson_equals_scipy(n: int, data: st.DataObject) -> None:
    """The interval is scipy's, contains the share and ends at 0 and 1 where it must."""
    successes = data.draw(st.integers(0, n))
    interval = wilson(successes, n)
    assert interval is not None
    theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert interval == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= interval[0] <= successes / n <= interval[1] <= 1


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99, 0.999])
def test_other_levels_equal_scipy(level: float) -> None:
    """Wilson at any level is scipy's; the bootstrap of equal clusters has scipy's ends at that level, expanded."""
    theirs = stats.binomtest(17, 40).proportion_ci(level, method="wilson")
    assert wilson(17, 40, level=level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    values = np.random.default_rng(8).random(50).tolist()
    ours = cluster_bootstrap(values, range(50), seed=1, resamples=20_000, level=level)
    expected = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        confidence_level=expanded_level(50, level=level),
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ours == pytest.approx((expected.low, expected.high), abs=0.012)


def test_a_high_level_is_given_enough_draws() -> None:
    """At 99.9% the ends come from more than the 2000 draws that are asked for, so two seeds agree about them."""
    values = np.random.default_rng(8).random(50).tolist()
    one, other = (cluster_bootstrap(values, range(50), seed=seed, level=0.999) for seed in (1, 2))
    assert one == pytest.approx(other, abs=0.006)
    assert one != cluster_bootstrap(values, range(50), seed=1)


def test_sta_07_nothing_to_measure_has_no_interval() -> None:
    """STA-07: n = 0, or no weight at all, gives None, never NaN and no warning."""
    assert wilson(0, 0) is None
    assert cluster_bootstrap([], [], seed=0) is None
    assert cluster_bootstrap([0.5, 0.7], ["a", "b"], weights=[0, 0], seed=0) is None


def test_impossible_counts_are_refused() -> None:
    """More successes than trials, unequal lengths and negative weights are errors."""
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="2 values, 1 clusters"):
        cluster_bootstrap([1, 2], ["a"], seed=0)
    with pytest.raises(ValueError, match="negative"):
        cluster_bootstrap([1, 2], ["a", "b"], weights=[1, -1], seed=0)


def test_the_bootstrap_agrees_with_scipy_on_equal_clusters() -> None:
    """With equal clusters the interval is that of the cluster means, which scipy bootstraps too."""
    random_numbers = np.random.default_rng(3)
    table = random_numbers.beta(2, 3, (60, 1)) * 0.7 + random_numbers.random((60, 5)) * 0.3
    interval = cluster_bootstrap(table.ravel().tolist(), np.repeat(np.arange(60), 5).tolist(), seed=1, resamples=20_000)
    theirs = stats.bootstrap(
        (table.mean(axis=1),),
        np.mean,
        confidence_level=expanded_level(60),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert interval == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_the_bootstrap_of_unequal_clusters_is_that_of_a_ratio() -> None:
    """With unequal clusters the interval is that of sum over size, as scipy gives it for paired sums and sizes."""
    random_numbers = np.random.default_rng(5)
    sizes = random_numbers.integers(1, 12, 80)
    clusters = np.repeat(np.arange(80), sizes)
    values = np.clip(random_numbers.random(80)[clusters] + random_numbers.normal(0, 0.1, len(clusters)), 0, 1)
    sums = np.bincount(clusters, values)
    interval = cluster_bootstrap(values.tolist(), clusters.tolist(), seed=1, resamples=20_000)
    theirs = stats.bootstrap(
        (sums, sizes),
        lambda one, other, axis=-1: one.sum(axis=axis) / other.sum(axis=axis),
        paired=True,
        confidence_level=expanded_level(80),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert interval == pytest.approx((theirs.low, theirs.high), abs=0.005)
    naive = stats.sem(values) * 1.96
    assert interval is not None
    assert (interval[1] - interval[0]) / 2 > 1.5 * naive


def test_weights_are_repetitions() -> None:
    """A weight of 3 counts like three units of the same cluster."""
    once = cluster_bootstrap([0.2, 0.9, 0.4], ["a", "b", "c"], weights=[3, 1, 1], seed=4)
    often = cluster_bootstrap([0.2, 0.2, 0.2, 0.9, 0.4], ["a", "a", "a", "b", "c"], seed=4)
    assert once == pytest.approx(often)


def test_one_cluster_says_nothing_about_others() -> None:
    """Units of a single conversation give the whole range of the figure, however many they are."""
    assert cluster_bootstrap([0.4] * 50, ["a"] * 50, seed=0) == (0.0, 1.0)
    assert cluster_bootstrap([0.4], ["a"], seed=0, bounds=(-1.0, 1.0)) == (-1.0, 1.0)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=30),
    st.integers(0, 2**32),
    st.randoms(use_true_random=False),
)
def test_the_bootstrap_is_deterministic_and_contains_the_mean(
    units: list[tuple[float, int]], seed: int, chance: random.Random
) -> None:
    """Equal input gives equal output, in any order and under any names of clusters; the mean lies inside."""
    values, clusters = [value for value, _ in units], [cluster for _, cluster in units]
    interval = cluster_bootstrap(values, clusters, seed=seed, resamples=200)
    chance.shuffle(units)
    again = cluster_bootstrap(
        [value for value, _ in units], [f"c{9 - cluster}" for _, cluster in units], seed=seed, resamples=200
    )
    assert interval is not None
    assert interval == again
    mean = math.fsum(values) / len(values)
    assert 0 <= interval[0] <= mean + 1e-12
    assert mean - 1e-12 <= interval[1] <= 1


def test_clusters_that_agree_get_what_so_many_of_them_allow() -> None:
    """Without spread between conversations the interval is Wilson's over their number, also where units differ."""
    assert cluster_bootstrap([1.0] * 7, list("aabbccd"), seed=0) == wilson(4, 4)
    assert cluster_bootstrap([0.0] * 7, list("aabbccd"), seed=0) == wilson(0, 4)
    thirds = cluster_bootstrap([1.0, 1.0, 0.0] * 8, [name for name in "abcdefgh" for _ in range(3)], seed=0)
    # Two thirds of 8 lie between 5 and 6 of 8: (0.306, ...) and (..., 0.929).
    assert thirds == pytest.approx((0.3057, 0.9285), abs=1e-4)
    ends = [stats.binomtest(k, 8).proportion_ci(method="wilson") for k in (5, 6)]
    assert thirds == pytest.approx((ends[0].low, ends[1].high))
    halves = cluster_bootstrap([0.5] * 6, list("aabbcd"), seed=0, level=0.8)
    assert halves == wilson(2, 4, level=0.8)


def test_differences_that_agree_reach_as_far_as_so_many_clusters_allow() -> None:
    """A difference that is the same in every conversation gets the bound of a share that was 0 in all of them."""
    bound = (wilson(0, 8) or (0.0, 0.0))[1]
    units, names = [1.0, 0.0, 0.0] * 8, [name for name in "abcdefgh" for _ in range(3)]
    found = cluster_bootstrap(units, names, seed=0, bounds=(-1.0, 1.0))
    assert found == pytest.approx((1 / 3 - bound, 1 / 3 + bound))
    assert settled(1.0, 8, bounds=(-1.0, 1.0)) == (1 - bound, 1.0)
    assert settled(0.0, 8, bounds=(-2.0, 2.0)) == (-2 * bound, 2 * bound)
    assert settled(3.0, 8, bounds=(0.0, math.inf)) == (3.0, 3.0)


def test_few_clusters_widen_the_percentiles() -> None:
    """The tail is the normal one beyond the t quantile of so few values; with many clusters it is 2.5%."""
    for clusters in (5, 30, 1000):
        reach = stats.t.ppf(0.975, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
        assert expanded_level(clusters) == pytest.approx(min(0.999, 1 - 2 * stats.norm.sf(reach)))
    assert expanded_level(2) == 0.999
    assert expanded_level(2, level=0.9999) == 0.9999
    assert expanded_level(100_000) == pytest.approx(0.95, abs=1e-4)


def _coverage(clusters: int, repetitions: int, seed: int) -> tuple[float, float]:
    """How often the true mean lies inside, and how often it would without expansion.

    Conversations have 1 to 9 decisions, which share a rate of success of their own (Beta(2, 3): 0.4 on average, and
    decisions of one conversation correlate with 1/6).
    """
    chance = np.random.default_rng(seed)
    inside = plain = 0
    for repetition in range(repetitions):
        sizes = chance.integers(1, 10, clusters)
        names = np.repeat(np.arange(clusters), sizes)
        values = (chance.random(len(names)) < chance.beta(2, 3, clusters)[names]).astype(float)
        low, high = cluster_bootstrap(values.tolist(), names.tolist(), seed=repetition) or (1.0, 0.0)
        inside += low <= 0.4 <= high
        drawn = chance.multinomial(clusters, np.full(clusters, 1 / clusters), 1000)
        means = (drawn @ np.bincount(names, values)) / (drawn @ sizes)
        low, high = np.quantile(means, (0.025, 0.975))
        plain += low <= 0.4 <= high
    return inside / repetitions, plain / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [6, 10, 20, 40])
def test_the_interval_holds_the_truth_as_often_as_it_says(clusters: int) -> None:
    """On clustered data with a known mean, nominal 95% covers 93 to 97%, also where plain percentiles fall short."""
    covered, plain = _coverage(clusters, 2000, seed=clusters)
    assert 0.93 <= covered <= 0.97
    if clusters <= 10:
        assert plain < 0.9
