"""What comes before and after a unit, in the order of the data."""

from __future__ import annotations

import pytest

from turngap.web.beside import DataOrder, Place, Unit
from turngap.web.shelf import Shelf


@pytest.mark.parametrize(
    ("run_id", "unit", "place"),
    [
        ("r1", ("retail-0001", None), Place(number=1, total=48, after=("retail-0002", None))),
        ("r1", ("nobody", None), Place(total=48)),
        ("r3", ("move-1", 2), Place(number=3, total=9, before=("move-1", 1), after=("move-2", 0))),
        ("r3", ("move-3", 2), Place(number=9, total=9, before=("move-3", 1))),
    ],
)
def test_the_order_of_the_data(shelf: Shelf, run_id: str, unit: Unit, place: Place) -> None:
    """Conversations as they were read, trials task by task; ends have no further neighbour."""
    run = shelf.get(run_id)
    with run.store() as store:
        assert DataOrder().place(run, store, [("q", "whatever")], unit) == place
