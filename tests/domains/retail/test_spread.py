"""Whole numbers with a given range, mean and standard deviation."""

from __future__ import annotations

import random
import statistics

import pytest

from turngap.domains.retail.spread import Spread
from turngap.errors import UsageError


@pytest.mark.parametrize("figures", [(5, 20, 11, 4), (5, 20, 6, 1), (1, 30, 4, 5), (5, 20, 11, 6), (1, 5, 3, 0.5)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_draw_has_the_figures(figures: tuple[int, int, float, float], seed: int) -> None:
    """190 numbers lie in the range and have about the mean and the deviation that were asked for, whatever the seed."""
    low, high, mean, sd = figures
    numbers = Spread(low, high, mean, sd).draw(190, random.Random(seed))
    assert min(numbers) >= low
    assert max(numbers) <= high
    assert statistics.mean(numbers) == pytest.approx(mean, abs=0.15)
    assert statistics.pstdev(numbers) == pytest.approx(sd, abs=0.15)


def test_one_value() -> None:
    """A range of one number needs no distribution."""
    assert Spread(3, 3, 3, 0).draw(4, random.Random(1)) == [3, 3, 3, 3]


@pytest.mark.parametrize(
    "figures",
    [(5, 20, 11, 9), (5, 20, 5, 1), (5, 20, 25, 2), (5, 20, 11, 0), (3, 3, 4, 0), (2, 3, 2.5, 0.49), (9, 5, 7, 1)],
)
def test_impossible_figures(figures: tuple[int, int, float, float]) -> None:
    """Figures that no numbers have are refused in words."""
    with pytest.raises(UsageError, match="no whole numbers from"):
        Spread(*figures).draw(10, random.Random(1))
