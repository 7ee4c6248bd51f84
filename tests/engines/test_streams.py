"""Units of many streams dealt to workers: each stays with its stream, and nobody is idle while there is work."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from turngap.engines.local import run_units
from turngap.engines.streams import Claim, Streams

_Unit = tuple[str, int]


def _streams(*sizes: int) -> list[list[_Unit]]:
    return [[(chr(ord("a") + at), number) for number in range(size)] for at, size in enumerate(sizes)]


def _dealt(streams: list[list[_Unit]], concurrency: int) -> tuple[list[_Unit], list[int]]:
    """The units in the order in which they began, and how many were under way at each beginning."""
    began: list[_Unit] = []
    under_way: list[int] = []
    now = 0

    async def work(claim: Claim[_Unit]) -> None:
        nonlocal now
        with claim as unit:
            now += 1
            began.append(unit)
            under_way.append(now)
            for _ in range(12):  # longer than it takes to set all workers going
                await asyncio.sleep(0)
            now -= 1

    asyncio.run(run_units(Streams(streams), work, concurrency=concurrency))
    return began, under_way


def test_a_worker_alone_goes_from_stream_to_stream() -> None:
    """One after the other, each from its beginning to its end."""
    assert _dealt(_streams(3, 0, 2), 1)[0] == [("a", 0), ("a", 1), ("a", 2), ("c", 0), ("c", 1)]


def test_two_workers_have_a_stream_each() -> None:
    """While there are streams for all, no two units of one stream are under way, and each comes in order."""
    began, _ = _dealt(_streams(4, 4, 4, 4), 2)
    assert [name for name, _ in began[:8]] == ["a", "b"] * 4
    assert [name for name, _ in began[8:]] == ["c", "d"] * 4


def test_the_last_stream_is_shared() -> None:
    """Where one stream is all that is left, all workers work on it."""
    began, under_way = _dealt(_streams(9), 3)
    assert began == [("a", number) for number in range(9)]
    assert max(under_way) == 3


@given(st.lists(st.integers(0, 6), max_size=8), st.integers(1, 5))
def test_every_unit_is_dealt_once_and_in_the_order_of_its_stream(sizes: list[int], concurrency: int) -> None:
    """Whatever the streams and however many the workers."""
    streams = _streams(*sizes)
    began, under_way = _dealt(streams, concurrency)
    assert Counter(began) == Counter(unit for stream in streams for unit in stream)
    for stream in streams:
        assert [unit for unit in began if unit in stream] == stream
    assert max(under_way, default=0) <= concurrency
    assert not began or max(under_way) == min(concurrency, len(began))
