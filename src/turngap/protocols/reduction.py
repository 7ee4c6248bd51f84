"""Find a small part of a sequence for which something still holds: delta debugging, without randomness."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def reduce(parts: Sequence[T], holds: Callable[[tuple[T, ...]], Awaitable[bool]]) -> tuple[T, ...]:
    """Leave out as much as possible, first in large pieces, then one by one.

    Args:
        parts: what may be left out. That `holds` for all of them is taken for granted.
        holds: asked about parts in their order; whether what is looked for is still there. Never asked twice the same.

    Returns:
        Parts of which none can be left out alone. `holds` for them.
    """
    known: dict[tuple[int, ...], bool] = {}

    async def without(kept: list[int], left_out: list[int]) -> bool:
        key = tuple(index for index in kept if index not in left_out)
        if key not in known:
            known[key] = await holds(tuple(parts[index] for index in key))
        return known[key]

    kept = list(range(len(parts)))
    size = max(len(kept), 1)
    while kept:
        changed = False
        # From the far end of the history on: what lies long ago is the likeliest to make no difference.
        at = 0
        while at < len(kept):
            piece = kept[at : at + size]
            if await without(kept, piece):
                kept = [index for index in kept if index not in piece]
                changed = True
            else:
                at += size
        if size == 1 and not changed:
            break
        size = max(1, min(size // 2, len(kept)))
    return tuple(parts[index] for index in kept)
