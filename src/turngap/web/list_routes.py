"""The list of a run, ``/r/{run}`` with a query (`turngap.web.query`), and windows of it, ``/api/r/{run}/units``.

The data take the same query, and ``from`` and ``count`` for a window; with ``facets=1`` the counts behind every choice
come too. Without scripts the page is a form, and its rows come a hundred at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turngap.web.columns import RESULTS
from turngap.web.harvest import Progress
from turngap.web.index import BEGIN_MARK, END_MARK, Shown
from turngap.web.indexing import Indexer, Indexes
from turngap.web.listing import Facet, Listing, Window
from turngap.web.pages import Pages
from turngap.web.query import Query, read
from turngap.web.routing import Route, ask
from turngap.web.shelf import Run, Shelf

PATIENCE = 0.5
"""Seconds that a page waits for the first rows of an index that is just begun."""
_PAGE = 100  # rows that come with the page, and of one step without scripts
_WHOLE = 3600.0  # seconds that a copy waits for an index; it has one chance
SORTS = {
    "": "order of the data",
    "id": "id",
    "-length": "longest first",
    "length": "shortest first",
    "first_error": "earliest error first",
    "-steps": "most steps first",
    "-tokens": "most tokens first",
    "-seconds": "slowest first",
}
"""The orders that the page offers; an address can name others."""
LETTERS = {letter: name for name, letter in RESULTS.items()}
SIGNS = {"none": "·", "passed": "✓", "failed": "✗", "errored": "!", "user": "∅"}
WORDS = {
    "none": "no result",
    "passed": "passed",
    "failed": "failed",
    "errored": "errored",
    "user": "spoiled by the user",
}


class Wanted(msgspec.Struct, frozen=True, kw_only=True, rename={"start": "from"}):
    """What of the list data are asked for."""

    start: int = 0
    count: int = _PAGE
    facets: bool = False


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """A window as data."""

    window: Window
    facets: tuple[Facet, ...]
    progress: Progress
    working: bool
    """Whether more will come by itself."""


def routes(shelf: Shelf, pages: Pages, indexes: Indexes) -> Sequence[Route]:
    """The page and its data."""
    shown = _Shown(shelf, pages, indexes)
    return [
        Route(path="/r/{run}", handler=shown.page, copied=()),
        Route(path="/api/r/{run}/units", handler=shown.units),
    ]


class _Shown:
    """Answers requests."""

    def __init__(self, shelf: Shelf, pages: Pages, indexes: Indexes) -> None:
        self._shelf, self._pages, self._indexes = shelf, pages, indexes

    def page(self, request: Request) -> Response:
        """The page with its first rows."""
        run, indexer, listing = self._asked(request)
        query = listing.query
        with run.store() as store:
            model, state = store.settings.model.spec, store.state()
        copied = self._pages.copied
        window = listing.window(query.at, _PAGE if copied is None else max(copied, 1))
        return self._pages.html(
            "list.html.j2",
            title=run.label,
            kicker=model,
            run=run,
            noun="conversation" if run.kind == "eval" else "trial",
            query=query,
            window=window,
            facets=listing.facets(),
            protocols=indexer.index.protocols,
            progress=indexer.progress,
            sorts=SORTS if query.sort in SORTS else {**SORTS, query.sort: query.sort},
            row_address=lambda row: _row_address(run, query, row),
            at_address=lambda at: _at_address(run, query, at),
            passage=_passage,
            page_size=_PAGE,
            working=state == "started" or not indexer.progress.complete,
            letters=LETTERS,
            signs=SIGNS,
            words=WORDS,
        )

    def units(self, request: Request) -> Response:
        """A window."""
        wanted = ask(request, Wanted)
        run, indexer, listing = self._asked(request)
        return self._pages.json(
            Units(
                window=listing.window(wanted.start, wanted.count),
                facets=listing.facets() if wanted.facets else (),
                progress=indexer.progress,
                working=_working(run, indexer),
            )
        )

    def _asked(self, request: Request) -> tuple[Run, Indexer, Listing]:
        run = self._shelf.get(request.path_params["run"])
        query = read(request.query_params.multi_items())
        indexer = self._indexes.of(run)
        if self._pages.copied is None:
            indexer.wait(PATIENCE)
        else:
            indexer.finish(_WHOLE)
        return run, indexer, Listing(indexer.index, query)


def _working(run: Run, indexer: Indexer) -> bool:
    if not indexer.progress.complete:
        return True
    with run.store() as store:
        return store.state() == "started"


def _row_address(run: Run, query: Query, row: Shown) -> str:
    """The page of a unit, which knows the list that it was opened from."""
    own = [("id", row.item)] + ([] if row.trial is None else [("trial", str(row.trial))])
    fields = [(name, value) for name, value in query.pairs() if name != "at"]
    return f"/r/{run.id}/c?{urlencode([*own, *fields])}"


def _at_address(run: Run, query: Query, at: int) -> str:
    text = msgspec.structs.replace(query, at=at).address()
    return f"/r/{run.id}?{text}" if text else f"/r/{run.id}"


def _passage(text: str) -> list[tuple[str, bool]]:
    """A found passage in pieces: (text, whether it is what was looked for)."""
    pieces: list[tuple[str, Any]] = []
    for at, part in enumerate(text.split(BEGIN_MARK)):
        hit, mark, rest = part.partition(END_MARK)
        if at and mark:
            pieces += [(hit, True), (rest, False)]
        else:
            pieces.append((part, False))
    return [piece for piece in pieces if piece[0]]
