"""Time limits for code that loops, sleeps or waits for ever."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from turngap.domains.limit import TimeUp, to_its_end, within, within_soon

_LIMIT = 0.05


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Set when the test is over, so that threads that were left behind end."""
    event = threading.Event()
    yield event
    event.set()


def _elsewhere(function: Callable[[], object]) -> list[object]:
    """What a function returns or raises in a thread that is not the main one."""
    found: list[object] = []

    def work() -> None:
        try:
            found.append(function())
        except TimeUp as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found


def test_what_is_quick_enough_returns_or_raises() -> None:
    """Values and errors of the function pass, in the main thread and in others."""
    assert within(_LIMIT, lambda: 5) == 5
    assert _elsewhere(lambda: within(_LIMIT, lambda: 5)) == [5]
    with pytest.raises(ZeroDivisionError):
        within(_LIMIT, lambda: 1 // 0)


def _spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("hang", [_spin, lambda: time.sleep(60), lambda: threading.Event().wait()])
def test_the_main_thread_is_interrupted(hang: Callable[[], None]) -> None:
    """A loop, a sleep and a wait for nothing end at the limit, and the alarm is left as it was."""
    before = signal.getsignal(signal.SIGALRM)
    started = time.monotonic()
    with pytest.raises(TimeUp):
        within(_LIMIT, hang)
    assert time.monotonic() - started < 5
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_limit_is_no_exception_of_the_code() -> None:
    """Code that catches every Exception does not swallow the limit."""

    def stubborn() -> None:
        try:
            _spin()
        except Exception:
            _spin()

    with pytest.raises(TimeUp):
        within(_LIMIT, stubborn)


def test_other_threads_leave_the_code_behind(released: threading.Event) -> None:
    """Outside the main thread the wait ends at the limit, whatever the code does."""
    found = _elsewhere(lambda: within(_LIMIT, released.wait))
    assert [type(one) for one in found] == [TimeUp]


def test_an_alarm_in_use_is_left_alone(released: threading.Event) -> None:
    """Where somebody else's alarm is set, it stays set."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        with pytest.raises(TimeUp):
            within(_LIMIT, released.wait)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def _answer() -> int:
    await asyncio.sleep(0)
    return 5


async def _cancels_itself() -> None:
    raise asyncio.CancelledError


async def test_coroutines_end_at_the_limit() -> None:
    """A coroutine that waits too long is cancelled; one that does not heed it is left behind."""
    heeded = []
    over = asyncio.Event()

    async def polite() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            heeded.append(True)

    async def deaf() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("too late to matter")

    assert await within_soon(_LIMIT, _answer()) == 5
    for coroutine in (polite(), deaf()):
        with pytest.raises(TimeUp):
            await within_soon(_LIMIT, coroutine)
    assert heeded == [True]
    over.set()
    await asyncio.sleep(0.01)


async def test_a_coroutine_that_cancels_itself_does_not_cancel_the_caller() -> None:
    """Cancelling itself is the code's error, not a wish to stop the trial."""
    with pytest.raises(RuntimeError, match="it cancelled itself"):
        await within_soon(_LIMIT, _cancels_itself())
    with pytest.raises(RuntimeError, match="it cancelled itself"):
        to_its_end(_LIMIT, _cancels_itself())


async def test_a_cancelled_caller_cancels_the_coroutine() -> None:
    """When the trial is stopped, its tool does not go on in secret."""
    gone = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            gone.append(True)

    trial = asyncio.create_task(within_soon(60, work()))
    await asyncio.sleep(0.01)
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    await asyncio.sleep(0)
    assert gone == [True]


async def test_a_coroutine_can_be_waited_for_inside_a_running_loop() -> None:
    """`to_its_end` works wherever it is called, and has a limit too."""
    assert to_its_end(1, _answer()) == 5
    with pytest.raises(TimeUp):
        to_its_end(_LIMIT, asyncio.sleep(0.3))
