"""Time limits for code of other people, which may loop, sleep or wait for ever.

In the main thread the system's alarm interrupts the code where it stands, at the cost of two system calls. Elsewhere,
or when the alarm is in use, the code runs in a thread of its own that is left behind when its time is up. Coroutines
are cancelled, and left behind when they do not heed it.

Non-goals: code that holds the interpreter itself (an endless computation inside an extension module) is not
interrupted, nor is a coroutine that blocks the event loop without awaiting.
"""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

_CANCELLED = "it cancelled itself"


class TimeUp(BaseException):
    """The time limit is reached. No `Exception`, so that the interrupted code does not take it for one of its own."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """Call a function and return what it returns.

    Raises:
        TimeUp: it took longer than `seconds`.
    """
    free = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if free and signal.getitimer(signal.ITIMER_REAL)[0] == 0.0:
        return _by_alarm(seconds, function)
    return _apart(seconds, function)


async def within_soon(seconds: float, coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine while others go on.

    Raises:
        TimeUp: it took longer than `seconds`. RuntimeError: it cancelled itself.
    """
    task = asyncio.ensure_future(coroutine)
    task.add_done_callback(_look_away)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()  # does nothing to a finished one
    if not done:
        raise TimeUp
    if task.cancelled():
        raise RuntimeError(_CANCELLED)
    return task.result()


def to_its_end(seconds: float, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, in a thread of its own, whatever runs here.

    Raises:
        TimeUp: it took longer than `seconds`. RuntimeError: it cancelled itself.
    """

    def run() -> T:
        try:
            return asyncio.run(coroutine)
        except asyncio.CancelledError:
            raise RuntimeError(_CANCELLED) from None

    return _apart(seconds, run)


def _look_away(task: asyncio.Future[Any]) -> None:
    """Take note of an error that comes late, so that the event loop does not report it."""
    if not task.cancelled():
        task.exception()


def _ring(_signal: int, _frame: Any) -> None:
    raise TimeUp


def _by_alarm(seconds: float, function: Callable[[], T]) -> T:
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        # Again and again: where the first ring is lost (in a finaliser, say), the next one may not be.
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        try:
            return function()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


class _Caught:
    """Holds the error that left its block, for another thread to raise."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        self.error = error
        return True


def _apart(seconds: float, function: Callable[[], T]) -> T:
    """Call a function in a thread of its own, which is left behind when its time is up."""
    found: list[T] = []
    caught = _Caught()

    def work() -> None:
        with caught:
            found.append(function())

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True, name="turngap-tool")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeUp
    if caught.error is not None:
        raise caught.error
    return found[0]
