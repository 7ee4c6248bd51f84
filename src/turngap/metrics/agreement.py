"""Agreement of judges beyond chance: Cohen's kappa for two, Fleiss' kappa for any fixed number.

Both come with a 95% percentile-bootstrap interval over items (2000 seeded draws). Kappa has no value where chance alone
already explains all agreement, that is when every label given is the same one: it is None then, never NaN and never 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

_RESAMPLES = 2000
_CELLS = 1_000_000
"""Random draws that are held in memory at once."""

_Counts = npt.NDArray[np.float64]


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far judges agree."""

    kappa: float | None
    """1 is full agreement, 0 what chance gives, below 0 less; None without items, or with one label throughout."""
    n: int
    """Items that all judges labelled."""
    observed: float | None
    """Share of pairs of judgements of one item that agree; None without items."""
    ci95: tuple[float, float] | None = None
    """Bootstrap interval of `kappa` over items; None when kappa is."""


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable], *, seed: int = 0) -> Agreement:
    """Agreement of two judges on the same items, chance taken from each judge's own habits.

    Raises:
        ValueError: sequences of unequal length.
    """
    if len(first) != len(second):
        raise ValueError(f"the judges labelled {len(first)} and {len(second)} items")
    codes = {label: code for code, label in enumerate(dict.fromkeys((*first, *second)))}
    k = max(len(codes), 1)
    # One row per item with a single 1: which pair of labels it got.
    table = np.zeros((len(first), k * k))
    for row, (one, other) in enumerate(zip(first, second, strict=True)):
        table[row, codes[one] * k + codes[other]] = 1

    def figures(sums: _Counts) -> tuple[_Counts, _Counts]:
        pairs = sums.reshape(-1, k, k) / len(first)
        observed = np.trace(pairs, axis1=1, axis2=2)
        expected = (pairs.sum(axis=2) * pairs.sum(axis=1)).sum(axis=1)
        return observed, expected

    return _agreement(table, figures, seed)


def fleiss_kappa(items: Sequence[Sequence[Hashable]], *, seed: int = 0) -> Agreement:
    """Agreement of a fixed number of judges (at least two), chance taken from the labels of all together.

    Args:
        items: the labels of each item, one per judge; which judge gave which does not matter.
        seed: of the bootstrap.

    Raises:
        ValueError: items with differing numbers of labels, or fewer than two.
    """
    judges = len(items[0]) if items else 2
    if judges < 2 or any(len(item) != judges for item in items):
        raise ValueError("every item needs the same number of labels, and at least two")
    codes = {label: code for code, label in enumerate(dict.fromkeys(label for item in items for label in item))}
    table = np.zeros((len(items), len(codes) + 1))
    for row, item in enumerate(items):
        for label in item:
            table[row, codes[label]] += 1
    counts = table[:, :-1]
    # The last column: agreeing pairs of judges, as a share of all pairs.
    table[:, -1] = (counts * (counts - 1)).sum(axis=1) / (judges * (judges - 1))

    def figures(sums: _Counts) -> tuple[_Counts, _Counts]:
        shares = sums[:, :-1] / (len(items) * judges)
        return sums[:, -1] / len(items), (shares * shares).sum(axis=1)

    return _agreement(table, figures, seed)


def _agreement(table: _Counts, figures: Callable[[_Counts], tuple[_Counts, _Counts]], seed: int) -> Agreement:
    """Kappa from column sums of `table` over all items, and over draws of items."""
    n = len(table)
    if n == 0:
        return Agreement(kappa=None, n=0, observed=None)
    observed, kappas = _kappas(figures(table.sum(axis=0, keepdims=True)))
    if not len(kappas):
        return Agreement(kappa=None, n=n, observed=float(observed[0]))
    random = np.random.default_rng(seed)
    drawn: list[_Counts] = []
    rows = max(1, _CELLS // n)
    for start in range(0, _RESAMPLES, rows):
        picks = random.integers(0, n, (min(rows, _RESAMPLES - start), n))
        times = np.stack([np.bincount(pick, minlength=n) for pick in picks])
        drawn.append(_kappas(figures(times @ table))[1])
    low, high = np.percentile(np.concatenate(drawn), (2.5, 97.5))
    return Agreement(kappa=float(kappas[0]), n=n, observed=float(observed[0]), ci95=(float(low), float(high)))


def _kappas(figures: tuple[_Counts, _Counts]) -> tuple[_Counts, _Counts]:
    """Observed agreement of every draw, and kappa of those draws where it is defined."""
    observed, expected = figures
    defined = expected < 1 - 1e-12
    return observed, (observed[defined] - expected[defined]) / (1 - expected[defined])
