"""Two models on the same units: differences, exact tests, correction for several tests, and how much data it takes.

The unit that is drawn, flipped or counted is the conversation: decisions of one conversation resemble each other, so a
test that takes them for independent finds too much. Everything is deterministic; nothing to compare gives None, never
NaN. Formulas with their sources: docs/compare.md.

Non-goals: which units are paired, and what the result is called (`turngap.analysis.compare`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import msgspec
import numpy as np

from turngap.metrics.interval import LEVEL, Interval, cluster_interval

_FLIPS = 20_000
"""Random sign patterns of a test that cannot be computed exactly."""
_CELLS = 1_000_000
"""Random signs that are held in memory at once."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How much higher the second of two is than the first; in [-1, 1], `value` and `ci95` None exactly when n is 0."""

    value: float | None
    n: int
    """Pairs of units."""
    clusters: int
    """Conversations that the pairs belong to."""
    ci95: Interval | None = None
    """At 95% unless another level was asked for."""

    @property
    def clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.ci95 is not None and not self.ci95[0] <= 0 <= self.ci95[1]


def paired_difference(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable], *, level: float = LEVEL
) -> Difference:
    """Mean of the second minus mean of the first, over pairs of values of the same units.

    The interval is that of `turngap.metrics.interval.cluster_interval`. With one binary pair in each conversation it
    leaves zero out exactly where McNemar's exact test finds the difference, at 1 - `level`.

    Args:
        first: value of each unit in the first model, in [0, 1].
        second: value of the same unit in the second model.
        clusters: the conversation of each unit.
        level: of the interval.

    Raises:
        ValueError: sequences of unequal length.
    """
    differences = _differences(first, second, clusters)
    if not differences:
        return Difference(value=None, n=0, clusters=0)
    return Difference(
        value=math.fsum(differences) / len(differences),
        n=len(differences),
        clusters=len(set(clusters)),
        ci95=cluster_interval(differences, clusters, bounds=(-1.0, 1.0), level=level),
    )


def difference_of(first: tuple[float, Interval], second: tuple[float, Interval]) -> tuple[float, Interval]:
    """Second less first, for two estimates with their own 95% intervals, however these were found.

    Each end takes the distances of the two estimates to their own ends and adds them as variances are added (MOVER:
    Newcombe; Zou and Donner). It takes the estimates for independent, and errs on the wide side where they rise and
    fall together. Unlike a bootstrap it knows that 0 of 77 is not exactly 0.
    """
    (one, (one_low, one_high)), (other, (other_low, other_high)) = first, second
    value = other - one
    low = value - math.hypot(other - other_low, one_high - one)
    high = value + math.hypot(other_high - other, one - one_low)
    return value, (max(-1.0, low), min(1.0, high))


class Discordance(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of binary outcomes that differ, and McNemar's exact test of whether they favour one side."""

    gained: int
    """The second succeeds where the first fails."""
    lost: int
    """The first succeeds where the second fails."""
    p: float
    """Two-sided; 1 where no pair differs."""


def mcnemar(gained: int, lost: int) -> Discordance:
    """McNemar's exact test: of the pairs that differ, how many favour one side is binomial with 1/2.

    Raises:
        ValueError: a negative count.
    """
    if gained < 0 or lost < 0:
        raise ValueError(f"{gained} gained, {lost} lost")
    n, fewer = gained + lost, min(gained, lost)
    # Integers throughout: exact for any n, and never 0 by underflow before the division.
    tail = sum(math.comb(n, k) for k in range(fewer + 1))
    p = min(1.0, 2 * tail / 2**n)
    return Discordance(gained=gained, lost=lost, p=p)


def sign_flip(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable], *, seed: int
) -> float | None:
    """Two-sided p-value of no difference: in each conversation the two models might as well be swapped.

    The sum of the differences of a conversation gets a random sign, and the p-value is the share of sign patterns whose
    total is at least as far from zero as the observed one. Exact where the sums are whole numbers (all binary figures)
    or few; otherwise from 20,000 seeded patterns, the observed one counted among them. With one binary unit in each
    conversation it is McNemar's exact test.

    Returns:
        The p-value; None without pairs.

    Raises:
        ValueError: sequences of unequal length.
    """
    differences = _differences(first, second, clusters)
    if not differences:
        return None
    members: dict[Hashable, list[float]] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        members.setdefault(cluster, []).append(difference)
    # Sorted sums: neither the order of the units nor the names of conversations reach the random signs.
    sums = sorted(abs(total) for total in map(math.fsum, members.values()) if total)
    signed = abs(math.fsum(differences))
    if not sums:
        return 1.0
    if all(total.is_integer() for total in sums):
        return _exact([int(total) for total in sums], round(signed))
    random = np.random.default_rng(seed)
    reached, rows = 0, max(1, _CELLS // len(sums))
    for start in range(0, _FLIPS, rows):
        signs = random.integers(0, 2, (min(rows, _FLIPS - start), len(sums))) * 2 - 1
        reached += int((np.abs(signs @ np.array(sums)) >= signed - 1e-9).sum())
    return (1 + reached) / (1 + _FLIPS)


def _exact(sums: Sequence[int], reached: int) -> float:
    """Share of sign patterns with |total| >= `reached`, by adding one conversation after the other."""
    most = sum(sums)
    chance = np.zeros(2 * most + 1)  # of each total, from -most to most
    chance[most] = 1.0
    for total in sums:
        following = np.zeros_like(chance)
        following[total:] += chance[: len(chance) - total] / 2
        following[: len(chance) - total] += chance[total:] / 2
        chance = following
    far = np.abs(np.arange(-most, most + 1)) >= reached
    return min(1.0, float(chance[far].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the p-values adjusted for how many tests there are, in the given order."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def spread(first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Variance of what one conversation contributes to the mean difference, for `conversations_needed`.

    The mean over decisions is a ratio of sums, so a conversation's contribution is linearised: (sum of its differences
    - its size x mean difference) / mean size.

    Returns:
        The variance; None with fewer than two conversations.
    """
    differences = _differences(first, second, clusters)
    members: dict[Hashable, list[float]] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        members.setdefault(cluster, []).append(difference)
    if len(members) < 2:
        return None
    mean, size = math.fsum(differences) / len(differences), len(differences) / len(members)
    return math.fsum(((math.fsum(one) - len(one) * mean) / size) ** 2 for one in members.values()) / len(members)


def conversations_needed(
    difference: float, variance: float | None, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """How many conversations a two-sided paired test needs to see a difference.

    n = (z(1 - alpha/2) sqrt(v + d^2) + z(power) sqrt(v))^2 / d^2, for a difference d and a variance v of what one
    conversation contributes: under no difference the spread around zero is v + d^2, under d it is v. With one binary
    unit in each conversation v + d^2 is the share of discordant pairs, and this is Connor's formula for McNemar's test.

    Args:
        difference: to be seen, its sign does not matter.
        variance: from `spread`.
        power: how often a difference of that size is to be found.
        alpha: level of the test.

    Returns:
        Conversations; None where the difference is 0, or where nothing varies so that nothing can be said.
    """
    if not difference or not variance:
        return None
    normal = NormalDist()
    at_level, at_power = normal.inv_cdf(1 - alpha / 2), normal.inv_cdf(power)
    reach = at_level * math.sqrt(variance + difference**2) + at_power * math.sqrt(variance)
    return math.ceil((reach / difference) ** 2 - 1e-9)


def _differences(first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"{len(first)} and {len(second)} values, {len(clusters)} clusters")
    return [other - one for one, other in zip(first, second, strict=True)]
