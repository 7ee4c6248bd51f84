"""Run a command's coroutine so that Ctrl-C leaves a resumable run, and says how to resume it.

The first SIGINT or SIGTERM says at once what is done and how to go on, then cancels: finished units are kept, what is
in flight is given up. A second signal ends the process on the spot, which harms nothing, since every finished unit was
committed before the next began, and files take their places when they are complete. Either way the exit code is 130.

A thread cannot be cancelled, and Python waits for those that load weights, convert them or generate, which may take
minutes. So the process also ends on the spot a few seconds after the first signal, unless a training is under way: that
stops by itself, at a place to go on from, and is waited for, which is said.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from functools import partial
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
_GRACE_SECONDS = 4.0
"""From the first signal to the end, whatever still goes on."""
_BUSY = "the training ends after the sequence under way and keeps all steps, a second signal ends it at once; "
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)


def run(work: Coroutine[Any, Any, T], progress: Terminal) -> T:
    """Run `work` to its end, with live progress, and return what it gives.

    Standard output and the working directory are kept for the command meanwhile.

    Raises:
        typer.Exit: with code 130, when it was interrupted. HarnessFault: something cancelled it from within.
    """
    with guarded():
        runner = asyncio.Runner()
        loop = runner.get_loop()
        task: asyncio.Task[T] = loop.create_task(work)
        cancel = partial(loop.call_soon_threadsafe, task.cancel)
        # Outermost, for the runner, when it closes, waits for every thread.
        with _Signals(progress, cancel, lambda: progress.unfinished) as signals, runner:
            try:
                made = runner.run(_watched(task, progress))
            except asyncio.CancelledError:
                if signals.heard:
                    raise typer.Exit(INTERRUPTED) from None
                raise HarnessFault(f"the run was cancelled from within; go on with: {_command()}") from None
            finally:
                progress.close()
        if signals.heard:  # the last unit was stored before the cancellation came
            raise typer.Exit(INTERRUPTED)
        return made


class Blocking:
    """The same for work that blocks, and that asks now and then whether to stop: a context around it.

    Until it first asks, and after `free` was called, the first signal ends it at once, by KeyboardInterrupt.
    """

    def __init__(self, progress: Terminal) -> None:
        self._progress = progress
        self._heeded = False
        self._signals = _Signals(progress, self._stop, lambda: self._heeded)

    def halt(self) -> bool:
        """Whether to stop; for the work to ask."""
        self._heeded = True
        self._progress.refresh()
        return self._signals.heard

    def free(self) -> None:
        """The work asks no more."""
        self._heeded = False

    def __enter__(self) -> Self:
        self._signals.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._signals.__exit__()
        self._progress.close()
        if self._signals.heard and (kind is None or issubclass(kind, KeyboardInterrupt)):
            raise typer.Exit(INTERRUPTED)

    def _stop(self) -> None:
        if not self._heeded:
            raise KeyboardInterrupt


class _Signals:
    """What signals do while this is entered.

    Args:
        progress: closed at the first signal.
        stop: has the work end; called in the handler.
        unfinished: whether the work ends by itself after a signal, and is to be waited for.
    """

    def __init__(self, progress: Terminal, stop: Callable[[], object], unfinished: Callable[[], bool]) -> None:
        self._progress, self._stop, self._unfinished = progress, stop, unfinished
        self._before: dict[signal.Signals, Any] = {}
        self._over = False
        self.heard = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        # A handler of signal.signal, not of a loop: it also runs while a long stretch of scoring blocks the loop.
        if self.heard:
            os._exit(INTERRUPTED)
        self.heard = True
        where, busy = self._progress.where, self._unfinished()
        self._progress.end()
        sys.stderr.write(f"turngap: interrupted: {where}; {_BUSY if busy else ''}resume with: {_command()}\n")
        sys.stderr.flush()
        if not busy:
            # Not `threading`, whose locks the code that was interrupted may hold.
            _thread.start_new_thread(self._end, ())
        with contextlib.suppress(RuntimeError):  # the loop is closed: the work is over
            self._stop()

    def _end(self) -> None:
        time.sleep(_GRACE_SECONDS)
        if not self._over:
            os._exit(INTERRUPTED)


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
