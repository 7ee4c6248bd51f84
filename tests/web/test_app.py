"""The application: addresses to pages, errors to answers."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from turngap.errors import StoreError
from turngap.web import guarding
from turngap.web.caller import Caller
from turngap.web.shelf import Shelf, Unknown

app = pytest.importorskip("turngap.web.app", reason="the extra view is not installed")
import msgspec  # noqa: E402
from starlette.requests import Request  # noqa: E402
from starlette.responses import Response  # noqa: E402

from turngap.web.pages import Pages  # noqa: E402
from turngap.web.routing import Route, ask  # noqa: E402


class _Query(msgspec.Struct, frozen=True):
    at: int = 1
    deep: bool = False


def _part(_shelf: Shelf, pages: Pages) -> Sequence[Route]:
    """Pages that fail in every way there is."""

    def fail(request: Request) -> Response:
        raise {
            "unknown": Unknown("no run '<b>'"),
            "store": StoreError("x/run.sqlite: the file is damaged"),
            "internal": ZeroDivisionError("SENTINEL-3"),
        }[request.path_params["how"]]

    def query(request: Request) -> Response:
        return pages.json(ask(request, _Query))

    return [
        Route(path="/fail/{how}", handler=fail),
        Route(path="/api/fail/{how}", handler=fail),
        Route(path="/query", handler=query),
    ]


@pytest.fixture
def asking(shelf: Shelf) -> Caller:
    """Asks an application of failing pages."""
    return Caller(app.create(shelf, guarding.local(), [_part]))


@pytest.mark.parametrize(("how", "status"), [("unknown", 404), ("store", 503)])
def test_errors_are_pages_with_their_line(asking: Caller, how: str, status: int) -> None:
    """As HTML for a person, as JSON for a script; escaped."""
    with asking:
        page, data = asking.get(f"/fail/{how}"), asking.get(f"/api/fail/{how}")
    assert page.status == data.status == status
    assert page.header("content-type").startswith("text/html") and "<h1>" in page.text and "<b>" not in page.text
    assert set(json.loads(data.body)) == {"error"}


def test_an_internal_error_is_a_page_and_raised(asking: Caller) -> None:
    """SEC-01: the person sees that, not what, and the server hears of it."""
    with asking, pytest.raises(ZeroDivisionError):
        asking.get("/fail/internal")


def test_unknown_addresses_are_not_found(asking: Caller) -> None:
    """One page for all; nothing is guessed, no slash is added."""
    with asking:
        for address in ("/nothing", "/query/", "/static/", "/static/nothing.css", "/openapi.json", "/docs", "/redoc"):
            assert asking.get(address).status == 404, address


def test_queries_become_structs(asking: Caller) -> None:
    """Numbers and flags are read; what makes no sense is refused in one line; unknown fields do not matter."""
    with asking:
        assert json.loads(asking.get("/query?at=3&deep=true&x=1").body) == {"at": 3, "deep": True}
        assert json.loads(asking.get("/query?at=&at=2").body) == {"at": 2, "deep": False}
        wrong = asking.get("/query?at=three")
    assert wrong.status == 400 and "$.at" in wrong.text


def test_head_is_answered(asking: Caller) -> None:
    """As GET, by the same handlers."""
    with asking:
        assert asking.ask("HEAD", "/query").status == 200
        assert asking.ask("POST", "/query").status == 405


def test_files_are_kept_by_browsers_and_pages_are_not(asking: Caller) -> None:
    """The address of a file changes with it; a page may change at any time."""
    with asking:
        assert "immutable" in asking.get("/static/view.css").header("cache-control")
        assert asking.get("/query").header("cache-control") == "no-store"
