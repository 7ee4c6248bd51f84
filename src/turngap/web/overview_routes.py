"""The first page, ``/?model=&data=&since=&until=&sort=``, and how far runs are, ``/api/runs`` with the same query.

The page is whole without scripts. Its script asks how far running ones are, moves their bars, and takes the tables anew
from the page itself when more has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turngap.report.document import signed
from turngap.web.indexing import Indexes
from turngap.web.overview import GAP, Desk, Query, Work
from turngap.web.pages import Pages, address
from turngap.web.routing import Route, ask
from turngap.web.shelf import Shelf

ADDRESS = "/"
_PATIENCE = 0.2
"""Seconds that the figures of one run may take before the page comes without them."""
_WHOLE = 3600.0
"""The same for a copy, which has one chance."""


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """One run, for whoever watches it."""

    id: str
    mark: str
    """Changes when the page shows something else than progress differently."""
    work: tuple[Work, ...]


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """All runs that the page shows."""

    working: bool
    """Whether anything will change by itself."""
    runs: tuple[Live, ...]


def routes(shelf: Shelf, pages: Pages, indexes: Indexes) -> Sequence[Route]:
    """The page and its data."""
    desk = Desk(shelf, indexes)

    def page(request: Request) -> Response:
        query = ask(request, Query)
        found = desk.overview(query, wait=_PATIENCE if pages.copied is None else _WHOLE)

        def sorting(name: str) -> dict[str, Any]:
            """Where the heading of a column leads, and how it is sorted now; figures begin with the largest."""
            forward = name if name in ("run", "model", "data") else f"-{name}"
            back = name if forward.startswith("-") else f"-{name}"
            fields = {**msgspec.structs.asdict(query), "sort": back if query.sort == forward else forward}
            now = {name: "ascending", f"-{name}": "descending"}.get(query.sort)
            return {"address": address(ADDRESS, **fields), "now": now}

        return pages.html(
            "overview.html.j2",
            title="Runs",
            here=ADDRESS,
            overview=found,
            query=query,
            notes=shelf.notes,
            sorting=sorting,
            points=signed,
            gap=GAP,
        )

    def watched(request: Request) -> Response:
        found = desk.overview(ask(request, Query))
        lines = [line for grid in found.grids for line in grid.lines]
        return pages.json(
            Watched(
                working=found.working,
                runs=tuple(Live(id=line.id, mark=line.mark, work=line.work) for line in lines),
            )
        )

    return [Route(path=ADDRESS, handler=page, copied=()), Route(path="/api/runs", handler=watched)]
