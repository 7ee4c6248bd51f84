"""Kappa against numbers worked by hand, and at its edges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.metrics.agreement import cohen_kappa, fleiss_kappa


def test_cohen_worked_by_hand() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, by chance 0.5, kappa 0.4."""
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    agreement = cohen_kappa(first, second)
    assert agreement.kappa == pytest.approx(0.4)
    assert agreement.observed == pytest.approx(0.7)
    assert agreement.n == 50
    # The large-sample standard error sqrt(po (1 - po) / (n (1 - pe)^2)) is 0.13.
    assert agreement.ci95 == pytest.approx((0.4 - 1.96 * 0.13, 0.4 + 1.96 * 0.13), abs=0.04)


def test_fleiss_worked_by_hand() -> None:
    """Three judges, items yyy, yyn, ynn, nnn: observed 2/3, by chance 1/2, kappa 1/3."""
    agreement = fleiss_kappa(["yyy", "nyy", "ynn", "nnn"])
    assert agreement.observed == pytest.approx(2 / 3)
    assert agreement.kappa == pytest.approx(1 / 3)
    assert agreement.ci95 is not None
    assert agreement.ci95[0] < 1 / 3 < agreement.ci95[1] <= 1


def test_extremes() -> None:
    """Full agreement is 1, full disagreement of two balanced judges -1, independence 0."""
    assert cohen_kappa("abcabc", "abcabc").kappa == pytest.approx(1)
    assert cohen_kappa("abab", "baba").kappa == pytest.approx(-1)
    assert cohen_kappa("aabb", "abab").kappa == pytest.approx(0)
    assert fleiss_kappa(["aa", "bb"] * 5).kappa == pytest.approx(1)


def test_sta_07_kappa_is_none_where_it_means_nothing() -> None:
    """STA-07: no items, or one label throughout, has no kappa; never NaN and no warning."""
    empty, same = cohen_kappa([], []), cohen_kappa("aaa", "aaa")
    assert (empty.kappa, empty.n, empty.observed, empty.ci95) == (None, 0, None, None)
    assert (same.kappa, same.n, same.observed, same.ci95) == (None, 3, 1.0, None)
    assert fleiss_kappa([]).kappa is None
    assert fleiss_kappa(["aa", "aa"]).kappa is None


def test_unequal_shapes_are_refused() -> None:
    """Judges must have labelled the same items."""
    with pytest.raises(ValueError, match="2 and 1 items"):
        cohen_kappa("ab", "a")
    for items in (["ab", "a"], ["a", "b"]):
        with pytest.raises(ValueError, match="at least two"):
            fleiss_kappa(items)


PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12)


@settings(deadline=None)
@given(PAIRS)
def test_cohen_is_symmetric_and_bounded(pairs: list[tuple[str, str]]) -> None:
    """Exchanging the judges changes nothing; kappa lies in [-1, 1]; the same seed gives the same interval."""
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    left, right = cohen_kappa(first, second), cohen_kappa(second, first)
    assert left.kappa == pytest.approx(right.kappa)
    assert left == cohen_kappa(first, second)
    if left.kappa is not None:
        assert -1 - 1e-12 <= left.kappa <= 1 + 1e-12
