"""Rounding for readers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.metrics.rounding import decimals, signed


@pytest.mark.parametrize(
    ("value", "shown"),
    [(100 * 51 / 80, "63.8"), (100 * 67 / 80, "83.8"), (2.25, "2.3"), (-2.25, "-2.3"), (-0.04, "0.0"), (-0.0, "0.0")],
)
def test_halves_go_away_from_zero(value: float, shown: str) -> None:
    """Whether or not the float hits the half, and never minus zero."""
    assert decimals(value) == shown


@given(st.integers(1, 2000), st.data())
def test_every_share_is_rounded_as_by_hand(n: int, data: st.DataObject) -> None:
    """A share of n units, in percent, equals what exact arithmetic gives."""
    count = data.draw(st.integers(0, n))
    exact = Fraction(1000 * count, n)
    by_hand = Decimal(int(exact + Fraction(1, 2))) / 10
    assert decimals(100 * (count / n)) == f"{by_hand:.1f}"


def test_large_and_tiny_numbers_keep_their_places() -> None:
    """No exponent is ever shown."""
    assert (decimals(123456789.25, 1), decimals(1e-30, 2), decimals(5e15, 0)) == (
        "123456789.3",
        "0.00",
        "5000000000000000",
    )


def test_signs() -> None:
    """A difference has its sign, none has a plus."""
    assert [signed(value) for value in (1.25, -1.25, -0.01, 0.0)] == ["+1.3", "-1.3", "+0.0", "+0.0"]
