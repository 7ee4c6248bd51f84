"""A figure without the judge's errors: the sum over strata, Rogan and Gladen's formula, and coverage by simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.metrics.misjudged import Estimate, Stratum, assess, transport


def stratum(approved: bool, units: list[int], good: int, bad: int) -> Stratum:
    """A stratum in short."""
    return Stratum(approved=approved, units=tuple(units), good=good, bad=bad)


COUNTS = st.integers(1, 30)


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.integers(1, 500), st.integers(1, 500))
def test_the_sum_over_strata_is_what_rogan_and_gladen_give(
    tp: int, fp: int, fn: int, tn: int, approved: int, rejected: int
) -> None:
    """With sensitivity and specificity from the same run the formula and the sum are one number."""
    found = assess([stratum(True, [approved], tp, fp), stratum(False, [rejected], fn, tn)], seed=0)
    q = approved / (approved + rejected)
    by_hand = q * tp / (tp + fp) + (1 - q) * fn / (fn + tn)
    assert found.corrected.value == pytest.approx(by_hand)
    sensitivity, specificity = found.sensitivity.value, found.specificity.value
    assert sensitivity == pytest.approx(q * tp / (tp + fp) / by_hand)
    assert specificity == pytest.approx((1 - q) * tn / (fn + tn) / (1 - by_hand))
    if sensitivity is not None and specificity is not None and abs(sensitivity + specificity - 1) > 1e-6:
        assert (q + specificity - 1) / (sensitivity + specificity - 1) == pytest.approx(by_hand, abs=1e-6)


def test_a_small_table_by_hand() -> None:
    """Of 100 units 60 are approved; labels say 8 of 10 and 1 of 10 are good."""
    found = assess([stratum(True, [30, 30], 8, 2), stratum(False, [10, 30], 1, 9)], seed=0)
    assert found.apparent.value == pytest.approx(0.6)
    assert found.corrected.value == pytest.approx(0.48 + 0.04)
    assert found.agreement.value == pytest.approx(0.48 + 0.36)
    assert found.bias.value == pytest.approx(0.6 - 0.52)
    chance = 0.6 * 0.52 + 0.4 * 0.48
    assert found.kappa.value == pytest.approx((0.84 - chance) / (1 - chance))


def test_a_judge_that_is_always_right_is_not_corrected() -> None:
    """Without errors among the labels the corrected figure is the apparent one, and kappa is 1."""
    found = assess([stratum(True, [3, 4, 5], 9, 0), stratum(False, [2, 2, 9], 0, 9)], seed=0)
    assert found.corrected.value == found.apparent.value
    assert found.kappa.value == pytest.approx(1)
    assert found.corrected.ci95 is not None
    assert found.corrected.ci95[0] < found.corrected.ci95[1]


def test_one_verdict_throughout_leaves_kappa_undefined_but_not_the_share() -> None:
    """A judge that approves everything has no specificity to speak of when people do so too."""
    found = assess([stratum(True, [5, 5], 10, 0)], seed=0)
    assert found.corrected.value == 1
    assert found.specificity == Estimate(value=None)
    assert found.kappa == Estimate(value=None)


def test_units_without_labels_are_refused() -> None:
    """Nothing is guessed about a stratum that nobody looked at, nor about no units at all."""
    with pytest.raises(ValueError, match="no label"):
        assess([stratum(True, [5], 3, 0), stratum(False, [5], 0, 0)], seed=0)
    with pytest.raises(ValueError, match="no units"):
        assess([stratum(True, [0], 0, 0)], seed=0)


def test_equal_input_gives_equal_output() -> None:
    """The seed decides the draws."""
    strata = [stratum(True, [3, 4, 5], 7, 3), stratum(False, [2, 2, 9], 2, 8)]
    assert assess(strata, seed=3) == assess(strata, seed=3)
    assert assess(strata, seed=3) != assess(strata, seed=4)


def test_another_run_is_corrected_by_the_formula_and_cut_honestly() -> None:
    """The raw number is kept beside the one within [0, 1]."""
    strata = [stratum(True, [50], 9, 1), stratum(False, [50], 1, 9)]
    inside = transport(strata, [10] * 10, [5] * 10, seed=0)
    assert inside.corrected.value == pytest.approx(0.5)
    outside = transport(strata, [10] * 10, [10] * 10, seed=0)
    assert outside.raw == pytest.approx((1 + 0.9 - 1) / 0.8)
    assert (outside.corrected.value, outside.corrected.ci95) == (None, None)
    below = transport(strata, [10] * 10, [0] * 10, seed=0)
    assert below.raw == pytest.approx((0.9 - 1) / 0.8)
    assert (below.corrected.value, below.corrected.ci95) == (None, None)
    assert below.apparent.value == 0
    useless = transport([stratum(True, [50], 5, 5), stratum(False, [50], 5, 5)], [10], [5], seed=0)
    assert useless.raw is None
    assert useless.corrected.value is None


def _simulated(random: np.random.Generator, good: float, sensitivity: float, specificity: float) -> list[Stratum]:
    """A run of 80 conversations whose decisions resemble each other, and 50 labels drawn from it."""
    truth, said, place = [], [], []
    for conversation in range(80):
        share = random.beta(good * 9, (1 - good) * 9)
        for _ in range(random.integers(1, 12)):
            truth.append(bool(random.random() < share))
            said.append(bool(random.random() < (sensitivity if truth[-1] else 1 - specificity)))
            place.append(conversation)
    return list(_labelled(random, np.array(truth), np.array(said), np.array(place)))


def _labelled(random: np.random.Generator, truth: np.ndarray, said: np.ndarray, place: np.ndarray) -> Iterator[Stratum]:
    for verdict in (True, False):
        members = np.flatnonzero(said == verdict)
        picked = random.choice(members, min(25, len(members)), replace=False)
        good = int(truth[picked].sum())
        units = np.bincount(place[members], minlength=80).tolist()
        yield stratum(verdict, units, good, len(picked) - good)


@pytest.mark.slow
def test_intervals_cover_the_truth_of_clustered_runs() -> None:
    """Nominal 95% intervals of the corrected figure and of both error rates cover 93-98.5% (400 runs, known truth)."""
    random = np.random.default_rng(11)
    truth = {"corrected": 0.4, "sensitivity": 0.7, "specificity": 0.95}
    covered = dict.fromkeys(truth, 0)
    naive = 0
    for seed in range(400):
        found = assess(_simulated(random, 0.4, 0.7, 0.95), seed=seed)
        for name, value in truth.items():
            low, high = getattr(found, name).ci95
            covered[name] += low <= value <= high
        assert found.apparent.ci95 is not None
        naive += found.apparent.ci95[0] <= 0.4 <= found.apparent.ci95[1]
    assert all(0.93 <= count / 400 <= 0.985 for count in covered.values()), covered
    assert naive / 400 < 0.5  # what the judge says itself is something else
