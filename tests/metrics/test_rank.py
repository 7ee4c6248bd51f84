"""Kendall's tau-b against scipy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from turngap.metrics.rank import kendall_tau_b


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9))
def test_tau_b_equals_scipy(pairs: list[tuple[int, int]]) -> None:
    """With and without ties the value is scipy's; where scipy has none, neither have we."""
    first, second = zip(*pairs, strict=True)
    found = kendall_tau_b(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(stats.kendalltau(first, second).statistic)


def test_the_ends_of_the_scale() -> None:
    """The same order is 1, the opposite one -1, and less than two things have none."""
    assert kendall_tau_b([0.1, 0.2, 0.9], [3, 4, 5]) == 1
    assert kendall_tau_b([0.1, 0.2, 0.9], [3, 2, 1]) == -1
    assert kendall_tau_b([0.1], [0.2]) is None
    assert kendall_tau_b([], []) is None
    with pytest.raises(ValueError, match="1 and 2 values"):
        kendall_tau_b([1], [1, 2])
