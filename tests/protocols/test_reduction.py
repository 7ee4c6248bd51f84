"""Delta debugging: small, still true, asked no more than it must."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.protocols.reduction import reduce


def run(parts: list[int], needed: set[int]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Reduce to what is needed; also what was asked."""
    asked: list[tuple[int, ...]] = []

    async def holds(kept: tuple[int, ...]) -> bool:
        asked.append(kept)
        return needed <= set(kept)

    return asyncio.run(reduce(parts, holds)), asked


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(st.integers(0, 20), st.sets(st.integers(0, 19)))
def test_exactly_what_is_needed_is_left(length: int, needed: set[int]) -> None:
    """Where the parts matter one by one, all others go, the order stays, and nothing is asked twice."""
    parts = list(range(length))
    needed &= set(parts)
    found, asked = run(parts, needed)
    assert found == tuple(sorted(needed))
    assert len(asked) == len(set(asked))


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(st.sets(st.sets(st.integers(0, 7), max_size=3).map(frozenset), min_size=1, max_size=4))
def test_nothing_can_be_left_out_alone(wanted: set[frozenset[int]]) -> None:
    """Whatever holds, the result holds and none of its parts is superfluous by itself."""

    async def holds(kept: tuple[int, ...]) -> bool:
        return any(one <= set(kept) for one in wanted)

    found = asyncio.run(reduce(range(8), holds))
    assert asyncio.run(holds(found))
    assert not any(asyncio.run(holds(tuple(part for part in found if part != one))) for one in found)


def test_large_pieces_go_first() -> None:
    """Of 64 parts of which none is needed, one question is enough."""
    found, asked = run(list(range(64)), set())
    assert found == () and asked == [()]
