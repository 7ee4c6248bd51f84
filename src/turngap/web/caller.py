"""Asks an application without a network: for a static copy, and wherever pages are looked at without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Self
from urllib.parse import unquote

import msgspec

from turngap.web.guarding import App, Event


class Answered(msgspec.Struct, frozen=True):
    """One answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in order."""
    body: bytes

    def header(self, name: str) -> str:
        """The first header of that name; empty if there is none."""
        return next((value for known, value in self.headers if known == name), "")

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8")


class Caller:
    """One who asks, one question at a time. A context, since it holds an event loop, which its thread may have once."""

    def __init__(self, app: App, host: str = "127.0.0.1") -> None:
        """`host` is sent where a question names none."""
        self._app = app
        self._host = host
        self._runner = asyncio.Runner()

    def get(self, address: str, headers: Iterable[tuple[str, str]] = ()) -> Answered:
        """Ask for an address: a path, and a query if it has one."""
        return self.ask("GET", address, headers)

    def ask(self, method: str, address: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b"") -> Answered:
        """Send a request as it is, however little sense it makes."""
        return self._runner.run(self._ask(method, address, list(headers), body))

    async def _ask(self, method: str, address: str, headers: list[tuple[str, str]], body: bytes) -> Answered:
        path, _, query = address.partition("?")
        named = any(name.lower() == "host" for name, _ in headers)
        sent = headers if named else [("host", self._host), *headers]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in sent],
            "client": ("127.0.0.1", 1),
            "server": (self._host, 80),
        }
        pending: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]
        events: list[Event] = []

        async def receive() -> Event:
            return pending.pop() if pending else await asyncio.Future()  # nobody hangs up here

        async def send(event: Event) -> None:
            events.append(event)

        await self._app(scope, receive, send)
        start, *rest = events
        decoded = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start.get("headers", ()))
        return Answered(start["status"], decoded, b"".join(event.get("body", b"") for event in rest))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()
