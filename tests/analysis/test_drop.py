"""Drops of a figure between two runs, against sums written out and a bootstrap written out."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from turngap.analysis.drop import drop
from turngap.analysis.figure import FIGURES, Unit
from turngap.analysis.sample import Sample
from turngap.metrics.paired import paired_difference

_BY_NAME = {measure.name: measure for measure in FIGURES}


def _sample(metric: str, units: list[Unit]) -> Sample:
    return Sample(measure=_BY_NAME[metric], scorer="strict", units=units, errored=0)


def _unit(conversation: str, decision: int, tp: int, predicted: int, reference: int) -> Unit:
    values = {"arg_tp": tp, "arg_pred": predicted, "arg_ref": reference, "arg_f1": 2 * tp / (predicted + reference)}
    return Unit(conversation, decision, "tool", {**values, "exact": float(tp == predicted == reference)})


def _random(seed: int) -> list[Unit]:
    draw = random.Random(seed)
    return [
        _unit(f"c{at}", decision, draw.randint(0, 2), draw.randint(2, 5), draw.randint(2, 5))
        for at in range(40)
        for decision in range(1 + at % 4)
    ]


def test_a_mean_drops_like_a_paired_difference() -> None:
    """Value and interval are those of the comparison with its sign turned, so gate and compare show one number."""
    one, other = _random(1), _random(2)
    found = drop(
        _sample("strict.arg_f1", one), _sample("strict.arg_f1", other), among={f"c{at}" for at in range(40)}, seed=5
    )
    rise = paired_difference(
        [unit.values["arg_f1"] for unit in one],
        [unit.values["arg_f1"] for unit in other],
        [unit.conversation for unit in one],
    )
    assert found.value == pytest.approx(-(rise.value or 0))
    assert rise.ci95 is not None
    assert found.interval == pytest.approx((-rise.ci95[1], -rise.ci95[0]))
    assert found.n == rise.n == len(one)


def test_a_pooled_ratio_drops_by_the_difference_of_the_ratios() -> None:
    """Counts are summed before they are divided, in each run; the interval is that of random weights written out."""
    one, other = _random(1), _random(2)
    names = [f"c{at}" for at in range(40)]
    found = drop(
        _sample("strict.arg_f1.micro", one), _sample("strict.arg_f1.micro", other), among=names, seed=5, level=0.9
    )

    def table(units: list[Unit]) -> np.ndarray:
        rows = {name: [0.0, 0.0] for name in names}
        for unit in units:
            rows[unit.conversation][0] += 2 * unit.values["arg_tp"]
            rows[unit.conversation][1] += unit.values["arg_pred"] + unit.values["arg_ref"]
        return np.array(list(rows.values()))

    before, after = table(one), table(other)
    assert found.value == pytest.approx(
        before[:, 0].sum() / before[:, 1].sum() - after[:, 0].sum() / after[:, 1].sum(), abs=1e-12
    )
    weights = np.random.default_rng(9).dirichlet(np.ones(41), 40_000)
    ends = []
    for share, worth in ((0.05, (0.0, 1.0)), (0.95, (1.0, 0.0))):
        # One conversation more: the worst for one end, the best for the other.
        sums = [
            weights @ np.vstack([side, [value * side[:, 1].mean(), side[:, 1].mean()]])
            for side, value in zip((before, after), worth, strict=True)
        ]
        ends.append(np.quantile(sums[0][:, 0] / sums[0][:, 1] - sums[1][:, 0] / sums[1][:, 1], share))
    assert found.interval == pytest.approx(tuple(ends), abs=0.006)


def test_units_are_paired_by_place_whatever_their_order() -> None:
    """Shuffled units give the same drop; units of one side only, and of other conversations, are left out."""
    one, other = _random(1), _random(2)
    among = {f"c{at}" for at in range(30)}
    straight = drop(_sample("strict.exact", one), _sample("strict.exact", other), among=among, seed=1)
    random.Random(3).shuffle(other)
    extra = _unit("c1", 99, 2, 2, 2)
    shuffled = drop(_sample("strict.exact", one), _sample("strict.exact", [extra, *other]), among=among, seed=1)
    assert shuffled == straight
    assert straight.n == sum(unit.conversation in among for unit in one)


def test_equal_runs_have_the_interval_that_their_number_allows() -> None:
    """No pair differs in 40 conversations: zero, give or take what 40 conversations allow; never certainty."""
    units = _random(1)
    for metric in ("strict.exact", "strict.arg_f1.micro"):
        found = drop(
            _sample(metric, units), _sample(metric, units), among={unit.conversation for unit in units}, seed=0
        )
        bound = stats.binomtest(0, 40).proportion_ci().high
        assert (found.value, found.interval) == (0.0, pytest.approx((-bound, bound), abs=0.005))


def test_a_better_run_never_drops_further() -> None:
    """One success lost among conversations that all held cannot end better than none lost."""
    good = [_unit(f"c{at}", 0, 2, 2, 2) for at in range(40)]
    worse = [_unit("c0", 0, 1, 2, 2), *good[1:]]
    for metric in ("strict.exact", "strict.arg_f1", "strict.arg_f1.micro"):
        none, one = (
            drop(_sample(metric, good), _sample(metric, after), among={unit.conversation for unit in good}, seed=0)
            for after in (good, worse)
        )
        assert none.interval is not None and one.interval is not None
        assert one.interval[0] >= none.interval[0] and one.interval[1] > none.interval[1]


def test_nothing_in_common_is_nothing() -> None:
    """No pair: no value, n 0, no interval; one conversation: an interval that says nothing."""
    units = _random(1)
    none = drop(_sample("strict.exact", units), _sample("strict.exact", units), among=(), seed=0)
    assert (none.value, none.n, none.interval) == (None, 0, None)
    one, other = [_unit("c", 0, 2, 2, 2), _unit("c", 1, 2, 2, 2)], [_unit("c", 0, 1, 2, 2), _unit("c", 1, 2, 2, 2)]
    for metric in ("strict.exact", "strict.arg_f1.micro"):
        single = drop(_sample(metric, one), _sample(metric, other), among={"c"}, seed=0)
        assert single.interval is not None
        assert single.interval[0] < -0.9 and single.interval[1] > 0.9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_higher_level_is_a_wider_interval_around_the_value(seed: int, level: float) -> None:
    """The interval holds the value and lies inside that of a higher level."""
    one, other = (_sample("strict.arg_f1", _random(at)) for at in (seed, seed + 1))
    among = {f"c{at}" for at in range(40)}
    inner = drop(one, other, among=among, seed=0, level=level)
    outer = drop(one, other, among=among, seed=0, level=0.999)
    assert inner.interval is not None
    assert outer.interval is not None
    assert outer.interval[0] <= inner.interval[0] <= (inner.value or 0) <= inner.interval[1] <= outer.interval[1]
