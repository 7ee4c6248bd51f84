"""A chat-completions server that does what a script says, for tests: answers, faults, and a record of what was asked.

It runs in a thread of its own on loopback, so that it serves the tests' event loop, several loops, and subprocesses.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class Say:
    """Answer with a message; `delay` in seconds."""

    message: dict[str, Any]
    finish: str = "stop"
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 0, "completion_tokens": 7})
    delay: float = 0.0

    def body(self) -> bytes:
        choice = {"index": 0, "message": {"role": "assistant", **self.message}, "finish_reason": self.finish}
        return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": self.usage}).encode()


@dataclass
class Status:
    """Answer with an HTTP status."""

    code: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Body:
    """Answer 200 with exactly these bytes."""

    data: bytes


@dataclass
class Stall:
    """Say nothing for so many seconds."""

    seconds: float


@dataclass
class Reset:
    """Drop the connection; with `after`, in the middle of a body that was announced longer."""

    after: bytes = b""


Step = Say | Status | Body | Stall | Reset


def text(content: str | None, **message: Any) -> Say:
    """A text answer."""
    return Say({"content": content, **message})


def call(name: str, arguments: Any, *, content: str | None = None) -> Say:
    """An answer with one native call; arguments other than text are encoded."""
    return calls((name, arguments), content=content)


def calls(*pairs: tuple[str, Any], content: str | None = None) -> Say:
    """An answer with native calls."""
    entries = [
        {
            "id": f"srv{index}",
            "type": "function",
            "function": {"name": name, "arguments": value if isinstance(value, str) else json.dumps(value)},
        }
        for index, (name, value) in enumerate(pairs)
    ]
    return Say({"content": content, "tool_calls": entries}, finish="tool_calls")


class ChatServer:
    """The server. The script is a list (its last step repeats) or a function of (request body, 0-based count)."""

    def __init__(self, script: Sequence[Step] | Callable[[dict[str, Any], int], Step]) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        """Bodies in the order of arrival."""
        self.headers: list[dict[str, str]] = []
        self.queries: list[str] = []
        self.times: list[float] = []
        """Monotonic seconds of arrival."""
        self.pages: dict[str, Any] = {}
        """Path -> JSON document (or a function of the posted body) beside the API."""
        self.open = self.most_open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._runner: web.AppRunner | None = None
        self.port = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        self.url = f"http://127.0.0.1:{self.port}/v1"
        """The base URL."""

    def close(self) -> None:
        """Stop at once."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> int:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_route("*", "/{path:.*}", self._page)
        self._runner = web.AppRunner(app, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=2048)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def _stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _page(self, request: web.Request) -> web.Response:
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404)
        return web.json_response(page(await request.json()) if callable(page) else page)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        count = len(self.requests)
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.queries.append(request.query_string)
        self.times.append(self._loop.time())
        step = self.script(body, count) if callable(self.script) else self.script[min(count, len(self.script) - 1)]
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self._perform(step, request)
        finally:
            self.open -= 1

    async def _perform(self, step: Step, request: web.Request) -> web.StreamResponse:
        if isinstance(step, Say):
            if step.delay:
                await asyncio.sleep(step.delay)
            return web.Response(body=step.body(), content_type="application/json")
        if isinstance(step, Body):
            return web.Response(body=step.data, content_type="application/json")
        if isinstance(step, Status):
            return web.Response(status=step.code, text=step.body, headers=step.headers)
        if isinstance(step, Stall):
            await asyncio.sleep(step.seconds)
            return web.Response(status=500)
        assert request.transport is not None
        if step.after:
            head = (
                f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(step.after) + 100}\r\n\r\n"
            )
            request.transport.write(head.encode() + step.after)
            await asyncio.sleep(0.02)
        request.transport.abort()
        return web.Response()
