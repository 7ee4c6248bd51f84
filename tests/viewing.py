"""Runs to look at and a server that shows them, for the tests of the viewer."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import boats
import lived
import pytest
import reports

from turngap import samples
from turngap.config import ReplayConfig
from turngap.data.task import Scenario
from turngap.web import guarding
from turngap.web.guarding import Security
from turngap.web.shelf import Shelf

T = TypeVar("T")

MODELS = {"weak": "baseline/noisy?p_text=0.9&p_tool=0.6", "strong": "baseline/noisy?p_text=0.9&p_tool=0.95"}
"""Run -> its model: talks alike, calls differently."""


def evaluated(folder: Path, name: str) -> Path:
    """A run of one of `MODELS` on the packaged conversations, repaired after failures so that all of it is seen."""
    replay = ReplayConfig(after_failure="continue")
    return reports.evaluated(folder / name, samples.path(), MODELS[name], replay=replay, seed=7)


def played(folder: Path) -> Path:
    """Nine live trials of three tasks, some of which fail."""
    tasks = [boats.task(1), boats.task(2, scenario=Scenario.AMBIGUOUS), boats.task(3)]
    return lived.played(folder / "boats", tasks, "baseline/noisy?p_text=0.7&p_tool=0.6", trials=3)


@contextlib.contextmanager
def serving(paths: Sequence[Path], security: Security | None = None) -> Iterator[str]:
    """Serve runs from a thread; gives the address, ending in a slash."""
    from turngap.web.app import create  # noqa: PLC0415 - the extra may be missing
    from turngap.web.serving import Bound  # noqa: PLC0415 - the same

    with Bound("127.0.0.1", 0) as bound:
        server = bound.server(create(Shelf.open(paths), security or guarding.local()))
        thread = threading.Thread(target=server.run, kwargs={"sockets": bound.sockets})
        thread.start()
        try:
            deadline = time.monotonic() + 20
            while not server.started and time.monotonic() < deadline:
                time.sleep(0.01)
            assert server.started
            yield bound.address
        finally:
            server.should_exit = True
            thread.join(10)
        assert not thread.is_alive()


class Complaints(list[str]):
    """What a page complained about, or asked other places for; `expect` takes out what a test brought about."""

    def watch(self, page: Any, base: str) -> None:
        """Listen to a page that may talk to `base` alone."""
        page.on("console", lambda message: self.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url, base))
        page.on("dialog", self._dialog)

    def expect(self, part: str) -> None:
        """Take out complaints that hold this text; there has to be one."""
        found = [one for one in self if part in one]
        assert found, f"nothing complained of {part!r}: {list(self)}"
        self[:] = [one for one in self if part not in one]

    def _asked(self, url: str, base: str) -> None:
        if not url.startswith((base, "data:", "blob:")):
            self.append(f"request: {url}")

    def _dialog(self, dialog: Any) -> None:
        self.append(f"dialog: {dialog.message}")
        dialog.dismiss()


MEGABYTE = "long " * 200_000
CONTROLS = "".join(map(chr, [*range(1, 32), *range(0x7F, 0xA0), 0x200B, 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF]))
EMOJI = "👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢ 𝕏 ﷽"
CALLS = 500
"""In one message."""


def hostile(folder: Path) -> Path:
    """A run over conversations that do their worst: hostile ids, texts, argument keys; long, odd and countless ones.

    They are named by what is odd about them, ``long``, ``odd`` and ``many``, or by a hostile text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "hostile.jsonl"
    records = [_record(f"{text} {at}", text, text) for at, text in enumerate(reports.HOSTILE)]
    records += [
        _record("long", MEGABYTE, MEGABYTE),
        _record("odd", CONTROLS + EMOJI, EMOJI + CONTROLS),
        _record("many", "Look all of them up.", "ok", calls=CALLS),
    ]
    data.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    replay = ReplayConfig(after_failure="continue")
    return reports.evaluated(folder / "<b>run", data, "baseline/noisy?p_text=0&p_tool=0.5", replay=replay, seed=1)


def _record(name: str, said: str, result: str, calls: int = 1) -> dict[str, Any]:
    """A conversation of chat-completions JSONL with these texts in all places that data can fill."""
    tool = {
        "name": "get_booking",
        "parameters": {"type": "object", "properties": {"booking_id": {"type": "string"}}, "required": ["booking_id"]},
    }
    arguments = {"booking_id": said[:2000], f"key {said[:50]}": [{"deep": said[:50]}]}
    asked = [
        {"id": f"c{at}", "type": "function", "function": {"name": "get_booking", "arguments": json.dumps(arguments)}}
        for at in range(calls)
    ]
    return {
        "id": name,
        "tools": [{"type": "function", "function": tool}],
        "messages": [
            {"role": "system", "content": f"Policy. {said[:2000]}"},
            {"role": "user", "content": said},
            {"role": "assistant", "content": None, "tool_calls": asked},
            *({"role": "tool", "tool_call_id": one["id"], "content": result} for one in asked),
            {"role": "assistant", "content": f"Found it.\r\n\t{said}"},
            {"role": "user", "content": "Thanks."},
            {"role": "assistant", "content": "Bye."},
        ],
    }


def aside(work: Callable[[], T]) -> T:
    """Do something in another thread: a browser that is open occupies this one's event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def violations(page: Any) -> list[str]:
    """What axe finds serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
