"""Run a command's coroutine so that Ctrl-C leaves a resumable run, and says how to resume it.

The first SIGINT or SIGTERM says at once what is done and how to go on, then cancels: finished units are kept, what is
in flight is given up. A second signal ends the process on the spot, which harms nothing, since every finished unit was
committed before the next began. Either way the exit code is 130.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any, Self, TypeVar

import typer

from turngap.cli.guard import guarded
from turngap.cli.main import INTERRUPTED
from turngap.cli.progress import Terminal
from turngap.errors import HarnessFault
from turngap.models.endpoint import public

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_TICK_SECONDS = 0.2
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)


def run(work: Coroutine[Any, Any, T], progress: Terminal) -> T:
    """Run `work` to its end, with live progress, and return what it gives.

    Standard output and the working directory are kept for the command meanwhile.

    Raises:
        typer.Exit: with code 130, when it was interrupted. HarnessFault: something cancelled it from within.
    """
    with guarded(), asyncio.Runner() as runner:
        loop = runner.get_loop()
        task: asyncio.Task[T] = loop.create_task(work)
        interrupted = False

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            # A handler of signal.signal, not of the loop: it also runs while a long stretch of scoring blocks the loop.
            nonlocal interrupted
            if interrupted:
                os._exit(INTERRUPTED)
            interrupted = True
            where = progress.where
            progress.close()
            sys.stderr.write(f"turngap: interrupted: {where}; resume with: {_command()}\n")
            sys.stderr.flush()
            loop.call_soon_threadsafe(task.cancel)

        before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
        try:
            made = runner.run(_watched(task, progress))
        except asyncio.CancelledError:
            if interrupted:
                raise typer.Exit(INTERRUPTED) from None
            raise HarnessFault(f"the run was cancelled from within; go on with: {_command()}") from None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            progress.close()
        if interrupted:  # the last unit was stored before the cancellation came
            raise typer.Exit(INTERRUPTED)
        return made


class Blocking:
    """The same for work that blocks, and that asks now and then whether to stop: a context around it.

    Until it first asks, and after `free` was called, the first signal ends it at once, by KeyboardInterrupt.
    """

    def __init__(self, progress: Terminal) -> None:
        self._progress = progress
        self._before: dict[signal.Signals, Any] = {}
        self._heeded = False
        self.asked = False

    def halt(self) -> bool:
        """Whether to stop; for the work to ask."""
        self._heeded = True
        self._progress.refresh()
        return self.asked

    def free(self) -> None:
        """The work asks no more."""
        self._heeded = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._progress.close()
        if self.asked and (kind is None or issubclass(kind, KeyboardInterrupt)):
            raise typer.Exit(INTERRUPTED)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            os._exit(INTERRUPTED)
        self.asked = True
        where = self._progress.where
        self._progress.close()
        sys.stderr.write(f"turngap: interrupted: {where}; resume with: {_command()}\n")
        sys.stderr.flush()
        if not self._heeded:
            raise KeyboardInterrupt


async def _watched(task: asyncio.Task[T], progress: Terminal) -> T:
    while not task.done():
        await asyncio.wait([task], timeout=_TICK_SECONDS)
        progress.refresh()
    return await task


def _command() -> str:
    """The command to repeat, without the parts of URLs that may be secrets (user part and query)."""
    arguments = sys.argv[1:]
    return shlex.join(["turngap", *map(_without_secrets, arguments, ["", *arguments])])


def _without_secrets(argument: str, before: str) -> str:
    """One argument; that `before` it says whether it is the value of an option for a URL, however it is written."""
    option, equals, value = argument.partition("=") if argument.startswith("-") else (before, "", argument)
    if re.fullmatch(r"--[\w-]*url", option) and (equals or option == before):
        return f"{option if equals else ''}{equals}{public(value)}"
    return _URL.sub(lambda match: public(match[0]), argument)
