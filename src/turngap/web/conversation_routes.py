"""Addresses of the pages on one conversation or trial.

``/r/{run}/c?id=&decision=&evidence=``        a conversation; ``&trial=`` for a trial of a live task
``/r/{run}/walk?id=&repair=on|off&decision=`` the walk through a conversation
``/r/{run}/text?id=&at=``                     one text of such a page, all of it

Whatever else an address holds is the list that the page was opened from: links carry it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turngap import jsonio
from turngap.runs.store import RunStore
from turngap.web import conversation, trial, walk
from turngap.web.aligned import State
from turngap.web.beside import DataOrder, Order, Unit
from turngap.web.pages import Pages, address
from turngap.web.piece import LONGEST
from turngap.web.routing import BadQuery, Route, ask
from turngap.web.shelf import Run, Shelf, Unknown

_OWN = ("id", "trial", "decision", "evidence", "repair", "at")
"""The fields of these pages; the others are the list's."""
_LONGEST_IN_COPY = 200_000
SIGNS = {
    State.RIGHT.value: "✓",
    State.RECOVERED.value: "↻",
    State.WRONG.value: "✗",
    State.MISSING.value: "○",
    State.PASSED.value: "↷",
    State.UNREACHED.value: "·",
    State.UNASKED.value: "–",
    "said": "❞",
    "errored": "?",
    "plain": "•",
}
"""What stands for a state or outcome where there is no room for a word."""
_OWN_TITLES = {"replay": "The model, on its own history", "gold": "The model, on recorded history", "none": "The model"}


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What these pages are asked for."""

    id: str = ""
    trial: int = 0
    decision: int | None = None
    evidence: bool | None = None
    repair: Literal["on", "off"] = "on"
    at: str = ""


def routes(shelf: Shelf, pages: Pages, order: Order | None = None) -> Sequence[Route]:
    """The pages on one conversation or trial.

    Args:
        shelf: the runs.
        pages: makes pages.
        order: knows the list; the order of the data where there is none.
    """
    shown = _Shown(shelf, pages, order or DataOrder())
    return (
        Route(path="/r/{run}/c", handler=shown.one, copied=("id", "trial")),
        Route(path="/r/{run}/walk", handler=shown.walk, copied=("id", "repair")),
        Route(path="/r/{run}/text", handler=shown.text),
    )


class _Shown:
    """Answers requests."""

    def __init__(self, shelf: Shelf, pages: Pages, order: Order) -> None:
        self._shelf, self._pages, self._order = shelf, pages, order
        # In a copy nothing can be fetched later.
        self._longest = LONGEST if pages.copied is None else _LONGEST_IN_COPY

    def one(self, request: Request) -> Response:
        """A conversation, or a trial of a task."""
        run, query, fields = self._asked(request)
        with run.store() as store:
            if run.kind == "rollout":
                return self._trial(run, store, query, fields)
            view = conversation.view(
                store, conversation.Asked(id=query.id, evidence=query.evidence), longest=self._longest
            )
            protocols = [name for name in ("replay", *store.config.protocols) if name != "text"]
            return self._pages.html(
                "conversation.html.j2",
                title=query.id,
                kicker=f"{run.label} · conversation",
                run=run,
                view=view,
                chosen=query.decision,
                signs=SIGNS,
                own_title=_OWN_TITLES[view.own],
                protocols=list(dict.fromkeys(name for name in protocols if name != "workflow")),
                beside=self._beside(run, store, fields, (query.id, None), "c"),
                walk_address=_address(run, "walk", fields, id=query.id, repair="off"),
                evidence_address=_address(run, "c", fields, id=query.id, evidence="true"),
                text_address=_texts(run, query),
            )

    def walk(self, request: Request) -> Response:
        """The walk through a conversation."""
        run, query, fields = self._asked(request)
        if run.kind == "rollout":
            raise Unknown("a trial of a live task has no recording to walk through")
        with run.store() as store:
            view = conversation.view(
                store, conversation.Asked(id=query.id, evidence=query.evidence), longest=self._longest
            )
            walked = walk.both(view.alignment, store.scores_of(query.id))
            steps = {step.decision: step for step in walked.steps}
            fallback = walked.first if walked.first is not None else next(iter(steps), None)
            return self._pages.html(
                "walk.html.j2",
                title=query.id,
                kicker=f"{run.label} · walk",
                run=run,
                view=view,
                walked=walked,
                steps=steps,
                repair=query.repair == "on",
                chosen=query.decision if query.decision in steps else fallback,
                signs=SIGNS,
                switch={
                    state: _address(run, "walk", fields, id=query.id, repair=state, decision=query.decision)
                    for state in ("on", "off")
                },
                beside=self._beside(run, store, fields, (query.id, None), "walk", repair=query.repair),
                page_address=_address(run, "c", fields, id=query.id),
                text_address=_texts(run, query),
            )

    def text(self, request: Request) -> Response:
        """One text, all of it, as nothing but text."""
        run, query, _ = self._asked(request)
        with run.store() as store:
            if run.kind == "rollout":
                whole = trial.view(store, trial.Asked(id=query.id, trial=query.trial)).whole
            else:
                whole = conversation.view(store, conversation.Asked(id=query.id, evidence=False)).whole
        if query.at not in whole:
            raise Unknown("the page has no such text")
        body = jsonio.clean(whole[query.at]).replace("\x00", "\ufffd").encode()
        return Response(body, media_type="text/plain; charset=utf-8")

    def _trial(self, run: Run, store: RunStore, query: Query, fields: Sequence[tuple[str, str]]) -> Response:
        view = trial.view(store, trial.Asked(id=query.id, trial=query.trial), longest=self._longest)
        return self._pages.html(
            "trial.html.j2",
            title=f"Task {query.id}, trial {query.trial}",
            kicker=f"{run.label} · trial",
            run=run,
            view=view,
            trials=[(one, _address(run, "c", fields, id=query.id, trial=one.trial)) for one in view.trials],
            beside=self._beside(run, store, fields, (query.id, query.trial), "c"),
            text_address=_texts(run, query),
        )

    def _asked(self, request: Request) -> tuple[Run, Query, list[tuple[str, str]]]:
        """The run, what is asked for, and the fields of the list that it was opened from."""
        run = self._shelf.get(request.path_params["run"])
        query = ask(request, Query)
        if not query.id:
            raise BadQuery("this address names no conversation: it needs id=")
        fields = [(name, value) for name, value in request.query_params.multi_items() if name not in _OWN and value]
        return run, query, fields

    def _beside(
        self, run: Run, store: RunStore, fields: Sequence[tuple[str, str]], unit: Unit, page: str, **more: Any
    ) -> dict[str, Any]:
        place = self._order.place(run, store, fields, unit)

        def at(other: Unit | None) -> str:
            return "" if other is None else _address(run, page, fields, id=other[0], trial=other[1], **more)

        return {
            "place": place.number or "–",
            "total": place.total,
            "before": at(place.before),
            "after": at(place.after),
            "list": _address(run, "", fields),
        }


def _texts(run: Run, query: Query) -> Any:
    """Gives the address of one text of the page."""

    def text_address(at: str) -> str:
        return address(f"/r/{run.id}/text", id=query.id, trial=query.trial or None, at=at)

    return text_address


def _address(run: Run, page: str, fields: Sequence[tuple[str, str]], **own: Any) -> str:
    path = f"/r/{run.id}/{page}".rstrip("/")
    pairs = [(name, str(value)) for name, value in own.items() if value is not None] + list(fields)
    query = urlencode([(name, jsonio.clean(value)) for name, value in pairs])
    return f"{path}?{query}" if query else path
