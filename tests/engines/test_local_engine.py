"""Running units: order, concurrency, the first error, clean cancellation."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.engines import run_units
from turngap.errors import UsageError


class Yard:
    """Work that records when units begin and end, and waits where it is told to."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []
        self.active = 0
        self.most = 0

    async def work(self, unit: int) -> None:
        self.begun.append(unit)
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            await self.during(unit)
        except asyncio.CancelledError:
            self.cancelled.append(unit)
            raise
        finally:
            self.active -= 1
        self.ended.append(unit)

    async def during(self, unit: int) -> None:
        await asyncio.sleep(0)


@settings(deadline=None, max_examples=50)
@given(count=st.integers(0, 40), concurrency=st.integers(1, 12))
def test_every_unit_once_in_order(count: int, concurrency: int) -> None:
    """Units begin in the order of the iterator, each once, never more at a time than allowed."""
    yard = Yard()
    asyncio.run(run_units(range(count), yard.work, concurrency=concurrency))
    assert yard.begun == list(range(count))
    assert sorted(yard.ended) == list(range(count))
    assert yard.most <= concurrency


@pytest.mark.parametrize(("count", "concurrency"), [(0, 3), (2, 3), (3, 3), (50, 3), (400, 200)])
async def test_as_many_at_a_time_as_allowed(count: int, concurrency: int) -> None:
    """When units take their time, as many are under way as allowed, or as there are."""
    yard = Yard()
    full = asyncio.Event()

    async def during(_unit: int) -> None:
        if yard.active == min(count, concurrency):
            full.set()
        await full.wait()

    yard.during = during  # type: ignore[method-assign]
    await asyncio.wait_for(run_units(range(count), yard.work, concurrency=concurrency), 10)
    assert yard.most == min(count, concurrency)
    assert len(yard.ended) == count


async def test_workers_do_not_start_in_one_burst() -> None:
    """The first unit of a worker is set going before the next worker takes one."""
    log: list[str] = []

    async def work(unit: int) -> None:
        log.append(f"ask {unit}")
        await asyncio.sleep(0.01)

    def units() -> Iterator[int]:
        for number in range(4):
            log.append(f"draw {number}")
            yield number

    await run_units(units(), work, concurrency=4)
    assert log == [f"{what} {number}" for number in range(4) for what in ("draw", "ask")]


async def test_units_are_drawn_when_a_worker_is_free() -> None:
    """The iterator is never ahead of the work, so a stream of any length is not held in memory."""
    yard = Yard()
    drawn = 0

    def units() -> Iterator[int]:
        nonlocal drawn
        for number in range(50):
            drawn += 1
            assert drawn - len(yard.ended) <= 5
            yield number

    await run_units(units(), yard.work, concurrency=4)
    assert drawn == 50


async def test_a_slow_unit_does_not_hold_the_others() -> None:
    """While one unit waits, the other workers go on."""
    yard = Yard()
    gate = asyncio.Event()

    async def during(unit: int) -> None:
        if unit == 0:
            await gate.wait()
        elif unit == 19:
            gate.set()

    yard.during = during  # type: ignore[method-assign]
    await run_units(range(20), yard.work, concurrency=2)
    assert yard.ended == [*range(1, 20), 0]


async def test_first_exception_stops_everything() -> None:
    """The first error is raised as it is, work under way is cancelled and awaited, nothing new begins."""
    yard = Yard()

    async def during(unit: int) -> None:
        if unit == 3:
            raise ArithmeticError("unit 3")
        await asyncio.sleep(60)

    yard.during = during  # type: ignore[method-assign]
    with pytest.raises(ArithmeticError, match="unit 3"):
        await run_units(range(100), yard.work, concurrency=8)
    assert yard.begun == [0, 1, 2, 3]  # those after it had not begun, and never will
    assert yard.cancelled == [0, 1, 2]
    assert yard.active == 0
    assert not yard.ended


async def test_error_of_the_iterator() -> None:
    """An error while units are generated stops the run like one of the work."""
    yard = Yard()

    def units() -> Iterator[int]:
        yield 0
        yield 1
        raise ArithmeticError("the data")

    with pytest.raises(ArithmeticError, match="the data"):
        await run_units(units(), yard.work, concurrency=3)
    assert yard.active == 0


async def test_several_errors_make_no_noise() -> None:
    """When clean-up fails too, the first error is the one raised and the loop is told of no other."""
    heard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))

    async def work(unit: int) -> None:
        if unit == 2:
            raise ArithmeticError("first")
        try:
            await asyncio.sleep(60)
        finally:
            raise RuntimeError("clean-up")

    with pytest.raises(ArithmeticError, match="first"):
        await run_units(range(10), work, concurrency=4)
    gc.collect()
    await asyncio.sleep(0)
    assert heard == []


async def test_work_that_cancels_itself_is_not_lost() -> None:
    """A unit whose work raises CancelledError by itself ends the run, instead of vanishing."""

    async def work(unit: int) -> None:
        if unit == 1:
            raise asyncio.CancelledError
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        await run_units(range(5), work, concurrency=2)


async def test_cancellation_is_clean() -> None:
    """RUN-09: a cancelled run awaits the clean-up of all work under way, and no task outlives it."""
    yard = Yard()
    yard.during = lambda unit: asyncio.sleep(60)  # type: ignore[method-assign]
    before = asyncio.all_tasks()
    running = asyncio.create_task(run_units(range(100), yard.work, concurrency=7))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(yard.cancelled) == list(range(7))
    assert yard.active == 0
    assert asyncio.all_tasks() == before


async def test_finished_work_is_kept_on_cancellation() -> None:
    """RUN-09: units that were over before the cancellation stay over."""
    yard = Yard()

    async def during(unit: int) -> None:
        if unit >= 10:
            await asyncio.sleep(60)

    yard.during = during  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run_units(range(100), yard.work, concurrency=3), 0.05)
    assert sorted(yard.ended) == list(range(10))


async def test_work_that_never_waits_lets_others_be_heard() -> None:
    """RUN-09: units that are done without ever waiting do not keep a cancellation, or a timer, until the end."""
    done = 0

    async def work(_unit: int) -> None:
        nonlocal done
        done += 1
        time.sleep(0.001)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run_units(range(5000), work, concurrency=3), 0.1)
    assert 0 < done < 2000


@pytest.mark.parametrize("concurrency", [0, -1])
async def test_no_workers(concurrency: int) -> None:
    """A concurrency below one is wrong usage."""
    with pytest.raises(UsageError, match="at least 1"):
        await run_units([1], Yard().work, concurrency=concurrency)


def test_again_from_other_loops_and_threads() -> None:
    """RUN-08: two runs in one process, from a running loop, and from two threads, all work."""
    yards = [Yard() for _ in range(5)]

    def one(yard: Yard) -> None:
        asyncio.run(run_units(range(20), yard.work, concurrency=4))

    async def nested() -> None:
        await asyncio.gather(*(run_units(range(20), yard.work, concurrency=4) for yard in yards[2:4]))

    one(yards[0])
    one(yards[0])
    asyncio.run(nested())
    threads = [threading.Thread(target=one, args=(yard,)) for yard in (yards[1], yards[4])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(yard.ended) for yard in yards] == [40, 20, 20, 20, 20]
