"""Which figures there are, and how each is computed from score rows.

`FIGURES` is the one list that `metrics.json`, the tables and `docs/figures.md` follow. A figure is a *share* (of zeros
and ones, Wilson interval), a *mean* or a *pooled* ratio (weights summed before they are divided); the intervals of the
latter two weigh whole conversations (`turngap.metrics.interval.cluster_interval`). Errored units have no values and so
stand in no denominator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from turngap.data import Figure
from turngap.errors import HarnessFault
from turngap.metrics.interval import LEVEL, Interval, cluster_bootstrap, cluster_interval, wilson


class Kind(StrEnum):
    """How values become one number."""

    SHARE = "share"
    MEAN = "mean"
    COUNT = "count"
    """A mean of counts, which is no fraction."""
    POOLED = "pooled"
    TASKS = "tasks"
    """A mean over live tasks or their trials; the interval weighs whole tasks."""


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: which score rows it is over, and which of their values it takes."""

    name: str
    """Its key in `metrics.json`."""
    protocol: str
    value: str
    """Key of `Score.values`."""
    over: tuple[str, ...]
    """Kinds of units that count: text, tool (decisions); tools, chat (conversations); scenarios (trials)."""
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


class Columns(msgspec.Struct, frozen=True):
    """The units that count for one figure, column by column."""

    values: list[float]
    conversations: list[str]
    weights: list[float]
    places: list[tuple[str, int]]
    """Conversation and decision of each unit, for pairing."""


def columns(measure: Measure, units: Sequence[Unit]) -> Columns:
    """Pick the units that count for a figure: those of its kinds that have its value and weigh anything."""
    counted = [unit for unit in units if unit.kind in measure.over and measure.value in unit.values]
    if measure.kind is Kind.POOLED:
        # F1 of summed counts is 2tp / (predicted + reference): per-decision ratios weighted by their denominators.
        counted = [unit for unit in counted if unit.values["arg_pred"] + unit.values["arg_ref"]]
        weights = [unit.values["arg_pred"] + unit.values["arg_ref"] for unit in counted]
        values = [2 * unit.values["arg_tp"] / weight for unit, weight in zip(counted, weights, strict=True)]
    else:
        values, weights = [unit.values[measure.value] for unit in counted], [1.0] * len(counted)
    return Columns(
        values,
        [unit.conversation for unit in counted],
        weights,
        [(unit.conversation, unit.decision) for unit in counted],
    )


def compute(measure: Measure, units: Sequence[Unit], *, seed: int) -> Figure:
    """Compute one figure over units in a fixed order.

    Returns:
        Value, n and 95% interval; value and interval are None when no unit counts.
    """
    found = columns(measure, units)
    if not found.values:
        return Figure(value=None, n=0)
    weighed = (value * weight for value, weight in zip(found.values, found.weights, strict=True))
    value = math.fsum(weighed) / math.fsum(found.weights)
    # Rounding must not lift a fraction above 1; a count has no highest value.
    value = value if measure.kind is Kind.COUNT else min(value, 1.0)
    return Figure(value=value, n=len(found.values), ci95=interval(measure, found, seed=seed))


def interval(measure: Measure, found: Columns, *, seed: int, level: float = LEVEL) -> Interval | None:
    """The two-sided interval of a figure at `level`; None without units, or where nothing can be said."""
    if measure.kind is Kind.SHARE:
        return _of_share(found.values, level)
    if measure.kind is Kind.COUNT:
        return cluster_bootstrap(found.values, found.conversations, seed=seed, level=level)
    return cluster_interval(found.values, found.conversations, weights=found.weights, level=level)


def _of_share(outcomes: Sequence[float], level: float) -> Interval | None:
    if any(outcome not in (0.0, 1.0) for outcome in outcomes):
        raise HarnessFault("a share was given a value that is neither 0 nor 1; please report this")
    return wilson(round(math.fsum(outcomes)), len(outcomes), level=level)


def figure_name(name: str, judge: str, judges: Sequence[str]) -> str:
    """A figure's key: the first of the judges (or none at all) gives the plain name, a later one stands after ``@``."""
    return name if judge in ("", *judges[:1]) else f"{name}@{judge}"


def plain_name(name: str, judges: Mapping[str, Sequence[str]]) -> str:
    """A figure's or ledger's key in a run: ``turn.success@JUDGE`` is ``turn.success`` where JUDGE is the first."""
    bare, _, judge = name.partition("@")
    return figure_name(bare, judge, judges.get(bare.partition(".")[0], ()))
