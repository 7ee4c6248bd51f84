"""Which figures there are, and how each is computed from score rows.

`FIGURES` is the one list that `metrics.json`, the tables and `docs/figures.md` follow. A figure is a *share* (of zeros
and ones, Wilson interval), a *mean* (cluster bootstrap by conversation) or a *pooled* ratio (weights summed before they
are divided, cluster bootstrap). Errored units have no values and so stand in no denominator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from turngap.data import Figure
from turngap.errors import HarnessFault
from turngap.metrics.interval import cluster_bootstrap, wilson

RESAMPLES = 2000
"""Bootstrap resamples of every mean."""


class Kind(StrEnum):
    """How values become one number."""

    SHARE = "share"
    MEAN = "mean"
    COUNT = "count"
    """A mean of counts, which is no fraction."""
    POOLED = "pooled"


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: which score rows it is over, and which of their values it takes."""

    name: str
    """Its key in `metrics.json`."""
    protocol: str
    value: str
    """Key of `Score.values`."""
    over: tuple[str, ...]
    """Kinds of units that count: text, tool (decisions); tools, chat (conversations)."""
    kind: Kind = Kind.SHARE
    meaning: str
    """What the value says, in a few words, for tables."""


DECISIONS = ("text", "tool")
CONVERSATIONS = ("tools", "chat")

FIGURES: tuple[Measure, ...] = (
    Measure(
        name="text.rouge1",
        protocol="text",
        value="rouge1",
        over=("text",),
        kind=Kind.MEAN,
        meaning="ROUGE-1 of text turns",
    ),
    Measure(
        name="text.rouge2",
        protocol="text",
        value="rouge2",
        over=("text",),
        kind=Kind.MEAN,
        meaning="ROUGE-2 of text turns",
    ),
    Measure(
        name="text.rougeL",
        protocol="text",
        value="rougeL",
        over=("text",),
        kind=Kind.MEAN,
        meaning="ROUGE-L of text turns",
    ),
    Measure(name="turn.success.text", protocol="turn", value="success", over=("text",), meaning="text turns good"),
    Measure(name="turn.success.tool", protocol="turn", value="success", over=("tool",), meaning="tool turns good"),
    Measure(name="turn.success", protocol="turn", value="success", over=DECISIONS, meaning="all turns good"),
    Measure(name="strict.name", protocol="strict", value="name", over=("tool",), meaning="right functions called"),
    Measure(name="strict.exact", protocol="strict", value="exact", over=("tool",), meaning="calls exactly right"),
    Measure(
        name="strict.arg_f1",
        protocol="strict",
        value="arg_f1",
        over=("tool",),
        kind=Kind.MEAN,
        meaning="F1 of arguments, mean",
    ),
    Measure(
        name="strict.arg_f1.micro",
        protocol="strict",
        value="arg_f1",
        over=("tool",),
        kind=Kind.POOLED,
        meaning="F1 of arguments, pooled",
    ),
    Measure(
        name="strict.spurious", protocol="strict", value="spurious", over=("text",), meaning="calls where text was due"
    ),
    Measure(
        name="replay.completed", protocol="replay", value="completed", over=("tools",), meaning="replayed to the end"
    ),
    Measure(
        name="replay.completed.all",
        protocol="replay",
        value="completed",
        over=CONVERSATIONS,
        meaning="replayed to the end, of all",
    ),
    Measure(name="workflow.success", protocol="workflow", value="success", over=("tools",), meaning="user's goal met"),
    Measure(
        name="workflow.success.all",
        protocol="workflow",
        value="success",
        over=CONVERSATIONS,
        meaning="goal met, of all",
    ),
)

PER_CONVERSATION: tuple[Measure, ...] = tuple(
    Measure(
        name=f"replay.{value}", protocol="replay", value=value, over=CONVERSATIONS, kind=Kind.COUNT, meaning=meaning
    )
    for value, meaning in (
        ("steps", "messages of the model"),
        ("rejected", "calls rejected"),
        ("recovered", "errors recovered from"),
    )
)
"""Means of counts per conversation. They are no fractions, so they stand beside `metrics` and not in it."""

JUDGED = ("turn", "workflow")
"""Protocols whose figures depend on who judged."""


class Unit(msgspec.Struct, frozen=True, gc=False):
    """What is kept of one score row while a run is summed up: small, and free of text."""

    conversation: str
    decision: int
    """-1 for a whole conversation."""
    kind: str
    values: dict[str, float]


def compute(measure: Measure, units: Sequence[Unit], *, seed: int) -> Figure:
    """Compute one figure over units in a fixed order.

    Returns:
        Value, n and 95% interval; value and interval are None when no unit counts.
    """
    counted = [unit for unit in units if unit.kind in measure.over and measure.value in unit.values]
    if measure.kind is Kind.SHARE:
        return _share(unit.values[measure.value] for unit in counted)
    if measure.kind in (Kind.MEAN, Kind.COUNT):
        values = [unit.values[measure.value] for unit in counted]
        bounds = (0.0, 1.0) if measure.kind is Kind.MEAN else (0.0, math.inf)
        return _mean(values, [unit.conversation for unit in counted], [1.0] * len(values), seed, bounds)
    # F1 of summed counts is 2tp / (predicted + reference): per-decision ratios weighted by their denominators.
    counted = [unit for unit in counted if unit.values["arg_pred"] + unit.values["arg_ref"]]
    weights = [unit.values["arg_pred"] + unit.values["arg_ref"] for unit in counted]
    values = [2 * unit.values["arg_tp"] / weight for unit, weight in zip(counted, weights, strict=True)]
    return _mean(values, [unit.conversation for unit in counted], weights, seed, (0.0, 1.0))


def _share(values: Iterable[float]) -> Figure:
    outcomes = list(values)
    if not outcomes:
        return Figure(value=None, n=0)
    if any(outcome not in (0.0, 1.0) for outcome in outcomes):
        raise HarnessFault("a share was given a value that is neither 0 nor 1; please report this")
    successes = round(math.fsum(outcomes))
    return Figure(value=successes / len(outcomes), n=len(outcomes), ci95=wilson(successes, len(outcomes)))


def _mean(
    values: Sequence[float],
    clusters: Sequence[str],
    weights: Sequence[float],
    seed: int,
    bounds: tuple[float, float],
) -> Figure:
    if not values:
        return Figure(value=None, n=0)
    value = math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)
    ci95 = cluster_bootstrap(values, clusters, weights=weights, seed=seed, resamples=RESAMPLES, bounds=bounds)
    # One conversation says nothing about how counts of others would differ, and a count has no highest value.
    known = ci95 if ci95 is not None and math.isfinite(ci95[1]) else None
    return Figure(value=min(value, bounds[1]), n=len(values), ci95=known)


def figure_name(name: str, judge: str, judges: Sequence[str]) -> str:
    """A figure's key: the first of the judges (or none at all) gives the plain name, a later one stands after ``@``."""
    return name if judge in ("", *judges[:1]) else f"{name}@{judge}"
