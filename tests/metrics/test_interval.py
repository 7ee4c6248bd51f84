"""Intervals against scipy, and at their edges."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from turngap.metrics.interval import cluster_bootstrap, cluster_interval, expanded_level, wilson


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
    """Wilson, and one zero or one in each cluster, at any level: scipy's; a bootstrap has scipy's ends, expanded."""
    theirs = stats.binomtest(17, 40).proportion_ci(level, method="wilson")
    assert wilson(17, 40, level=level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    exact = stats.binomtest(17, 40).proportion_ci(level)
    binary = cluster_interval([1.0] * 17 + [0.0] * 23, range(40), level=level)
    assert binary == pytest.approx((exact.low, exact.high), abs=1e-9)
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
    assert cluster_interval([], []) is None
    assert cluster_interval([0.5, 0.7], ["a", "b"], weights=[0, 0]) is None
    assert cluster_bootstrap([], [], seed=0) is None


def test_impossible_counts_are_refused() -> None:
    """More successes than trials, unequal lengths and negative weights are errors."""
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="2 values, 1 clusters"):
        cluster_bootstrap([1, 2], ["a"], seed=0)
    with pytest.raises(ValueError, match="negative"):
        cluster_interval([1, 2], ["a", "b"], weights=[1, -1])


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


_TASKS = st.lists(st.tuples(st.sampled_from([1, 2, 4, 9]), st.floats(0, 1)), min_size=1, max_size=25)


@settings(deadline=None)
@given(st.integers(1, 400), st.data())
def test_one_zero_or_one_in_each_cluster_has_the_exact_interval(n: int, data: st.DataObject) -> None:
    """Then it is Clopper and Pearson's, as scipy has it."""
    successes = data.draw(st.integers(0, n))
    exact = stats.binomtest(successes, n).proportion_ci()
    found = cluster_interval([1.0] * successes + [0.0] * (n - successes), range(n))
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)


@settings(deadline=None)
@given(_TASKS, st.data(), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_better_outcome_never_has_a_lower_end_that_is_lower(
    tasks: list[tuple[int, float]], data: st.DataObject, level: float
) -> None:
    """Whatever is raised in whichever cluster: neither end falls."""
    clusters = [at for at, (units, _) in enumerate(tasks) for _ in range(units)]
    values = [float(at < round(units * share)) for units, share in tasks for at in range(units)]
    better = [max(value, data.draw(st.sampled_from([0.0, 0.5, 1.0]))) for value in values]
    before, after = (cluster_interval(each, clusters, level=level) for each in (values, better))
    assert before is not None and after is not None
    assert after[0] >= before[0] - 1e-8 and after[1] >= before[1] - 1e-8


def test_a_perfect_run_of_two_tasks_is_better_than_one_with_a_failed_trial() -> None:
    """8 of 8 trials have the higher lower end; neither claims much from two tasks."""
    tasks = [task for task in "ab" for _ in range(4)]
    worse, perfect = cluster_interval([0.0] + [1.0] * 7, tasks), cluster_interval([1.0] * 8, tasks)
    assert worse is not None and perfect is not None
    assert worse[0] < perfect[0] == pytest.approx(0.158, abs=1e-3)
    # And of fifty tasks as well, where nothing else is amiss.
    tasks = [str(task) for task in range(50) for _ in range(4)]
    worse, perfect = cluster_interval([0.0] + [1.0] * 199, tasks), cluster_interval([1.0] * 200, tasks)
    assert worse is not None and perfect is not None
    assert worse[0] < perfect[0] == pytest.approx(0.929, abs=1e-3)


def test_weights_are_repetitions() -> None:
    """A weight of 3 counts like three units of the same cluster."""
    once = cluster_interval([0.2, 0.9, 0.4], ["a", "b", "c"], weights=[3, 1, 1])
    often = cluster_interval([0.2, 0.2, 0.2, 0.9, 0.4], ["a", "a", "a", "b", "c"])
    assert once == pytest.approx(often)


def test_one_cluster_says_next_to_nothing_about_others() -> None:
    """Units of a single conversation leave nearly the whole range, however many they are."""
    assert cluster_interval([0.4] * 50, ["a"] * 50) == pytest.approx((0.4 / 40, 1 - 0.6 / 40))
    assert cluster_interval([0.4], ["a"], bounds=(-1.0, 1.0)) == pytest.approx((-1 + 1.4 / 40, 1 - 0.6 / 40))
    assert cluster_bootstrap([3.0] * 5, ["a"] * 5, seed=0) is None


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=30),
    st.integers(0, 2**32),
    st.randoms(use_true_random=False),
)
def test_intervals_are_deterministic_and_contain_the_mean(
    units: list[tuple[float, int]], seed: int, chance: random.Random
) -> None:
    """Equal input gives equal output, in any order and under any names of clusters; the mean lies inside."""
    values, clusters = [value for value, _ in units], [cluster for _, cluster in units]
    found = cluster_interval(values, clusters), cluster_bootstrap(values, clusters, seed=seed, resamples=200)
    chance.shuffle(units)
    values, clusters = [value for value, _ in units], [9 - cluster for _, cluster in units]
    assert found == (cluster_interval(values, clusters), cluster_bootstrap(values, clusters, seed=seed, resamples=200))
    mean = math.fsum(values) / len(values)
    for ends in filter(None, found):
        assert ends[0] <= mean + 1e-12 and mean - 1e-12 <= ends[1]
    assert found[0] is not None and 0 <= found[0][0] <= found[0][1] <= 1


def test_clusters_that_agree_get_what_so_many_of_them_allow() -> None:
    """Without spread the ends are those of one unseen cluster among so many; a count has no worst case and is a point."""
    everything = cluster_interval([1.0] * 4, list("abcd"))
    exact = stats.binomtest(4, 4).proportion_ci()
    assert everything == pytest.approx((exact.low, exact.high))
    thirds = cluster_interval([1.0, 1.0, 0.0] * 8, [name for name in "abcdefgh" for _ in range(3)])
    unseen = stats.beta.ppf(0.975, 1, 8)
    assert thirds == pytest.approx((2 / 3 * (1 - unseen), 2 / 3 + unseen / 3))
    assert cluster_bootstrap([3.0, 3.0, 3.0], ["a", "b", "b"], seed=0) == (3.0, 3.0)


def test_differences_reckon_with_the_other_direction() -> None:
    """A difference that is the same in every conversation is held against an unseen one at either end."""
    units, names = [1.0, 0.0, 0.0] * 8, [name for name in "abcdefgh" for _ in range(3)]
    unseen = stats.beta.ppf(0.975, 1, 8)
    found = cluster_interval(units, names, bounds=(-1.0, 1.0))
    assert found == pytest.approx((1 / 3 - unseen * 4 / 3, 1 / 3 + unseen * 2 / 3))


def test_few_clusters_widen_the_percentiles() -> None:
    """The tail is the normal one beyond the t quantile of so few values; with many clusters it is 2.5%."""
    for clusters in (5, 30, 1000):
        reach = stats.t.ppf(0.975, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
        assert expanded_level(clusters) == pytest.approx(min(0.999, 1 - 2 * stats.norm.sf(reach)))
    assert expanded_level(2) == 0.999
    assert expanded_level(2, level=0.9999) == 0.9999
    assert expanded_level(100_000) == pytest.approx(0.95, abs=1e-4)


_RATES: dict[str, tuple[Callable[[np.random.Generator, int], npt.NDArray[np.float64]], float]] = {
    "spread": (lambda chance, tasks: chance.beta(2, 3, tasks), 0.4),
    "all or nothing, mostly all": (lambda chance, tasks: chance.beta(0.3, 0.1, tasks), 0.75),
    "equally easy": (lambda _, tasks: np.full(tasks, 0.9), 0.9),
    "a few impossible": (lambda chance, tasks: (chance.random(tasks) < 0.93).astype(float), 0.93),
}
"""What tasks are like -> rates of success of so many tasks, and their true mean."""


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [2, 3, 5, 8, 12, 20, 50])
@pytest.mark.parametrize("kind", list(_RATES))
def test_the_interval_holds_the_truth_as_often_as_it_says(kind: str, tasks: int) -> None:
    """Nominal 95% covers no less (within what 2000 simulated runs tell), also of two tasks and with 1 to 8 trials."""
    chance, inside, runs = np.random.default_rng(tasks), 0, 2000
    rates, truth = _RATES[kind]
    for _ in range(runs):
        trials = chance.integers(1, 9, tasks)
        successes = chance.binomial(trials, rates(chance, tasks))
        low, high = cluster_interval((successes / trials).tolist(), range(tasks), weights=trials.tolist()) or (1.0, 0.0)
        inside += low - 1e-9 <= truth <= high + 1e-9
    assert inside / runs >= 0.945, inside / runs
