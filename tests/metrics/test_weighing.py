"""Means under random weights: against closed forms and against weights that are really drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from turngap.metrics.weighing import MOST, low_end


@settings(deadline=None)
@given(st.integers(1, 5000), st.data(), st.sampled_from([MOST, 0.1, 0.025, 0.0005]))
def test_zeros_and_ones_have_a_beta_distribution(ones: int, data: st.DataObject, chance: float) -> None:
    """The share of weight that falls on the ones is Beta distributed, from two units to thousands."""
    zeros = data.draw(st.integers(1, 5000))
    found = low_end(np.array([1.0, 0.0]), np.ones(2), np.array([ones, zeros], dtype=float), chance)
    assert found == pytest.approx(stats.beta.ppf(chance, ones, zeros), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_where_drawn_weights_put_it(seed: int) -> None:
    """Values and masses of every kind: 400,000 draws of weights have the same quantile, within what they vary."""
    chance = np.random.default_rng(seed)
    units = int(chance.choice([2, 3, 7, 30]))
    values, masses = chance.random(units), chance.choice([1.0, 2.0, 9.0, 100.0], units)
    drawn = chance.exponential(size=(400_000, units))
    means = (drawn @ (values * masses)) / (drawn @ masses)
    found = low_end(values, masses, np.ones(units), 0.025)
    assert 0.024 < (means <= found).mean() < 0.026


def test_groups_are_repeated_units() -> None:
    """Three equal units in one group are three groups of one."""
    values, masses = np.array([0.2, 0.7, 0.9]), np.array([2.0, 1.0, 4.0])
    grouped = low_end(values, masses, np.array([3.0, 1.0, 2.0]), 0.1)
    apart = low_end(np.repeat(values, [3, 1, 2]), np.repeat(masses, [3, 1, 2]), np.ones(6), 0.1)
    assert grouped == pytest.approx(apart, abs=1e-10)


def test_equal_values_are_their_own_end() -> None:
    """Nothing varies where all values are equal."""
    assert low_end(np.array([0.3, 0.3]), np.array([1.0, 5.0]), np.ones(2), 0.025) == 0.3


def test_an_end_is_the_same_wherever_the_scale_begins() -> None:
    """Shifted and stretched values have a shifted and stretched end."""
    values = np.array([0.1, 0.4, 0.4, 1.0])
    end = low_end(values, np.ones(4), np.ones(4), 0.025)
    assert low_end(200 * values - 100, np.ones(4), np.ones(4), 0.025) == pytest.approx(200 * end - 100, abs=1e-8)
