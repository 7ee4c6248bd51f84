"""The plan of a training: which sequences a step has, and its learning rate."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.training.recipe import Recipe
from turngap.training.schedule import Schedule

_EPOCHS = st.sampled_from([0.5, 1.0, 2.0, 2.5])


@given(count=st.integers(1, 40), batch=st.integers(1, 9), epochs=_EPOCHS, seed=st.integers(0, 5))
def test_every_epoch_sees_every_sequence_once(count: int, batch: int, epochs: float, seed: int) -> None:
    """The steps, one after the other, are the row of all epochs, each a permutation; nothing is lost between them."""
    plan = Schedule(Recipe(epochs=epochs, batch=batch, seed=seed), count)
    row = list(plan.row())
    assert list(chain.from_iterable(map(plan.batch, range(1, plan.steps + 1)))) == row
    assert len(row) == plan.total == max(1, round(epochs * count))
    for begin in range(0, len(row), count):
        epoch = row[begin : begin + count]
        assert len(set(epoch)) == len(epoch)
    assert plan.epoch(plan.steps) == pytest.approx(plan.total / count)


def test_a_step_can_be_asked_for_on_its_own() -> None:
    """A resumed training sees what it would have seen, whichever step it is asked first."""
    plan, again = Schedule(Recipe(epochs=3, batch=4), 10), Schedule(Recipe(epochs=3, batch=4), 10)
    assert again.batch(6) == plan.batch(6)
    assert [again.batch(step) for step in (1, 2)] == [plan.batch(step) for step in (1, 2)]


def test_the_order_hangs_on_the_seed_and_the_epoch() -> None:
    """Two seeds, and two epochs of one, have different orders."""
    first = list(Schedule(Recipe(epochs=2, batch=1, seed=1), 30).row())
    other = list(Schedule(Recipe(epochs=2, batch=1, seed=2), 30).row())
    assert first != other
    assert first[:30] != first[30:]


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_the_learning_rate_rises_and_falls(schedule: str) -> None:
    """It rises to its height in the warm-up and never leaves (0, height]; no step is without learning."""
    plan = Schedule(Recipe(epochs=1, batch=1, learning_rate=0.1, warmup=0.2, schedule=schedule), 20)
    rates = [plan.rate(step) for step in range(1, plan.steps + 1)]
    assert rates[:4] == pytest.approx([0.025, 0.05, 0.075, 0.1])
    assert all(0 < rate <= 0.1 for rate in rates)
    assert sorted(rates[4:], reverse=True) == rates[4:]
    assert rates[-1] == pytest.approx(0.1) if schedule == "constant" else rates[-1] < 0.02


def test_the_validation_set_is_looked_at_each_epoch_and_last() -> None:
    """Without a number of steps a look follows each epoch's worth of steps, and the end."""
    plan = Schedule(Recipe(epochs=2.5, batch=4), 10)
    assert [step for step in range(1, plan.steps + 1) if plan.looks(step)] == [3, 6, 7]
    often = Schedule(Recipe(epochs=1, batch=1, validate=4), 10)
    assert [step for step in range(1, 11) if often.looks(step)] == [4, 8, 10]
