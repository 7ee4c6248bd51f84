"""The address of the explore page: ``/explore?runs=r1,r2&show=&curve=&rate=&length=&metric=&kind=&bound=&...``.

Pages are whole without scripts: every choice is a field of a form or a link, and the address holds all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turngap import jsonio
from turngap.metrics.rounding import decimals
from turngap.web import plot
from turngap.web.chains import AXES, KINDS, LONGEST, Chains, Mix
from turngap.web.chooser import KINDS as BOUNDS
from turngap.web.chooser import LEVELS, figure_text
from turngap.web.explore import MOST_RUNS, Explorer, Query
from turngap.web.pages import Pages, address
from turngap.web.routing import BadQuery, Route, ask
from turngap.web.says import SIDES, Says
from turngap.web.shelf import Run, Shelf
from turngap.web.signed import from_to, points

ADDRESS = "/explore"
_SHOWN = {"all": "Everything", "says": "What it says", "calls": "What it calls", "both": "Both in one number"}


def routes(shelf: Shelf, pages: Pages) -> Sequence[Route]:
    """The one page."""
    explorer = Explorer()

    def explore(request: Request) -> Response:
        query = ask(request, Query)
        runs, left_out = _chosen(shelf, ",".join(request.query_params.getlist("runs")))
        query = msgspec.structs.replace(query, runs=",".join(run.id for run in runs))
        found = explorer.explore(runs, query)
        return pages.html(
            "explore.html.j2",
            title="Explore",
            here=ADDRESS,
            shelf=shelf,
            runs=runs,
            left_out=left_out,
            query=query,
            says=found.says,
            spots=[plot.spots(one.bubbles, one.unit) for one in found.says.talks],
            parts=[part for part in found.says.parts if part.key in query.sides],
            shown={key: title for key, title in _SHOWN.items() if key == "all" or _has(found.says, key)},
            chains=found.chains,
            lines=plot.lines(found.chains),
            mixes=_mixes(found.chains),
            choice=found.choice,
            kinds=KINDS,
            axes=AXES,
            bounds=BOUNDS,
            levels=LEVELS,
            longest=LONGEST,
            height=plot.HEIGHT,
            box=plot.BOX,
            mark=plot.mark,
            series=plot.SERIES,
            interval_of=plot.interval,
            figure_text=figure_text,
            points=points,
            from_to=from_to,
            needs=_needs,
            number=_number,
            link=lambda **changed: _link(query, changed),
        )

    return [Route(path=ADDRESS, handler=explore, copied=("show",))]


def _chosen(shelf: Shelf, ids: str) -> tuple[list[Run], int]:
    """The runs that are named; the first ones where none is. And how many stay out then."""
    names = list(dict.fromkeys(name for name in ids.split(",") if name))
    if not names:
        return list(shelf.runs[:MOST_RUNS]), max(0, len(shelf.runs) - MOST_RUNS)
    if len(names) > len(shelf.runs):
        raise BadQuery("more runs are named than there are")
    return [shelf.get(name) for name in names], 0


def _has(says: Says, key: str) -> bool:
    return key in SIDES and any(part.key == key for part in says.parts)


def _mixes(found: Chains) -> str:
    """What the page's script needs to compute with, as JSON: [text decisions, tool decisions, conversations]."""
    return jsonio.dumps([[[one.n_text, one.n_tool, one.count] for one in mix.lengths] for mix in found.mixes])


def _needs(mix: Mix) -> str:
    """What completions ask of every decision of a mix of conversations, in one sentence."""
    targets = mix.chain.targets
    if not targets:
        return ""
    wanted = ", ".join(f"{100 * target.completion:g}" for target in targets)
    rates = ", ".join(decimals(100 * target.rate) for target in targets)
    return f"To finish {wanted}% of them, every decision, text or tool, has to be right {rates}% of the time."


def _link(query: Query, changed: dict[str, Any]) -> str:
    """This page's address with some fields changed; what is as by default is left out."""
    anchor = changed.pop("anchor", "")
    default = Query()
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(msgspec.structs.replace(query, **changed)).items()
        if value != getattr(default, name)
    }
    query_text = address(ADDRESS, **fields)
    return f"{query_text}#{anchor}" if anchor else query_text


def _number(value: float) -> str:
    """A number of a field as one writes it: 60, 62.5."""
    return f"{value:.10g}"
