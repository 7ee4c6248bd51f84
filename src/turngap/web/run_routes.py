"""Everything about runs: the overview, the list of each, and the pages on what a list holds, which share its order."""

from __future__ import annotations

import os
from collections.abc import Sequence

from turngap.runs.store import RunStore
from turngap.web import conversation_routes, list_routes, overview_routes
from turngap.web.beside import Place, Unit
from turngap.web.indexing import Indexes, folder
from turngap.web.listing import Listing
from turngap.web.pages import Pages
from turngap.web.query import read
from turngap.web.routing import Route
from turngap.web.shelf import Run, Shelf


def routes(shelf: Shelf, pages: Pages) -> Sequence[Route]:
    """All of them, on one set of indexes."""
    indexes = Indexes(folder(os.environ))
    return [
        *overview_routes.routes(shelf, pages, indexes),
        *list_routes.routes(shelf, pages, indexes),
        *conversation_routes.routes(shelf, pages, ListOrder(indexes)),
    ]


class ListOrder:
    """The order of the list that a page was opened from: filtered, searched and sorted as its address says."""

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes

    def place(self, run: Run, store: RunStore, fields: Sequence[tuple[str, str]], unit: Unit) -> Place:
        """See `turngap.web.beside.Order`."""
        del store  # the index knows
        indexer = self._indexes.of(run)
        indexer.wait(list_routes.PATIENCE)
        found = Listing(indexer.index, read(fields)).beside(*unit)
        return Place(number=found.place + 1, total=found.total, before=found.before, after=found.after)
