"""Paired comparison against scipy, statsmodels where it is installed, closed forms and simulation."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from turngap.metrics.interval import wilson
from turngap.metrics.paired import (
    Difference,
    conversations_needed,
    difference_of,
    holm,
    mcnemar,
    paired_difference,
    sign_flip,
    spread,
)

_P = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    """The exact test is scipy's two-sided binomial test of the pairs that differ."""
    found = mcnemar(gained, lost)
    theirs = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert found.p == pytest.approx(theirs, rel=1e-9)
    assert (found.gained, found.lost) == (gained, lost)


def test_sta_06_nine_against_one() -> None:
    """STA-06: nine conversations better and one worse give p = 0.021, as do the signs of the conversations."""
    assert mcnemar(9, 1).p == pytest.approx(0.021484375)
    first = [0.0] * 9 + [1.0] + [1.0] * 38
    second = [1.0] * 9 + [0.0] + [1.0] * 38
    assert sign_flip(first, second, range(48), seed=0) == pytest.approx(0.021484375)


def test_impossible_counts_are_refused() -> None:
    """Negative counts and sequences of unequal length are errors."""
    with pytest.raises(ValueError, match="-1 gained"):
        mcnemar(-1, 2)
    with pytest.raises(ValueError, match="2 and 1 values"):
        paired_difference([1, 2], [1], ["a", "b"])
    with pytest.raises(ValueError, match="2 and 1 values"):
        sign_flip([1, 2], [1], ["a", "b"], seed=0)
    with pytest.raises(ValueError, match="1 clusters"):
        spread([1, 0], [1, 0], ["a"])


def test_sta_07_nothing_to_compare() -> None:
    """STA-07: without pairs there is no difference, no interval, no p-value and no number to need; never NaN."""
    assert paired_difference([], [], []) == Difference(value=None, n=0, clusters=0)
    assert sign_flip([], [], [], seed=0) is None
    assert spread([], [], []) is None
    assert spread([1.0], [0.0], ["a"]) is None
    assert conversations_needed(0.1, None) is None
    assert conversations_needed(0.0, 0.2) is None
    assert holm([]) == []


def test_pairs_that_never_differ_are_no_certainty() -> None:
    """Where no pair differs the interval is as wide as so many conversations allow, and holds zero."""
    found = paired_difference([1.0] * 20, [1.0] * 20, range(20))
    exact = stats.binomtest(0, 20).proportion_ci().high
    assert found.value == 0
    assert found.ci95 == pytest.approx((-exact, exact))
    assert not found.clear
    assert sign_flip([1.0] * 20, [1.0] * 20, range(20), seed=0) == 1.0


@settings(deadline=None)
@given(st.integers(0, 25), st.integers(0, 25), st.integers(0, 25))
def test_the_interval_and_mcnemars_exact_test_agree(gained: int, lost: int, same: int) -> None:
    """With one binary pair in each conversation zero is left out exactly where the test's p is below 0.05."""
    first = [0.0] * gained + [1.0] * lost + [1.0] * same
    second = [1.0] * gained + [0.0] * lost + [1.0] * same
    found = paired_difference(first, second, range(len(first)))
    assert found.clear == (mcnemar(gained, lost).p < 0.05)


def test_a_single_conversation_says_nothing() -> None:
    """All pairs in one conversation: the difference is known, how others would differ is not."""
    found = paired_difference([0.0] * 5, [1.0] * 5, ["a"] * 5)
    assert found.value == 1
    assert found.ci95 == pytest.approx((-0.95, 1.0))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_exact_sign_test_is_a_count_of_patterns(units: list[tuple[int, int, int]]) -> None:
    """For binary figures the p-value equals the share of sign patterns, counted one by one."""
    first, second, clusters = zip(*units, strict=True)
    sums: dict[int, int] = {}
    for one, other, cluster in units:
        sums[cluster] = sums.get(cluster, 0) + other - one
    observed = abs(sum(sums.values()))
    totals = [
        abs(sum(sign * total for sign, total in zip(signs, sums.values(), strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(sums))
    ]
    found = sign_flip([float(one) for one in first], [float(other) for other in second], clusters, seed=0)
    assert found == pytest.approx(sum(total >= observed for total in totals) / len(totals))


def test_the_random_sign_test_agrees_with_scipy() -> None:
    """For real values the p-value is that of scipy's paired permutation test of conversation sums."""
    random_numbers = np.random.default_rng(4)
    first, second = random_numbers.random(40), random_numbers.random(40) + 0.2
    found = sign_flip(first.tolist(), second.tolist(), range(40), seed=1)
    theirs = stats.permutation_test(
        (second - first,),
        lambda values, axis=-1: values.sum(axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(5),
    ).pvalue
    assert found == pytest.approx(theirs, abs=0.01)
    assert found < 0.2


@given(_P)
def test_holm_by_its_definition(values: list[float]) -> None:
    """An adjusted value is the largest of (tests left) x p over all p-values up to it, at most 1."""
    ordered = sorted(values)
    adjusted = holm(values)
    for value, found in zip(values, adjusted, strict=True):
        upto = [min(1.0, (len(values) - rank) * p) for rank, p in enumerate(ordered) if p <= value]
        # Equal p-values share the largest of their products only through the step before: compare with the first.
        assert found <= max(upto) + 1e-12
        assert found >= value or found == 1.0
    assert sorted(adjusted) == [adjusted[at] for at in sorted(range(len(values)), key=lambda at: values[at])]


def test_holm_by_hand() -> None:
    """Four p-values, adjusted by hand; the order of the input is kept."""
    assert holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]


@settings(deadline=None)
@given(_P)
def test_holm_equals_statsmodels(values: list[float]) -> None:
    """Where statsmodels is installed, its Holm correction gives the same."""
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is an oracle, not a dependency")
    assert holm(values) == pytest.approx(multitest.multipletests(values, method="holm")[1].tolist())


def _clustered(
    chance: np.random.Generator, effect: float, conversations: int
) -> tuple[list[float], list[float], list[int]]:
    """Decisions of two models in conversations that differ in size, difficulty and in how much the second gains."""
    first, second, clusters = [], [], []
    for cluster in range(conversations):
        difficulty = chance.beta(4, 2)
        gain = effect + chance.normal(0, 0.08)
        for _ in range(chance.integers(1, 10)):
            first.append(float(chance.random() < difficulty * 0.7))
            second.append(float(chance.random() < np.clip(difficulty * 0.7 + gain, 0, 1)))
            clusters.append(cluster)
    return first, second, clusters


@pytest.mark.slow
@pytest.mark.parametrize("conversations", [4, 15, 80])
def test_the_interval_covers_the_truth_in_95_of_100_at_least(conversations: int) -> None:
    """On clustered decisions with known truth the nominal 95% interval covers no less, and is not much too wide."""
    chance = np.random.default_rng(5)
    effect, covered, rounds = 0.12, 0, 1000
    for _ in range(rounds):
        found = paired_difference(*_clustered(chance, effect, conversations))
        assert found.ci95 is not None
        covered += found.ci95[0] <= effect <= found.ci95[1]
    assert covered / rounds >= 0.95, covered / rounds
    if conversations == 80:
        assert covered / rounds <= 0.99, covered / rounds


@pytest.mark.slow
def test_the_sign_test_keeps_its_level_where_mcnemar_does_not() -> None:
    """Without a difference, in decisions that move together, 5% stays 5%; McNemar over decisions finds too much."""
    chance = np.random.default_rng(3)
    rounds, found, naive = 600, 0, 0
    for seed in range(rounds):
        first, second, clusters = [], [], []
        for cluster in range(40):
            ahead = chance.random() < 0.5
            for _ in range(8):
                moved = chance.random() < 0.4
                first.append(float(moved and not ahead))
                second.append(float(moved and ahead))
                clusters.append(cluster)
        p = sign_flip(first, second, clusters, seed=seed)
        assert p is not None
        found += p < 0.05
        naive += (
            mcnemar(
                sum(other > one for one, other in zip(first, second, strict=True)),
                sum(one > other for one, other in zip(first, second, strict=True)),
            ).p
            < 0.05
        )
    assert found / rounds < 0.08
    assert naive / rounds > 0.2


def test_conversations_needed_is_connors_formula_for_binary_pairs() -> None:
    """With one binary unit each, the number is that of Connor's formula from the share of discordant pairs."""
    first = [0.0] * 18 + [1.0] * 6 + [1.0] * 76
    second = [1.0] * 18 + [0.0] * 6 + [1.0] * 76
    variance = spread(first, second, range(100))
    discordant, difference = 0.24, 0.12
    assert variance == pytest.approx(discordant - difference**2)
    z_level, z_power = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
    connor = (z_level * math.sqrt(discordant) + z_power * math.sqrt(discordant - difference**2)) ** 2 / difference**2
    assert conversations_needed(difference, variance) == math.ceil(connor)
    assert conversations_needed(-difference, variance) == math.ceil(connor)


def test_more_power_and_smaller_differences_need_more() -> None:
    """The number grows with power and spread and falls with the difference."""
    needed = conversations_needed(0.05, 0.2)
    assert needed is not None
    for other in (
        conversations_needed(0.05, 0.2, power=0.9),
        conversations_needed(0.05, 0.3),
        conversations_needed(0.04, 0.2),
    ):
        assert other is not None
        assert other > needed


@pytest.mark.slow
def test_the_number_needed_gives_the_promised_power() -> None:
    """With as many conversations as it says, the sign test finds a difference about as often as promised."""
    chance = np.random.default_rng(7)
    pilot = _clustered(chance, 0.1, 3000)
    needed = conversations_needed(0.1, spread(*pilot), power=0.8)
    assert needed is not None
    found, rounds = 0, 500
    for seed in range(rounds):
        p = sign_flip(*_clustered(chance, 0.1, needed), seed=seed)
        assert p is not None
        found += p < 0.05
    # Three standard errors of a share of 0.8 in 500 are 0.054; clipping at 0 and 1 takes a little off the effect.
    assert 0.73 <= found / rounds <= 0.86, (needed, found / rounds)


def test_the_difference_of_two_estimates_is_newcombes() -> None:
    """From two Wilson intervals comes Newcombe's hybrid interval, as in his paper's example of 56/70 and 48/80."""
    found = difference_of((48 / 80, wilson(48, 80) or (0, 1)), (56 / 70, wilson(56, 70) or (0, 1)))
    assert found[0] == pytest.approx(0.2)
    assert found[1] == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_the_difference_of_two_certainties_knows_its_limits() -> None:
    """0 of 77 against a sure prediction of 0 is not sure to be equal."""
    value, (low, high) = difference_of((0.0, (0.0, 0.0)), (0.0, wilson(0, 77) or (0, 1)))
    assert (value, low) == (0, 0)
    assert high == pytest.approx(0.0475, abs=1e-4)


def test_order_and_names_do_not_matter() -> None:
    """Shuffled pairs under other names of conversations give the same numbers."""
    chance = random.Random(1)
    units = [(chance.random(), chance.random(), chance.randint(0, 9)) for _ in range(60)]
    results = []
    for name in ("a", "z"):
        chance.shuffle(units)
        first, second, clusters = zip(*units, strict=True)
        named = [f"{name}{9 - cluster}" for cluster in clusters]
        results.append((paired_difference(first, second, named), sign_flip(first, second, named, seed=2)))
    assert results[0] == results[1]
