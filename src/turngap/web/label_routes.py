"""Addresses of what people say about verdicts: the desk at which they label, the statements, and the sheet of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turngap.analysis.calibration import JUDGED
from turngap.web import notes
from turngap.web.labelling import Sample, desk
from turngap.web.notes import Count, Note
from turngap.web.pages import Pages
from turngap.web.routing import BadQuery, Route, ask
from turngap.web.shelf import Shelf, Unknown


class _Wanted(msgspec.Struct, frozen=True):
    """Which statements: about one conversation, or of one judge."""

    id: str = ""
    protocol: str = "turn"
    judge: str = ""
    blind: bool = False


class _Statements(msgspec.Struct, frozen=True):
    """Those about a conversation, and how often people and judges agree in the whole run."""

    notes: Sequence[Note]
    counts: Sequence[Count]


class _Noted(msgspec.Struct, frozen=True):
    """What came of a statement; nothing of what the judge said, for who labels blind."""

    item: str
    counts: Sequence[Count]


def routes(shelf: Shelf, pages: Pages) -> list[Route]:
    """The addresses."""

    def label(request: Request) -> Response:
        run = shelf.get(request.path_params["run"])
        found = desk(run, ask(request, Sample))
        return pages.html(
            "label.html.j2", title="Label verdicts", kicker=run.label, run=run, desk=found, protocols=tuple(JUDGED)
        )

    def statements(request: Request) -> Response:
        run, wanted = shelf.get(request.path_params["run"]), ask(request, _Wanted)
        said = notes.read(run.path)
        with run.store() as store:
            known = notes.about(store, said, wanted.id) if wanted.id else ()
        return pages.json(_Statements(known, notes.counts(said)))

    def mark(request: Request, body: bytes) -> Response:
        run = shelf.get(request.path_params["run"])
        try:
            marking = msgspec.json.decode(body, type=notes.Marking)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadQuery(f"this statement is not understood: {error}") from None
        with run.store() as store:
            note = notes.mark(store, marking)
        return pages.json(_Noted(note.item, notes.counts(notes.read(run.path))))

    def sheet(request: Request) -> Response:
        run, wanted = shelf.get(request.path_params["run"]), ask(request, _Wanted)
        said = notes.read(run.path).of(wanted.protocol, wanted.judge, blind=wanted.blind)
        if not said:
            raise Unknown("nobody has labelled verdicts of that judge yet")
        with run.store() as store:
            text = notes.sheet(store, said, wanted.judge)
        # The name is ours: one from data could say anything to whoever saves it.
        headers = {"content-disposition": 'attachment; filename="labels.csv"'}
        return Response(text.encode(), media_type="text/csv; charset=utf-8", headers=headers)

    return [
        Route(path="/r/{run}/label", handler=label),
        Route(path="/r/{run}/labels.csv", handler=sheet),
        Route(path="/api/r/{run}/notes", handler=statements, writer=mark),
    ]
