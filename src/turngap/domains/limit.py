"""Time limits for code of other people, which may loop, sleep or wait for ever, or upset the event loop it runs in.

In the main thread a signal interrupts the code where it stands. A thread that does nothing else sends it, so that
alarms that the code sets or takes away make no difference. Elsewhere, or inside another limit, the code runs in a
thread of its own, which is left behind when its time is up. A coroutine runs in an event loop of its own in such a
thread: what it blocks, stops or cancels there is nobody else's. Plain code finds no event loop running, so that it may
run one of its own.

What comes too late counts for nothing, be it a value or an error. Code that catches the interruption and goes on is
interrupted again and again, and from the second time on also at the place where it catches it, which ends the usual
``while True: try ... except: pass``.

Non-goals: code that holds the interpreter itself (an endless computation inside an extension module) cannot be
interrupted, nor can code in the main thread that catches everything on several levels for ever: these hold the process
until somebody ends it. Threads that are left behind are asked to end, and not waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_SIGNAL = signal.SIGVTALRM  # of little use to others; tools with time-outs of their own use SIGALRM
_TICK = 0.05  # seconds between two looks at the deadline
_AGAIN = 0.05  # seconds between two interruptions of code that goes on
_STUBBORN = 60  # interruptions after which to tell
_ASLEEP_AFTER = 40  # ticks without a deadline
_GRACE = 1.0  # seconds for a cancelled coroutine to end by itself


class TimeUp(BaseException):
    """The time limit is reached. No `Exception`, so that the interrupted code does not take it for one of its own."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """Call a function and return what it returns.

    Raises:
        TimeUp: it took longer than `seconds`.
    """
    if threading.current_thread() is not threading.main_thread() or _CLOCK.deadline is not None:
        aside = _Aside(function)
        aside.start()
        return aside.outcome_within(seconds).result()
    with _Limit(seconds), _NoLoop():
        return function()


async def finished_soon(seconds: float, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine while others go on; the future has its value or its error, a wish of its own to stop among them.

    Raises:
        TimeUp: it took longer than `seconds`.
    """
    aside = _AsideLoop(coroutine)
    loop = asyncio.get_running_loop()
    over = asyncio.Event()

    def wake(_: Future[T]) -> None:
        with contextlib.suppress(RuntimeError):  # nobody is left to wake
            loop.call_soon_threadsafe(over.set)

    aside.outcome.add_done_callback(wake)
    aside.start()
    late = True
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        pass
    finally:
        late = not aside.outcome.done()
        if late:
            aside.abandon()
    if late:
        raise TimeUp
    return aside.outcome


def finished(seconds: float, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """The same for who waits for it, whatever runs here. Raises as `finished_soon`."""
    aside = _AsideLoop(coroutine)
    aside.start()
    return aside.outcome_within(seconds)


class _Clock:
    """Interrupts the main thread when a deadline is over, and again until it is taken away."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        """By the monotonic clock."""
        self._thread: threading.Thread | None = None
        self._asleep = False
        self._woken = threading.Event()
        self._rings = 0
        self._traced: Any = None

    def begin(self, deadline: float) -> None:
        """Set the deadline. Only in the main thread."""
        self._rings = 0
        if self._thread is None or not self._thread.is_alive():  # the first time, or in a forked process
            self._start()
        self.deadline = deadline
        if self._asleep:
            self._woken.set()

    def end(self) -> None:
        """Take the deadline away."""
        self.deadline = None
        if self._rings > 1:
            sys.settrace(self._traced)

    def _start(self) -> None:
        signal.signal(_SIGNAL, self._ring)
        self._asleep = False
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="turngap-clock")
        self._thread.start()

    def _watch(self) -> None:
        main = threading.main_thread().ident
        idle = 0
        while main is not None:
            deadline = self.deadline
            if deadline is not None:
                idle = 0
                left = deadline - time.monotonic()
                if left <= 0:
                    signal.pthread_kill(main, _SIGNAL)
                time.sleep(min(left, _TICK) if left > 0 else _AGAIN)
            elif idle < _ASLEEP_AFTER:
                idle += 1
                time.sleep(_TICK)
            else:
                self._asleep = True
                # `begin` sets the deadline first and then looks whether anybody sleeps, so one of the two notices.
                if self.deadline is None:
                    self._woken.wait()
                self._asleep = False
                self._woken.clear()

    def _ring(self, _signal: int, frame: FrameType | None) -> None:
        frames = _frames_inside(frame)
        if self.deadline is None or time.monotonic() < self.deadline or not frames:
            return  # on its way when the code ended, or somebody else's
        self._rings += 1
        if self._rings > 1:
            self._insist(frames)
        raise TimeUp

    def _insist(self, frames: Sequence[FrameType]) -> None:
        """Raise a second time where the first one is caught: at the next line that one of the frames begins."""
        if self._rings == 2:
            self._traced = sys.gettrace()
        if self._rings == _STUBBORN:
            place = f"{frames[0].f_code.co_filename}:{frames[0].f_lineno}"
            warnings.warn(f"{place} catches its time limit again and again, and holds everything up", stacklevel=3)

        def again(_frame: FrameType, event: str, _argument: Any) -> Any:
            if event == "line":
                raise TimeUp  # Python itself takes a trace function away that raises, so there is one such error
            return again

        sys.settrace(_trace_nothing)
        # Which frame catches it cannot be seen from outside: each in turn.
        frames[(self._rings - 2) % len(frames)].f_trace = again


def _frames_inside(frame: FrameType | None) -> list[FrameType]:
    """The frames of the code that is called within a limit, the innermost first; none outside of one."""
    found: list[FrameType] = []
    while frame is not None:
        if frame.f_code is within.__code__:
            return found
        if frame.f_globals is not globals():
            found.append(frame)
        frame = frame.f_back
    return []


def _trace_nothing(*_: Any) -> None:
    return


_CLOCK = _Clock()


class _Limit:
    """A block of the main thread that may take some time."""

    __slots__ = ("_deadline", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = 0.0

    def __enter__(self) -> None:
        self._deadline = time.monotonic() + self._seconds
        _CLOCK.begin(self._deadline)

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        _CLOCK.end()
        if time.monotonic() > self._deadline and not isinstance(error, (TimeUp, KeyboardInterrupt)):
            raise TimeUp from error


class _NoLoop:
    """A block in which no event loop seems to run: code that is called has no business with its caller's."""

    __slots__ = ("_loop",)

    def __enter__(self) -> None:
        # Meant for those who make event loops; no other way lets plain code have one of its own.
        self._loop = asyncio._get_running_loop()  # noqa: SLF001
        asyncio._set_running_loop(None)  # noqa: SLF001

    def __exit__(self, *_: object) -> None:
        asyncio._set_running_loop(self._loop)  # noqa: SLF001


class _Into:
    """A block whose errors end in a future, and go no further."""

    __slots__ = ("_outcome",)

    def __init__(self, outcome: Future[Any]) -> None:
        self._outcome = outcome

    def __enter__(self) -> None:
        return

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if error is not None and not self._outcome.done():
            self._outcome.set_exception(error)
        return True


class _Aside(threading.Thread, Generic[T]):
    """A function in a thread of its own."""

    def __init__(self, function: Callable[[], T] | None = None) -> None:
        super().__init__(daemon=True, name="turngap-tool")
        self.outcome: Future[T] = Future()
        self._function = function
        self._context = contextvars.copy_context()

    def outcome_within(self, seconds: float) -> Future[T]:
        """The outcome, as soon as it is there.

        Raises:
            TimeUp: it is not there after `seconds`; the thread is left behind.
        """
        try:
            self.outcome.exception(seconds)
        except TimeoutError:
            self.abandon()
            raise TimeUp from None
        return self.outcome

    def abandon(self) -> None:
        """Ask the thread to end, and wait for nothing."""
        if self.is_alive() and self.ident is not None:
            # Loaded here, since it is rarely wanted. The error comes when the thread next runs Python.
            import ctypes  # noqa: PLC0415

            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(TimeUp))

    def run(self) -> None:
        """Work; whatever happens is in `outcome` and nowhere else."""
        with _Into(self.outcome):
            self._context.run(self._work)

    def _work(self) -> None:
        if self._function is not None:
            with _Into(self.outcome):
                self.outcome.set_result(self._function())


class _AsideLoop(_Aside[T]):
    """A coroutine in an event loop and a thread of its own. Its outcome is there before the loop is closed."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        super().__init__()
        self._coroutine = coroutine
        self._cancel: Callable[[], object] | None = None

    def abandon(self) -> None:
        """Cancel the coroutine, and be less polite a little later."""
        if self._cancel is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._cancel()
        later = threading.Timer(_GRACE, super().abandon)
        later.daemon = True
        later.start()

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            # What the coroutine leaves behind fails unheard: the call is over.
            runner.get_loop().set_exception_handler(lambda *_: None)
            with _Into(self.outcome):
                runner.run(self._main())

    async def _main(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type checker: a coroutine of a runner is one
        self._cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel)
        with _Into(self.outcome):
            self.outcome.set_result(await self._coroutine)
