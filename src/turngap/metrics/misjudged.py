"""What a judge's errors do to a figure, and the figure without them, from labels that people gave to a sample.

The judged units of a run fall into strata, in each of which the judge said one thing (approved or rejected). People
label a random sample of each stratum. With W the share of a stratum among all units and p the share of its labelled
units that people call good, the share of good units is

    corrected = sum of W p over all strata

(double sampling: Tenenbein, JASA 65, 1970). Sensitivity and specificity follow from the same sums, and with them this
is the very number that Rogan and Gladen's formula gives (Am J Epidemiol 107, 1978),

    corrected = (apparent + specificity - 1) / (sensitivity + specificity - 1),

apparent being the share that the judge approves. The sum cannot leave [0, 1]; the formula is needed, and can, where
sensitivity and specificity come from another run (`transported`).

Intervals carry both samplings: the units of the run, by drawing whole clusters again, and the labels, by drawing each p
from its Jeffreys posterior Beta(good + 1/2, bad + 1/2). The percentiles of 4000 such joint draws are the interval.

A caller must know: labels are taken to be right, and those of one stratum to be a simple random sample of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from turngap.metrics.interval import Interval
from turngap.metrics.resample import draws

_DRAWS = 4000
_LEAST = 1e-9

Numbers = npt.NDArray[np.float64]


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """Units of which the judge said the same."""

    approved: bool
    units: tuple[int, ...]
    """How many units each cluster (conversation) has in it; the clusters in the same order in every stratum."""
    good: int
    """Labelled units that people call good."""
    bad: int


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number and its 95% interval; both None where it is not defined."""

    value: float | None
    ci95: Interval | None = None


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """A judge held against people, for all units of a run and not only for the labelled ones."""

    apparent: Estimate
    """Share of units that the judge approves."""
    corrected: Estimate
    """Share of units that are good."""
    sensitivity: Estimate
    """Of the good units, the share that the judge approves."""
    specificity: Estimate
    """Of the bad units, the share that the judge rejects."""
    agreement: Estimate
    """Share of units of which the judge says what people say."""
    kappa: Estimate
    """Cohen's kappa of judge and people."""
    bias: Estimate
    """`apparent` less `corrected`: positive for a judge that is too kind."""


class Transported(msgspec.Struct, frozen=True, kw_only=True):
    """Another run's figure, corrected by this judge's sensitivity and specificity."""

    apparent: Estimate
    corrected: Estimate
    """Within [0, 1]; not defined where `raw` is not, or lies outside."""
    raw: float | None
    """What the formula gives. It is above 1 where the judge approves more than its sensitivity allows, below 0 where it
    approves less than its false approvals alone would be: its errors then differ between the two runs."""


class _Draws(msgspec.Struct, frozen=True):
    """Quantities of the point estimate (first entry) and of every joint draw behind it."""

    approved: Numbers
    """Share of units approved."""
    hits: Numbers
    """Share of units that are approved and good."""
    misses: Numbers
    """Share of units that are rejected and good."""


def assess(strata: Sequence[Stratum], *, seed: int) -> Assessment:
    """Hold a judge against people.

    Args:
        strata: all units of the run, each in one stratum.
        seed: of the draws; equal input gives equal output.

    Raises:
        ValueError: a stratum has units and no label, or there are no units.
    """
    found = _draw(strata, seed)
    good = found.hits + found.misses
    bad = 1 - good
    rejected_bad = 1 - found.approved - found.misses
    agreement = found.hits + rejected_bad
    chance = found.approved * good + (1 - found.approved) * bad
    return Assessment(
        apparent=_estimate(found.approved),
        corrected=_estimate(good),
        sensitivity=_estimate(_ratio(found.hits, good)),
        specificity=_estimate(_ratio(rejected_bad, bad)),
        agreement=_estimate(agreement),
        kappa=_estimate(_ratio(agreement - chance, 1 - chance), bounds=(-1.0, 1.0)),
        bias=_estimate(found.approved - good, bounds=(-1.0, 1.0)),
    )


def transport(strata: Sequence[Stratum], units: Sequence[int], approved: Sequence[int], *, seed: int) -> Transported:
    """Correct another run's figure.

    Args:
        strata: of the run with labels; see `assess`.
        units: of the other run, how many units each cluster has.
        approved: how many of them the same judge approves.
        seed: of the draws.

    Raises:
        ValueError: as `assess`.
    """
    found = _draw(strata, seed)
    good = found.hits + found.misses
    sensitivity = _ratio(found.hits, good)
    specificity = _ratio(1 - found.approved - found.misses, 1 - good)
    # Another seed: the two runs are separate samples, and must not be drawn in step.
    other = _shares([approved], np.array(units, dtype=np.float64), seed + 1)[:, 0]
    youden = sensitivity + specificity - 1
    usable = youden > _LEAST
    raw = np.divide(other + specificity - 1, youden, out=np.full(len(other), np.nan), where=usable)
    # A judge that is no better than chance tells nothing; draws in which it is so can mean any share.
    drawn = np.where(usable, np.clip(raw, 0.0, 1.0), np.random.default_rng(seed).random(len(raw)))
    defined = bool(usable[0])
    possible = defined and -_LEAST <= float(raw[0]) <= 1 + _LEAST
    drawn[0] = drawn[0] if possible else np.nan
    return Transported(apparent=_estimate(other), corrected=_estimate(drawn), raw=float(raw[0]) if defined else None)


def _draw(strata: Sequence[Stratum], seed: int) -> _Draws:
    held = [stratum for stratum in strata if sum(stratum.units)]
    if not held:
        raise ValueError("no units")
    if any(stratum.good + stratum.bad == 0 for stratum in held):
        raise ValueError("a stratum has units and no label")
    totals: Numbers = np.array([stratum.units for stratum in held], dtype=np.float64).sum(axis=0)
    weights = _shares([stratum.units for stratum in held], totals, seed)
    random = np.random.default_rng([seed, 1])
    good = np.column_stack(
        [
            np.concatenate(
                ([one.good / (one.good + one.bad)], random.beta(one.good + 0.5, one.bad + 0.5, len(weights) - 1))
            )
            for one in held
        ]
    )
    approving = np.array([stratum.approved for stratum in held])
    return _Draws(
        approved=weights[:, approving].sum(axis=1),
        hits=(weights * good)[:, approving].sum(axis=1),
        misses=(weights * good)[:, ~approving].sum(axis=1),
    )


def _shares(parts: Sequence[Sequence[int]], totals: Numbers, seed: int) -> Numbers:
    """Share of each part in the units: of all clusters in the first row, of clusters drawn again in the others."""
    counts = np.array(parts, dtype=np.float64).T
    used = totals > 0
    counts, totals = counts[used], totals[used]
    rows = [counts.sum(axis=0, keepdims=True) / totals.sum()]
    if len(totals) == 1 or not _varies(counts, totals):
        # Clusters that are all alike, or a single one, say nothing by being drawn again: let the units speak.
        random = np.random.default_rng([seed, 2])
        rest = totals.sum() - counts.sum()
        posterior = random.dirichlet([*(counts.sum(axis=0) + 0.5), rest + 0.5], _DRAWS)
        shares = posterior[:, :-1]
        rows.append(shares if rest else shares / shares.sum(axis=1, keepdims=True))
        return np.concatenate(rows)
    drawn = draws(len(totals), seed=seed, resamples=_DRAWS)
    rows += [(times @ counts) / (times @ totals)[:, None] for times in drawn]
    return np.concatenate(rows)


def _varies(counts: Numbers, totals: Numbers) -> bool:
    shares = counts / totals[:, None]
    return bool(np.ptp(shares, axis=0).max() > _LEAST)


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    found: Numbers = np.divide(part, whole, out=np.full(len(part), np.nan), where=np.abs(whole) > _LEAST)
    return found


def _estimate(values: Numbers, *, bounds: Interval = (0.0, 1.0)) -> Estimate:
    """The point (first entry) with the percentiles of the draws; rounding must not push either out of its bounds."""
    if np.isnan(values[0]):
        return Estimate(value=None)
    clip: Callable[[float], float] = lambda number: min(bounds[1], max(bounds[0], number))  # noqa: E731 - one line, twice
    value = clip(float(values[0]))
    low, high = np.percentile(values[1:][~np.isnan(values[1:])], (2.5, 97.5))
    return Estimate(value=value, ci95=(min(clip(float(low)), value), max(clip(float(high)), value)))
