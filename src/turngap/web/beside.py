"""What comes before and after a conversation or trial: the seam between a page on one and the list it was opened from.

`DataOrder` needs no index: it goes by the order of the data, whatever the list was filtered by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from turngap.runs.store import RunStore
from turngap.web.shelf import Run

Unit = tuple[str, int | None]
"""Id of a conversation, or of a task with the number of a trial."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a unit stands."""

    number: int = 0
    """1-based; 0 where the list does not have it."""
    total: int = 0
    before: Unit | None = None
    after: Unit | None = None


class Order(Protocol):
    """Knows the order of a list."""

    def place(self, run: Run, store: RunStore, fields: Sequence[tuple[str, str]], unit: Unit) -> Place:
        """Where a unit stands in a list.

        Args:
            run: the run.
            store: the same, open.
            fields: of the list's address.
            unit: the unit.
        """
        ...


class DataOrder:
    """The order in which conversations, or tasks and their trials, were first read."""

    def place(self, run: Run, store: RunStore, fields: Sequence[tuple[str, str]], unit: Unit) -> Place:
        """Where a unit stands among all of the run; `fields` make no difference."""
        del fields
        units = _conversations(store) if run.kind == "eval" else _trials(store)
        if unit not in units:
            return Place(total=len(units))
        at = units.index(unit)
        return Place(
            number=at + 1,
            total=len(units),
            before=units[at - 1] if at else None,
            after=units[at + 1] if at + 1 < len(units) else None,
        )


def _conversations(store: RunStore) -> list[Unit]:
    return [(name, None) for name in store.conversation_ids()]


def _trials(store: RunStore) -> list[Unit]:
    measured = sorted({*store.trials.measured(), *store.trials.failures()}, key=lambda unit: unit[1])
    places = {name: at for at, name in enumerate(store.trials.task_ids())}
    return [*sorted(measured, key=lambda unit: places.get(unit[0], len(places)))]
