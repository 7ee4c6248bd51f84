"""Deal the units of many streams to workers so that each worker stays with one stream as long as it can.

The decisions of a conversation share most of their prompt, so a server that keeps prompts (a prefix cache) answers them
quickest one after the other. `Streams` gives a worker that comes back the next unit of the stream that was let go last,
which is its own, then opens another stream, and only when there is none left lets workers share one: so neither caches
nor workers lie idle. No more streams are open than there are workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Generic, Self, TypeVar

U = TypeVar("U")


class _Stream(Generic[U]):
    def __init__(self, units: Sequence[U]) -> None:
        self.left = deque(units)
        self.workers = 0


class Streams(Iterator["Claim[U]"], Generic[U]):
    """The units of streams, as claims that are let go when their unit is done; for `run_units`.

    Args:
        streams: the units of each, in the order in which they follow each other.
    """

    def __init__(self, streams: Iterable[Sequence[U]]) -> None:
        self._source = iter(streams)
        self._free: list[_Stream[U]] = []
        self._held: list[_Stream[U]] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Claim[U]:
        stream = self._free.pop() if self._free else self._opened()
        if stream is None:
            stream = max(self._held, key=lambda one: len(one.left), default=None)
            if stream is None or not stream.left:
                raise StopIteration
        elif not stream.workers:
            self._held.append(stream)
        stream.workers += 1
        return Claim(self, stream)

    def _opened(self) -> _Stream[U] | None:
        return next((_Stream(units) for units in self._source if units), None)

    def let_go(self, stream: _Stream[U]) -> None:
        """A unit of the stream is done."""
        stream.workers -= 1
        if not stream.workers:
            self._held = [one for one in self._held if one is not stream]
            if stream.left:
                self._free.append(stream)


class Claim(AbstractContextManager[U], Generic[U]):
    """One unit, while it is worked on."""

    def __init__(self, streams: Streams[U], stream: _Stream[U]) -> None:
        self._streams, self._stream = streams, stream
        self._unit = stream.left.popleft()

    def __enter__(self) -> U:
        return self._unit

    def __exit__(self, *_exception: object) -> None:
        self._streams.let_go(self._stream)
