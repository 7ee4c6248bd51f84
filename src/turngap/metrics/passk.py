"""pass^k: the chance that k independent trials of one task all succeed, estimated without bias from n trials.

Of all ways to pick k of the n trials, the share that holds successes only. It says nothing for a task with fewer than k
trials, so such a task is left out of the mean, and how many remain is part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

import msgspec

_TOLERANCE = 1e-6
"""A reward this close to 1 is a success; a partial reward never is."""


class PassHat(msgspec.Struct, frozen=True, kw_only=True):
    """pass^k over a set of tasks."""

    value: float | None
    """Mean over the tasks that have at least k trials; None when no task has."""
    n_tasks: int
    """Tasks in the mean."""
    left_out: int
    """Tasks with fewer than k valid trials."""


def succeeded(reward: float) -> bool:
    """Whether a trial's reward is 1, up to rounding."""
    return abs(reward - 1) <= _TOLERANCE


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """C(c, k) / C(n, k) for c successes in n trials; None for n < k.

    Raises:
        ValueError: k below 1, or not 0 <= c <= n.
    """
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"pass^{k} of {c} successes in {n} trials")
    return comb(c, k) / comb(n, k) if n >= k else None


def mean_pass_hat_k(trials: Iterable[tuple[int, int]], k: int) -> PassHat:
    """pass^k averaged over tasks.

    Args:
        trials: of each task, (valid trials, successes among them).
        k: trials that all have to succeed.

    Raises:
        ValueError: see `pass_hat_k`.
    """
    values = [pass_hat_k(n, c, k) for n, c in trials]
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else None
    return PassHat(value=mean, n_tasks=len(known), left_out=len(values) - len(known))
