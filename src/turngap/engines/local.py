"""Run units in this process: some workers of one event loop that share one ordered iterator.

The iterator is advanced only when a worker is free, so units start in order (conversation by conversation, which is
what prompt caches of servers like) and a stream of any length is never held in memory. `work` stores its own result;
an exception that leaves it is not a failed unit but the end of the run. Nothing outlives the call: no task, no loop and
no client is kept, so it can be called again, from another loop or thread.

Non-goals: retries, time-outs and rate limits (the model's business), and capturing failed units (the protocol's).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from turngap.errors import UsageError

U = TypeVar("U")


async def run_units(units: Iterable[U], work: Callable[[U], Awaitable[None]], *, concurrency: int) -> None:
    """Do `work` for every unit, at most `concurrency` at a time, starting in the order of `units`.

    The first exception, of `work` or of the iterator, stops everything: work under way is cancelled and awaited, then
    that exception is raised. When the caller is cancelled, the same happens before the cancellation goes on.

    Raises:
        UsageError: `concurrency` is below 1.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency is at least 1, not {concurrency}")
    iterator = iter(units)
    first: list[BaseException] = []

    async def worker() -> None:
        try:
            for unit in iterator:
                await work(unit)
        except BaseException as error:
            if not first:
                first.append(error)
                _cancel(crew)
            raise

    crew = [asyncio.create_task(worker()) for _ in range(concurrency)]
    try:
        await asyncio.wait(crew)
    except asyncio.CancelledError:
        _cancel(crew)
        await asyncio.wait(crew)
        raise
    finally:
        _retrieve(crew)
    if first:
        raise first[0]


def _cancel(crew: list[asyncio.Task[None]]) -> None:
    current = asyncio.current_task()
    for task in crew:
        if task is not current:
            task.cancel()


def _retrieve(crew: list[asyncio.Task[None]]) -> None:
    """Look at every exception, so that the loop does not complain of those that nobody asked for."""
    for task in crew:
        if task.done() and not task.cancelled():
            task.exception()
