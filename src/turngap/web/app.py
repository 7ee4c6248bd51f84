"""The viewer as an ASGI application: pages mounted at their addresses, behind the guard.

What a page shows is computed elsewhere; here addresses are joined to functions, and errors to answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from turngap.errors import TurngapError, UsageError
from turngap.web import compare_routes, explore_routes, label_routes, run_routes
from turngap.web.guarding import App, Guard, Security
from turngap.web.pages import Link, Pages
from turngap.web.routing import Route, Writer
from turngap.web.shelf import Shelf, Unknown

Part = Callable[[Shelf, Pages], Sequence[Route]]
"""What a ``*_routes`` module offers as `routes`."""

PARTS: tuple[Part, ...] = (
    compare_routes.routes,
    explore_routes.routes,
    label_routes.routes,
    run_routes.routes,
)
"""The pages there are, one line for each module."""

_NAVIGATION = (Link("Runs", "/"), Link("Explore", "/explore"), Link("Compare", "/compare"))
_FOREVER = "private, max-age=31536000, immutable"  # the address of a file changes with its content
_STATUS: tuple[tuple[type[TurngapError], int], ...] = ((Unknown, 404), (UsageError, 400))
_UNREADABLE = 503


class Viewer(msgspec.Struct, frozen=True):
    """The application, and what it is made of."""

    app: App
    pages: Pages
    routes: tuple[Route, ...]


def create(shelf: Shelf, security: Security, parts: Sequence[Part] = PARTS) -> App:
    """The whole application.

    Args:
        shelf: the runs that can be seen.
        security: who may ask.
        parts: the pages.
    """
    return mount(shelf, security, parts).app


def mount(shelf: Shelf, security: Security, parts: Sequence[Part] = PARTS, *, copied: int | None = None) -> Viewer:
    """The same with what it is made of; `copied` as in `Pages`."""
    pages = Pages(security.page_key, copied=copied)
    routes = (*_own(pages), *(route for part in parts for route in part(shelf, pages)))
    paths = {route.path for route in routes}
    pages.navigation = tuple(link for link in _NAVIGATION if link.address in paths)
    app = FastAPI(title="turngap view", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for route in routes:
        app.add_api_route(route.path, route.handler, methods=["GET", "HEAD"], response_model=None)
        if route.writer is not None:
            app.add_api_route(route.path, _with_body(route.writer), methods=["POST"], response_model=None)
    app.add_exception_handler(TurngapError, _told(pages))
    app.add_exception_handler(HTTPException, _told(pages))
    app.add_exception_handler(Exception, _told(pages))  # it is raised again behind the answer, for the server to tell
    writing = (route.path.format(run=run.id) for route in routes if route.writer for run in shelf.runs)
    return Viewer(Guard(app, msgspec.structs.replace(security, writing=frozenset(writing))), pages, routes)


def _with_body(writer: Writer) -> Callable[[Request], Awaitable[Response]]:
    async def post(request: Request) -> Response:
        return await run_in_threadpool(writer, request, await request.body())

    return post


def _own(pages: Pages) -> list[Route]:
    """The files that pages refer to."""

    def static(request: Request) -> Response:
        asset = pages.asset(request.path_params["name"])
        if asset is None:
            raise Unknown("there is no such file here")
        return Response(asset.body, media_type=asset.kind, headers={"cache-control": _FOREVER})

    return [Route(path="/static/{name}", handler=static)]


def _told(pages: Pages) -> Callable[[Request, Exception], Response]:
    """Answers an error with its one line: as JSON where data were asked for, else as a page."""

    def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            status, line = error.status_code, "there is no such page here"
        elif isinstance(error, TurngapError):
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), _UNREADABLE)
            line = str(error)
        else:
            status, line = 500, f"turngap failed here ({type(error).__name__}); the terminal says where"
        if request.url.path.startswith("/api/"):
            return pages.json(_Problem(error=line), status=status)
        return pages.html("problem.html.j2", status=status, title="Nothing to see here", line=line)

    return answer


class _Problem(msgspec.Struct, frozen=True):
    """What data requests get instead of data."""

    error: str
