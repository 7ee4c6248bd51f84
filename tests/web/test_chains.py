"""Chains of decisions beside measured curves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.analysis.chain import chain, completion
from turngap.analysis.propagation import propagation
from turngap.runs.store import RunStore
from turngap.web.chains import LONGEST, Measured, chains, left, measure
from turngap.web.opened import Opened
from turngap.web.shelf import Shelf


def _measured(shelf: Shelf, *ids: str) -> list[Measured]:
    found = []
    for one in ids:
        run = shelf.get(one)
        with run.store() as store:
            found.append(measure(Opened(id=run.id, label=run.label, store=store)))
    return found


@given(st.floats(0, 1), st.integers(1, LONGEST))
def test_a_chain_is_a_power(rate: float, length: int) -> None:
    """So many decisions of one rate leave rate^length."""
    assert left(rate, length) == pytest.approx(rate**length)


def test_curves_are_those_of_the_analysis(shelf: Shelf) -> None:
    """The measured curve is the survival of `turngap gap`, point by point."""
    found = chains(_measured(shelf, "r1", "r2"))
    assert found.kind == "survival"
    with RunStore.open(shelf.get("r1").path) as store:
        rows = [row for row in propagation(store, seed=store.settings.seed).depths if row.survival.n]
        assert found.mixes[0].chain == chain(store, seed=store.settings.seed)
    points = found.curves[0].points
    assert [(one.at, one.measured, one.expected) for one in points] == [
        (row.depth, row.survival, row.expected) for row in rows
    ]


def test_what_is_asked_for_is_computed(shelf: Shelf) -> None:
    """The rate and length that were asked for give the power, and the completion of each run's own mix."""
    found = chains(_measured(shelf, "r1"), rate=0.9, length=12)
    assert found.finished == pytest.approx(0.9**12)
    (mix,) = found.mixes
    assert mix.finished == completion(0.9, 0.9, mix.lengths)
    assert all(one.n_text == 0 for one in mix.lengths), "the survival curve counts tool decisions alone"
    assert [row[0] for row in found.table] == list(range(1, found.most + 1))
    assert found.most >= 12


def test_out_of_range_is_brought_in(shelf: Shelf) -> None:
    """A rate above 1 is 1, and no chain is shorter than one decision or longer than the page shows."""
    found = chains(_measured(shelf, "r1"), rate=3.0, length=10**9, kind="nonsense")
    assert (found.rate, found.length, found.kind) == (1.0, LONGEST, "survival")
    assert chains(_measured(shelf, "r1"), rate=-1.0, length=-5).length == 1


def test_without_a_wish_the_first_run_is_asked(shelf: Shelf) -> None:
    """The rate is what the first run measured for one decision, in tenths of percent."""
    found = chains(_measured(shelf, "r1"))
    first = found.curves[0].points[0].measured.value
    assert first is not None
    assert found.rate == round(first, 3)
    assert found.length >= 1


def test_trials_are_a_chain_too(shelf: Shelf) -> None:
    """For live trials the curve is pass^k, beside pass^1 to the k."""
    found = chains(_measured(shelf, "r3"))
    assert found.kind == "trials"
    assert [point.at for point in found.curves[0].points] == [1, 2, 3]
    single = found.curves[0].points[0].measured.value
    assert single is not None
    assert found.curves[0].points[2].expected == pytest.approx(single**3)
    assert found.mixes == ()


def test_nothing_loaded_is_still_arithmetic() -> None:
    """Without any run the chain that was asked for is computed."""
    found = chains([], rate=0.5, length=2)
    assert (found.finished, found.curves, found.mixes) == (0.25, (), ())
