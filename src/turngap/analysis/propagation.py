"""Do errors breed errors? Chances of a right call after an error, without one, and on recorded history.

A replay gives, for every tool decision the model faced, whether it was right at the first try and whether anything had
gone wrong before (`turngap.analysis.walk` defines both). Two comparisons follow, and they answer different questions:

* *clean* against *after an error*: how much worse the model is once something went wrong. Part of it is that errors
  come in conversations that are hard throughout.
* own history against recorded history, *at the same decisions*: what the error itself does, since the decisions are
  the same and only the history differs. `adjusted` is the difference of these two differences.

Where errors are independent all of them are zero within their intervals. How to read it: docs/gap.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from turngap.analysis.walk import NOT_DUE, Step, Walk, walk
from turngap.data import Conversation, Figure, Trajectory, decisions
from turngap.metrics.interval import Interval, cluster_interval, wilson
from turngap.metrics.paired import Difference, paired_difference
from turngap.metrics.resample import difference_of_ratios
from turngap.metrics.rounding import decimals, signed
from turngap.runs.store import RunStore

Gold = Mapping[tuple[str, int], float]
"""(conversation, decision) -> 1.0 where the prediction on recorded history was exact, else 0.0."""

FEW = 10
"""With fewer conversations than these a table says how many there are."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that share what had happened before them."""

    own: Figure
    """Share that is right at the first try, on the model's own history."""
    gold: Figure
    """Share that is exact on recorded history, at the same decisions."""
    effect: Difference
    """`own` less `gold`, paired by decision: what this kind of history does."""
    conversations: int
    """That the steps of `own` belong to."""


class DepthRow(msgspec.Struct, frozen=True, kw_only=True):
    """The steps at one depth, at most one of each conversation."""

    depth: int
    """1-based among the tool decisions of a conversation."""
    n: int
    """Steps faced at this depth."""
    p_after_error: Figure
    p_clean: Figure
    p_gold: Figure
    """On recorded history, at the same decisions."""
    survival: Figure
    """Chance that a replay is free of errors up to and with this step; n is the replays that were so before it."""
    expected: float | None
    """The same if every step were as on recorded history and independent: product of the gold shares so far."""


class FirstErrors(msgspec.Struct, frozen=True, kw_only=True):
    """Where replays first left the recording: counts of replays, the most frequent first."""

    tool: dict[str, int]
    """By the recorded tool that was due; ``(no call due)`` for a call in the place of text."""
    category: dict[str, int]
    depth: dict[int, int]
    """By depth, in order."""


class Propagation(msgspec.Struct, frozen=True, kw_only=True):
    """What errors do to what comes after them, in one run."""

    replays: int
    """Replays of tool-requiring conversations that could be measured."""
    steps: int
    """Tool decisions that the model faced in them."""
    after_failure: str
    """The run's setting: with ``stop`` nothing is known of steps behind an unresolved error."""
    clean: Condition
    after_error: Condition
    after_unresolved: Condition
    """Those after an error that the recording had to repair; part of `after_error`."""
    drop: Difference
    """Right when clean less right after an error: positive where errors breed errors."""
    adjusted: Difference
    """`clean.effect` less `after_error.effect`, in [-2, 2]: the drop without what makes the conversations hard."""
    depths: tuple[DepthRow, ...]
    recovery: Figure
    """Of the steps with a slip, the share that the model put right itself."""
    slip_conversations: int
    """That the steps of `recovery` belong to."""
    error_free: Figure
    """Share of replays without any error."""
    first_errors: FirstErrors
    verdict: str
    """All of it in one sentence."""


def propagation(store: RunStore, *, seed: int = 0) -> Propagation:
    """Analyse the replays of a run.

    Args:
        store: an open run; only read.
        seed: of what is drawn at random.

    Returns:
        The analysis; figures have n 0 where the run holds no replays, or no `strict` scores.
    """
    gold = {
        (score.conversation, score.decision): score.values["exact"]
        for _, score in store.scores("strict")
        if score.decision is not None and "exact" in score.values
    }
    walks, places = [], {}
    for conversation in store.conversations():
        trajectory = store.trajectory(conversation.id)
        if not isinstance(trajectory, Trajectory):
            continue
        found = walk(conversation, trajectory)
        if found.due:
            walks.append(found)
            places.update(_depths(conversation))
    return analyse(walks, gold, places, after_failure=store.config.replay.after_failure, seed=seed)


def analyse(
    walks: Sequence[Walk],
    gold: Gold,
    places: Mapping[tuple[str, int], int],
    *,
    after_failure: str = "continue",
    seed: int = 0,
) -> Propagation:
    """The same from its parts.

    Args:
        walks: of tool-requiring conversations.
        gold: exactness on recorded history.
        places: (conversation, decision) -> depth, of every tool decision of these conversations.
        after_failure: setting of the replays.
        seed: of what is drawn at random.
    """
    steps = sorted((step for one in walks for step in one.steps), key=lambda step: (step.conversation, step.depth))
    clean = [step for step in steps if not step.after_error]
    after = [step for step in steps if step.after_error]
    slips = [step for step in steps if not step.right]
    drop, adjusted = _contrasts(clean, after, gold, seed)
    errors = [one.first for one in walks if one.first is not None]
    found = Propagation(
        replays=len(walks),
        steps=len(steps),
        after_failure=after_failure,
        clean=_condition(clean, gold),
        after_error=_condition(after, gold),
        after_unresolved=_condition([step for step in steps if step.after_unresolved], gold),
        drop=drop,
        adjusted=adjusted,
        depths=_rows(walks, steps, gold, places),
        recovery=_clustered([(float(step.resolved), step.conversation) for step in slips]),
        slip_conversations=len({step.conversation for step in slips}),
        error_free=_share([one.first is None for one in walks]),
        first_errors=FirstErrors(
            tool=_counts(error.tool if error.tool != NOT_DUE else "(no call due)" for error in errors),
            category=_counts(error.category.value for error in errors),
            depth=dict(sorted(Counter(error.depth for error in errors).items())),
        ),
        verdict="",
    )
    return msgspec.structs.replace(found, verdict=_verdict(found))


def _depths(conversation: Conversation) -> dict[tuple[str, int], int]:
    tools = [
        decision.index
        for decision in decisions(conversation)
        if any(call.arguments is not None for call in decision.reference.calls)
    ]
    return {(conversation.id, index): depth for depth, index in enumerate(tools, 1)}


def _condition(steps: Sequence[Step], gold: Gold) -> Condition:
    paired = [step for step in steps if (step.conversation, step.decision) in gold]
    clusters = [step.conversation for step in paired]
    own = [float(step.right) for step in paired]
    exact = [gold[step.conversation, step.decision] for step in paired]
    return Condition(
        own=_clustered([(float(step.right), step.conversation) for step in steps]),
        gold=_clustered(list(zip(exact, clusters, strict=True))),
        effect=paired_difference(exact, own, clusters),
        conversations=len({step.conversation for step in steps}),
    )


def _contrasts(clean: Sequence[Step], after: Sequence[Step], gold: Gold, seed: int) -> tuple[Difference, Difference]:
    """Clean less after-error, of the shares themselves and of what is left of them beyond gold history."""
    raw = [[(step, float(step.right)) for step in steps] for steps in (clean, after)]
    beyond = [
        [
            (step, float(step.right) - gold[step.conversation, step.decision])
            for step in steps
            if (step.conversation, step.decision) in gold
        ]
        for steps in (clean, after)
    ]
    return _contrast(*raw, seed=seed), _contrast(*beyond, seed=seed, unit=(-1.0, 1.0))


def _contrast(
    first: Sequence[tuple[Step, float]],
    second: Sequence[tuple[Step, float]],
    *,
    seed: int,
    unit: Interval = (0.0, 1.0),
) -> Difference:
    """Mean of the first less mean of the second, both weighed by conversation."""
    names = sorted({step.conversation for step, _ in (*first, *second)})
    order = {name: at for at, name in enumerate(names)}
    sums = [np.zeros(len(names)) for _ in range(4)]
    for at, units in enumerate((first, second)):
        for step, value in units:
            sums[2 * at][order[step.conversation]] += value
            sums[2 * at + 1][order[step.conversation]] += 1
    lead, ci95 = difference_of_ratios((sums[0], sums[1]), (sums[2], sums[3]), seed=seed, unit=unit)
    n = len(first) + len(second) if lead is not None else 0
    return Difference(value=lead, n=n, clusters=len(names) if n else 0, ci95=ci95)


def _rows(
    walks: Sequence[Walk], steps: Sequence[Step], gold: Gold, places: Mapping[tuple[str, int], int]
) -> tuple[DepthRow, ...]:
    at_depth: dict[int, list[Step]] = {}
    for step in steps:
        at_depth.setdefault(step.depth, []).append(step)
    exact: dict[int, list[float]] = {}
    for place, value in gold.items():
        if place in places:
            exact.setdefault(places[place], []).append(value)
    ends = [(one.first.depth, True) if one.first else (len(one.steps), False) for one in walks]
    rows: list[DepthRow] = []
    surviving, variance = 1.0, 0.0
    ends_before = (1.0, 1.0)
    expected: float | None = 1.0
    for depth in sorted(at_depth):
        faced = at_depth[depth]
        at_risk = sum(end >= depth for end, _ in ends)
        failed = sum(end == depth and failure for end, failure in ends)
        if at_risk:
            surviving *= 1 - failed / at_risk
            variance += failed / (at_risk * (at_risk - failed)) if failed < at_risk else math.inf
        if expected is not None:
            values = exact.get(depth)
            expected = expected * math.fsum(values) / len(values) if values else None
        survival = _survival(surviving, variance, at_risk, ends_before)
        ends_before = survival.ci95 or ends_before
        rows.append(
            DepthRow(
                depth=depth,
                n=len(faced),
                p_after_error=_share([step.right for step in faced if step.after_error]),
                p_clean=_share([step.right for step in faced if not step.after_error]),
                p_gold=_share(
                    [
                        gold[step.conversation, step.decision] == 1.0
                        for step in faced
                        if (step.conversation, step.decision) in gold
                    ]
                ),
                survival=survival,
                expected=expected,
            )
        )
    return tuple(rows)


def _survival(value: float, variance: float, at_risk: int, before: Interval) -> Figure:
    """Kaplan and Meier's estimate with Greenwood's variance on the log(-log) scale, so that it stays within [0, 1].

    Nobody survives more steps who has not survived fewer, so neither end lies above that `before` this step.
    """
    if not at_risk:
        return Figure(value=None, n=0)
    if 0 < value < 1 and math.isfinite(variance):
        width = 1.959963984540054 * math.sqrt(variance) / abs(math.log(value))
        low, high = value ** math.exp(width), value ** math.exp(-width)
    else:  # nobody failed, or everybody: the scale has no such point
        low, high = wilson(round(value) * at_risk, at_risk) or before
    return Figure(value=value, n=at_risk, ci95=(min(low, before[0]), min(high, before[1])))


def _share(outcomes: Iterable[bool]) -> Figure:
    values = list(outcomes)
    if not values:
        return Figure(value=None, n=0)
    return Figure(value=sum(values) / len(values), n=len(values), ci95=wilson(sum(values), len(values)))


def _clustered(units: Sequence[tuple[float, str]]) -> Figure:
    """A share over steps, whose interval weighs whole conversations."""
    if not units:
        return Figure(value=None, n=0)
    values, clusters = zip(*units, strict=True)
    return Figure(value=math.fsum(values) / len(values), n=len(values), ci95=cluster_interval(values, clusters))


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _verdict(found: Propagation) -> str:
    """The sentence that a table ends with: says "no sign" where an interval holds zero, never "no effect"."""
    if found.drop.value is None or found.drop.ci95 is None:
        if not found.steps:
            return "no replay to look at"
        return "no step after an error to look at" if found.clean.own.n else "no step without an earlier error"
    low, high = (100 * end for end in found.drop.ci95)
    points = f"{decimals(abs(100 * found.drop.value))} points"
    between = f"95% interval {signed(low)} to {signed(high)}"
    if not found.drop.clear:
        return (
            f"no sign that errors breed errors: calls are right {_less(found.drop.value, points)} after one ({between})"
        )
    if found.drop.value < 0:
        return f"calls are right {points} more often after an error ({between})"
    text = f"errors breed errors: after one, calls are right {points} less often ({between})"
    if found.adjusted.value is None or found.adjusted.ci95 is None:
        return text
    own = f"{decimals(100 * found.adjusted.value)} points are the history's doing"
    if found.adjusted.clear:
        low, high = (100 * end for end in found.adjusted.ci95)
        return f"{text}; {own} ({signed(low)} to {signed(high)}), the rest goes with hard conversations"
    return f"{text}, but those calls are hard on recorded history too"


def _less(value: float, points: str) -> str:
    return f"{points} {'less' if value >= 0 else 'more'} often"
