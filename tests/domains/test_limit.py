"""Time limits for code that loops, sleeps or waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from turngap.domains.limit import TimeUp, finished, finished_soon, within

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


def _for_ever() -> None:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue


def _deep_for_ever() -> None:
    def inner() -> None:
        try:
            time.sleep(60)
        finally:
            len("tidied up")

    while True:
        try:
            inner()
        except BaseException:
            continue


def _spin_for_ever() -> None:
    count = 0
    while True:
        try:
            count += 1
        except BaseException:
            continue


@pytest.mark.parametrize("deaf", [_for_ever, _deep_for_ever, _spin_for_ever])
def test_code_that_catches_everything_ends(deaf: Callable[[], None]) -> None:
    """A retry that catches the interruption is interrupted again, also where it catches it; tracing stays as it was."""
    traced = sys.gettrace()
    started = time.monotonic()
    with pytest.raises(TimeUp):
        within(_LIMIT, deaf)
    assert time.monotonic() - started < 10
    assert sys.gettrace() is traced


def test_what_comes_late_does_not_count() -> None:
    """A value or an error of code that caught the interruption is too late."""

    def swallows() -> str:
        try:
            _spin()
        except BaseException:
            return "survived"
        return ""

    def answers_with_an_error() -> None:
        try:
            _spin()
        except BaseException:
            raise ValueError("late") from None

    for late in (swallows, answers_with_an_error):
        with pytest.raises(TimeUp):
            within(_LIMIT, late)


def test_code_that_never_ends_is_told_of() -> None:
    """What no interruption ends, since it catches them on two levels, holds everything up, and a warning says where."""
    began = time.monotonic()
    heard: list[Warning] = []

    def deaf() -> None:
        while not heard and time.monotonic() - began < 40:
            try:
                while not heard and time.monotonic() - began < 40:
                    try:
                        time.sleep(1)
                    except BaseException as error:
                        heard.extend([error] if isinstance(error, Warning) else [])
            except BaseException as error:
                heard.extend([error] if isinstance(error, Warning) else [])

    with pytest.raises(TimeUp):
        within(_LIMIT, deaf)
    assert "test_limit.py:" in str(heard[0]) and "catches its time limit again and again" in str(heard[0])


def test_alarms_of_the_code_are_its_own() -> None:
    """Taking all alarms away takes no limit away, and a time-out of the code's own works inside the limit."""

    def disarms() -> None:
        signal.alarm(0)
        _spin()

    class Late(Exception):
        pass

    def ring(*_: object) -> None:
        raise Late

    def has_its_own() -> str:
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        try:
            time.sleep(60)
        except Late:
            return "gave up"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return ""

    with pytest.raises(TimeUp):
        within(_LIMIT, disarms)
    assert within(10, has_its_own) == "gave up"


def test_a_limit_inside_a_limit() -> None:
    """Both hold, whichever is the shorter one."""
    started = time.monotonic()
    for outer, inner in ((10, _LIMIT), (_LIMIT, 10)):
        with pytest.raises(TimeUp):
            within(outer, lambda inner=inner: within(inner, lambda: time.sleep(3)))
    assert time.monotonic() - started < 3


async def test_plain_code_finds_no_event_loop() -> None:
    """It cannot stop or cancel what runs here, and it may run a loop of its own."""
    with pytest.raises(RuntimeError, match="no running event loop"):
        within(1, asyncio.get_running_loop)
    assert within(1, lambda: asyncio.run(_answer())) == 5
    assert asyncio.get_running_loop().is_running()


async def _answer() -> int:
    await asyncio.sleep(0)
    return 5


async def _cancels_itself() -> None:
    raise asyncio.CancelledError


async def _is_cancelled() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(1)


async def _stops_its_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(1)


async def _interrupts() -> None:
    raise KeyboardInterrupt


async def _exits() -> None:
    raise SystemExit(3)


async def _leaves_an_interrupt() -> int:
    left = asyncio.ensure_future(_interrupts())
    await asyncio.sleep(0)
    return 5 if left else 0


async def _stops_iterating() -> None:
    raise StopAsyncIteration


@pytest.mark.parametrize(
    ("upset", "error"),
    [
        (_cancels_itself, asyncio.CancelledError),
        (_is_cancelled, asyncio.CancelledError),
        (_stops_its_loop, RuntimeError),
        (_interrupts, KeyboardInterrupt),
        (_exits, SystemExit),
        (_leaves_an_interrupt, KeyboardInterrupt),
        (_stops_iterating, StopAsyncIteration),
    ],
)
async def test_a_coroutine_upsets_nobody_else(
    upset: Callable[[], Coroutine[Any, Any, Any]], error: type[BaseException]
) -> None:
    """Stopping the event loop, cancelling every task and asking the process to end are errors of this one call."""
    other = asyncio.create_task(_answer())
    for outcome in (await finished_soon(10, upset()), finished(10, upset())):
        assert isinstance(outcome.exception(), error)
    assert await other == 5


async def test_coroutines_end_at_the_limit() -> None:
    """A coroutine that waits too long is cancelled; one that does not heed it, or blocks, is left behind."""
    heeded = threading.Event()

    async def polite() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            heeded.set()

    async def deaf() -> None:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.1)
        raise ValueError("too late to matter")

    async def blocks() -> None:
        time.sleep(3)

    assert (await finished_soon(10, _answer())).result() == finished(10, _answer()).result() == 5
    started = time.monotonic()
    for coroutine in (polite, deaf, blocks):
        with pytest.raises(TimeUp):
            await finished_soon(_LIMIT, coroutine())
        with pytest.raises(TimeUp):
            finished(_LIMIT, coroutine())
    assert time.monotonic() - started < 2
    assert heeded.wait(10)


async def test_a_coroutine_that_loops_does_not_loop_for_ever() -> None:
    """Left behind, it would take half of the machine from all who come later; so it is ended from outside."""
    ended = threading.Event()

    async def loops() -> None:
        try:
            _spin()
        finally:
            ended.set()

    with pytest.raises(TimeUp):
        await finished_soon(_LIMIT, loops())
    assert ended.wait(10)


async def test_others_go_on_while_a_coroutine_waits() -> None:
    """Ten that wait 0.2 s each take hardly longer together."""
    started = time.monotonic()
    await asyncio.gather(*(finished_soon(10, asyncio.sleep(0.2)) for _ in range(10)))
    assert time.monotonic() - started < 1.5


async def test_a_cancelled_caller_cancels_the_coroutine() -> None:
    """When the trial is stopped, its tool does not go on in secret."""
    begun, gone = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            gone.set()

    trial = asyncio.create_task(finished_soon(60, work()))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert gone.wait(10)
