"""How far two orders agree: Kendall's tau-b, which allows for ties."""

from __future__ import annotations

import math
from collections.abc import Sequence


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings of the same things.

    (concordant - discordant pairs) / sqrt(pairs not tied in the first x pairs not tied in the second): 1 for the same
    order, -1 for the opposite one.

    Returns:
        In [-1, 1]; None with fewer than two things, or where one of the rankings has ties only.

    Raises:
        ValueError: sequences of unequal length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values")
    both = untied_first = untied_second = 0
    for at in range(len(first)):
        for before in range(at):
            one = _sign(first[at] - first[before])
            other = _sign(second[at] - second[before])
            both += one * other
            untied_first += one != 0
            untied_second += other != 0
    if not untied_first or not untied_second:
        return None
    return both / math.sqrt(untied_first * untied_second)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
