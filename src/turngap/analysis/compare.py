"""Runs against a baseline: paired differences, how sure they are, what they mean, and how much data it would take.

The first run is the baseline; every other is held against it on the units that all of them measured
(`turngap.analysis.panel`). Intervals weigh whole conversations. The p-value of a figure comes from a test that swaps
the two models in whole conversations, and is corrected by Holm for all p-values of the comparison; McNemar's exact test
stands beside it for binary figures (with one unit in each conversation the two are the same test). Formulas, sources
and how to read them: docs/compare.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from turngap.analysis.comparable import noun
from turngap.analysis.figure import JUDGED, Kind
from turngap.analysis.panel import Contestant, Pairing, panel
from turngap.analysis.ranks import Ranks, of_panel
from turngap.analysis.transfer import Finding, verdict
from turngap.data import Figure
from turngap.metrics.paired import (
    Difference,
    Discordance,
    conversations_needed,
    holm,
    mcnemar,
    paired_difference,
    sign_flip,
    spread,
)
from turngap.metrics.resample import difference_of_ratios
from turngap.runs.store import RunStore

FORMAT = "turngap-comparison/1"
SEE = 0.05
"""The difference for which a comparison says how many conversations would show it, unless told otherwise."""


class PairedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of two runs over the same units."""

    name: str
    meaning: str
    judge: str | None
    """None where nobody judged."""
    first: Figure
    """Of the baseline."""
    second: Figure
    difference: Difference
    """Second less first."""
    discordance: Discordance | None
    """McNemar's exact test; None for a figure that is not binary."""
    p: float | None
    """Two-sided, swapping whole conversations."""
    p_holm: float | None
    """`p` corrected for all p-values of the comparison."""
    needed: int | None
    """Conversations in which a difference of the observed size would be seen in 80 of 100 studies; None for 0."""
    needed_for: int | None
    """Likewise for a difference of `Comparison.see`."""


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One run against the baseline."""

    first: str
    second: str
    figures: tuple[PairedFigure, ...]
    verdict: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one run over everything it measured, beside what the comparison could use."""

    run: str
    figure: str
    full: Figure
    left_out: int
    """Units of `full` that another run lacks or could not measure."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two or more runs held against each other."""

    runs: tuple[Contestant, ...]
    """The baseline first."""
    unit: str
    """What the data are: ``conversation``, or ``task`` for runs of live trials."""
    shared: int
    """Conversations (or tasks) that all of them have."""
    contrasts: tuple[Contrast, ...]
    ranks: Ranks
    coverage: tuple[Coverage, ...]
    forced: tuple[str, ...]
    """Differences in what was measured that --force passed over: the figures are not comparable."""
    notes: tuple[str, ...]
    see: float


def compare(
    stores: Sequence[RunStore],
    *,
    force: bool = False,
    metrics: Sequence[str] | None = None,
    see: float = SEE,
    seed: int = 0,
) -> Comparison:
    """Hold runs against the first of them.

    Args:
        stores: two or more open runs; only read.
        force: compare although the runs did not measure the same thing; `Comparison.forced` says what differs.
        metrics: figures to compare; None for the usual ones that every run has.
        see: a difference, as a fraction, for `PairedFigure.needed_for`.
        seed: of what is drawn at random: sign patterns, weights of pooled ratios.

    Raises:
        UsageError, ConfigError: see `turngap.analysis.panel.panel`.
    """
    found = panel(stores, metrics=metrics, force=force, seed=seed)
    labels = [run.label for run in found.runs]
    figures = [
        [_paired(pairing, other, see, seed) for pairing in found.pairings] for other in range(1, len(found.runs))
    ]
    adjusted = iter(holm([figure.p for row in figures for figure in row if figure.p is not None]))
    contrasts = []
    for label, row in zip(labels[1:], figures, strict=True):
        corrected = tuple(
            figure if figure.p is None else msgspec.structs.replace(figure, p_holm=next(adjusted)) for figure in row
        )
        findings = {figure.name: Finding(figure.difference, figure.p_holm) for figure in corrected}
        contrasts.append(Contrast(first=labels[0], second=label, figures=corrected, verdict=verdict(findings)))
    return Comparison(
        runs=found.runs,
        unit=noun(stores[0]),
        shared=len(found.shared),
        contrasts=tuple(contrasts),
        ranks=of_panel(found, seed=seed),
        coverage=tuple(
            Coverage(run=label, figure=pairing.name, full=pairing.full[at], left_out=pairing.left_out[at])
            for at, label in enumerate(labels)
            for pairing in found.pairings
        ),
        forced=found.forced,
        notes=found.notes,
        see=see,
    )


def to_document(comparison: Comparison) -> dict[str, Any]:
    """What ``turngap compare --json`` prints: plain values, strict JSON."""
    document: dict[str, Any] = {"format": FORMAT, **msgspec.to_builtins(comparison)}
    return document


def _paired(pairing: Pairing, other: int, see: float, seed: int) -> PairedFigure:
    first, second = pairing.columns[0], pairing.columns[other]
    pooled = pairing.measure.kind is Kind.POOLED
    # A pooled ratio is no mean of differences; the test looks at what each unit adds to it.
    ones, others = (first.values, second.values) if not pooled else _contributions(pairing, other)
    clusters = pairing.clusters
    discordance = None
    if pairing.measure.kind is Kind.SHARE and pairing.places:
        gained = sum(after > before for before, after in zip(ones, others, strict=True))
        lost = sum(after < before for before, after in zip(ones, others, strict=True))
        discordance = mcnemar(gained, lost)
    difference = _pooled(pairing, other, seed) if pooled else paired_difference(ones, others, clusters)
    variance = spread(ones, others, clusters)
    return PairedFigure(
        name=pairing.name,
        meaning=pairing.measure.meaning,
        judge=pairing.judge if pairing.measure.protocol in JUDGED else None,
        first=pairing.shared[0],
        second=pairing.shared[other],
        difference=difference,
        discordance=discordance,
        p=sign_flip(ones, others, clusters, seed=seed),
        p_holm=None,
        needed=conversations_needed(difference.value or 0.0, variance),
        needed_for=conversations_needed(see, variance),
    )


def _contributions(pairing: Pairing, other: int) -> tuple[list[float], list[float]]:
    """What each unit adds to a pooled ratio: value x weight, in units of the mean weight."""
    found = []
    for columns in (pairing.columns[0], pairing.columns[other]):
        mean = sum(columns.weights) / len(columns.weights) if columns.weights else 1.0
        found.append([value * weight / mean for value, weight in zip(columns.values, columns.weights, strict=True)])
    return found[0], found[1]


def _pooled(pairing: Pairing, other: int, seed: int) -> Difference:
    """The difference of two ratios of sums, both weighed by conversation."""
    names = sorted(set(pairing.clusters))
    place = {name: at for at, name in enumerate(names)}
    sums = []
    for columns in (pairing.columns[0], pairing.columns[other]):
        total, mass = np.zeros(len(names)), np.zeros(len(names))
        for value, weight, conversation in zip(columns.values, columns.weights, columns.conversations, strict=True):
            total[place[conversation]] += value * weight
            mass[place[conversation]] += weight
        sums.append((total, mass))
    gain, ci95 = difference_of_ratios(sums[1], sums[0], seed=seed)
    if gain is None:
        return Difference(value=None, n=0, clusters=0)
    return Difference(value=gain, n=len(pairing.places), clusters=len(names), ci95=ci95)
