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
from typing import Generic, TypeVar

from turngap.errors import UsageError

U = TypeVar("U")

_BREATH = 0.05  # seconds; work that never waits would else keep signals and progress from being heard until its end


async def run_units(units: Iterable[U], work: Callable[[U], Awaitable[None]], *, concurrency: int) -> None:
    """Do `work` for every unit, at most `concurrency` at a time, starting in the order of `units`.

    The first exception, of `work` or of the iterator, stops everything: work under way is cancelled and awaited, then
    that exception is raised. When the caller is cancelled, the same happens before the cancellation goes on.

    Raises:
        UsageError: `concurrency` is below 1.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency is at least 1, not {concurrency}")
    crew = _Crew(units, work)
    try:
        await crew.enlist(concurrency)
        await asyncio.wait(crew.tasks)
    except asyncio.CancelledError:
        crew.cancel()
        await asyncio.wait(crew.tasks)
        raise
    finally:
        crew.retrieve()
    if crew.first is not None:
        raise crew.first


class _Crew(Generic[U]):
    """The workers of one call."""

    def __init__(self, units: Iterable[U], work: Callable[[U], Awaitable[None]]) -> None:
        self._units = iter(units)
        self._work = work
        self._clock = asyncio.get_running_loop().time
        self._rested = self._clock()
        self.tasks: list[asyncio.Task[None]] = []
        self.first: BaseException | None = None
        """What stopped everything."""

    async def enlist(self, concurrency: int) -> None:
        """Start workers, one after the other, until there are enough or nothing is left for one more."""
        for _ in range(concurrency):
            self.tasks.append(asyncio.create_task(self._run()))
            # The worker sets its unit going before the next one starts. Started all at once, they would ask in one
            # burst, be answered in one burst and go on in step, each waiting for the rest of the crowd.
            await asyncio.sleep(0)
            if self.first is not None or self.tasks[-1].done():
                return

    async def _run(self) -> None:
        try:
            for unit in self._units:
                await self._work(unit)
                if self._clock() - self._rested > _BREATH:
                    await asyncio.sleep(0)
                    self._rested = self._clock()
        except BaseException as error:
            if self.first is None:
                self.first = error
                self.cancel()
            raise

    def cancel(self) -> None:
        """Cancel all workers but the one that asks for it."""
        current = asyncio.current_task()
        for task in self.tasks:
            if task is not current:
                task.cancel()

    def retrieve(self) -> None:
        """Look at every exception, so that the loop does not complain of those that nobody asked for."""
        for task in self.tasks:
            if task.done() and not task.cancelled():
                task.exception()
