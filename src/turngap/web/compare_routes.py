"""The address of the compare page: ``/compare?a=r1&b=r2&by=&change=&q=&sort=&at=&id=&force=``.

Runs `a` (the baseline) and `b`; the figure that the list goes by; a filter by change and by text in ids; the page of
the list; and the conversation that is shown side by side. Without scripts all of it works, by links and one form.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turngap.report.compare_table import probability
from turngap.web import plot
from turngap.web.changes import SIGNS, TITLES, Change, Changes, Refused, changes, select
from turngap.web.kept import Kept
from turngap.web.opened import Opened
from turngap.web.pages import Pages, address
from turngap.web.pair import Pair, pair
from turngap.web.routing import Route, ask
from turngap.web.shelf import Run, Shelf, Unknown
from turngap.web.signed import from_to, points

ADDRESS = "/compare"
PAGE = 100
"""Conversations of one page of the list."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """All that the address says."""

    a: str = ""
    b: str = ""
    by: str = ""
    change: str = ""
    """One of `Change`, or ``changed``; empty: all."""
    q: str = ""
    sort: str = ""
    at: int = 0
    """Rows before the page that is shown."""
    id: str = ""
    """Conversation that is shown side by side."""
    force: bool = False


def routes(shelf: Shelf, pages: Pages) -> Sequence[Route]:
    """The one page."""
    kept = Kept(4)  # each holds a row for every conversation

    def compare(request: Request) -> Response:
        query = ask(request, Query)
        first, second = _pair(shelf, query)
        query = msgspec.structs.replace(query, a=first.id if first else "", b=second.id if second else "")
        shown: dict[str, Any] = {"shelf": shelf, "query": query, "first": first, "second": second}
        shown["link"] = lambda **changed: _link(query, changed)
        if first is None or second is None:
            problem = "There is one run here; name two to see what changed between them (turngap view RUN RUN)."
            return _page(pages, shown, problem=problem)
        with ExitStack() as closing:
            found = _changes(kept, closing, first, second, force=query.force)
            if isinstance(found, Refused):
                return _page(pages, shown, problem=f"{found.reason}.", forcible=found.forcible)
            return _page(pages, shown, found=found, both=_both(closing, found, first, second, query.id))

    return [Route(path=ADDRESS, handler=compare, copied=("a", "b", "by", "change"))]


def _page(
    pages: Pages,
    shown: dict[str, Any],
    *,
    problem: str = "",
    forcible: bool = False,
    found: Changes | None = None,
    both: Pair | None = None,
) -> Response:
    query: Query = shown["query"]
    more: dict[str, Any] = {}
    if found is not None:
        selection = select(
            found, by=query.by, change=query.change, text=query.q, sort=query.sort, first=query.at, most=PAGE
        )
        ids = [row.id for row in selection.rows]
        place = ids.index(query.id) if query.id in ids else None
        more = {
            "column": found.at(query.by),
            "selection": selection,
            "before": ids[place - 1] if place else "",
            "after": "" if place is None else next(iter(ids[place + 1 :]), ""),
            "bars": [plot.shares([count for _, count in one.counts]) for one in found.columns],
        }
    return pages.html(
        "compare.html.j2",
        title="Compare",
        here=ADDRESS,
        problem=problem,
        forcible=forcible,
        found=found,
        both=both,
        titles=TITLES,
        signs=SIGNS,
        most=PAGE,
        points=points,
        from_to=from_to,
        probability=probability,
        Change=Change,
        **shown,
        **more,
    )


def _pair(shelf: Shelf, query: Query) -> tuple[Run | None, Run | None]:
    """The two runs that are named; where one is not, the first others of the same kind."""
    if not query.a and not query.b:
        alike = next(((a, b) for a, b in combinations(shelf.runs, 2) if a.kind == b.kind), None)
        if alike is not None:
            return alike
    first = shelf.get(query.a) if query.a else None
    second = shelf.get(query.b) if query.b else None
    if first is None:
        first = next((run for run in shelf.runs if run != second and (second is None or run.kind == second.kind)), None)
    if second is None:
        others = [run for run in shelf.runs if run != first]
        second = next((run for run in others if first and run.kind == first.kind), next(iter(others), None))
    return first, second


def _changes(kept: Kept, closing: ExitStack, first: Run, second: Run, *, force: bool) -> Changes | Refused:
    def read() -> Changes | Refused:
        opened = [
            Opened(id=run.id, label=run.label, store=closing.enter_context(run.store())) for run in (first, second)
        ]
        return changes(opened[0], opened[1], force=force)

    return kept.get((first.id, first.stamp(), second.id, second.stamp(), force), read)


def _both(closing: ExitStack, found: Changes, first: Run, second: Run, name: str) -> Pair | None:
    """A conversation in both runs.

    Raises:
        Unknown: they do not share one of that id.
    """
    if not name:
        return None
    if all(row.id != name for row in found.rows):
        raise Unknown(f"the two runs share no {found.unit} of that id")
    one, other = (closing.enter_context(run.store()) for run in (first, second))
    return pair(one, other, name, live=first.kind == "rollout")


def _link(query: Query, changed: dict[str, Any]) -> str:
    """This page's address with some fields changed; a change of the list shows its first page."""
    anchor = changed.pop("anchor", "")
    if changed.keys() & {"by", "change", "q", "sort"} and "at" not in changed:
        changed["at"] = 0
    fields = {
        name: ("true" if value is True else value)
        for name, value in msgspec.structs.asdict(msgspec.structs.replace(query, **changed)).items()
        if value not in (0, False)
    }
    text = address(ADDRESS, **fields)
    return f"{text}#{anchor}" if anchor else text
