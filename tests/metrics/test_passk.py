"""pass^k: the estimator and its range."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.metrics.passk import PassHat, mean_pass_hat_k, pass_hat_k, succeeded


@pytest.mark.parametrize(
    ("k", "value", "n_tasks"), [(1, (0.75 + 1 + 0) / 3, 3), (2, 0.75, 2), (3, 0.25, 1), (4, 0.0, 1), (5, None, 0)]
)
def test_sta_01_tasks_with_fewer_than_k_trials_are_left_out(k: int, value: float | None, n_tasks: int) -> None:
    """STA-01: A 3 of 4, B 2 of 2, C 0 of 1: only tasks with k trials count, and how many is said."""
    found = mean_pass_hat_k([(4, 3), (2, 2), (1, 0)], k)
    assert found == PassHat(value=pytest.approx(value) if value else value, n_tasks=n_tasks, left_out=3 - n_tasks)


@given(st.integers(1, 7), st.data())
def test_the_estimator_is_the_share_of_all_picks(n: int, data: st.DataObject) -> None:
    """The value is the share of ways to pick k trials that holds only successes."""
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    picks = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(all(pick) for pick in picks) / len(picks))


def test_impossible_counts_are_refused() -> None:
    """A k below 1 and more successes than trials are errors; too few trials are no value."""
    for n, c, k in ((4, 5, 1), (4, -1, 1), (4, 2, 0)):
        with pytest.raises(ValueError, match="successes"):
            pass_hat_k(n, c, k)
    assert pass_hat_k(2, 2, 3) is None


def test_sta_04_only_a_reward_of_1_is_a_success() -> None:
    """STA-04: of 0.5, 0.5, 1.0 and 0.9999999 two are successes."""
    assert [succeeded(reward) for reward in (0.5, 0.5, 1.0, 0.9999999)] == [False, False, True, True]
