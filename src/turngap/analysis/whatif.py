"""What a release gate on one figure alone would let through: the same bounds on a cheaper figure, beside the workflow.

Scoring the next turn costs little, so gates tend to rest on it. This holds every usual single-figure gate against what
is wanted in the end, `workflow.success`, under the same bounds, and names the gates that would pass a run whose
workflows fail. The bounds are those that the rules set for workflows; rules without any lend theirs instead.

For runs of live trials it is the same with other figures: what is wanted in the end is the `pass^k` of the rules (the
largest k of several; `pass^1` where no rule has one).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec

from turngap.analysis.gate import GateResult, Outcome, Ruling, evaluate, worst
from turngap.analysis.rule import LOWER_IS_BETTER, Rule
from turngap.config import RolloutConfig
from turngap.errors import UsageError
from turngap.runs.store import RunStore

FORMAT = "turngap-what-if/1"
WORKFLOW = "workflow.success"
GATES: tuple[tuple[str, str], ...] = (
    ("next turns", "turn.success"),
    ("tool calls (judged)", "turn.success.tool"),
    ("tool calls (exact)", "strict.exact"),
    ("replays", "replay.completed"),
    ("workflows", WORKFLOW),
)
"""Gate -> its one figure, the cheapest first."""
_OF_TRIALS: tuple[tuple[str, str], ...] = (
    ("facts told", "reward.communicate"),
    ("final databases", "reward.db"),
    ("mean rewards", "reward"),
    ("single trials", "pass^1"),
)
_HAT = re.compile(r"pass\^(\d+)")


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What one single-figure gate says about one run."""

    gate: str
    metric: str
    outcome: Outcome
    let_through: bool | None
    """Whether it passes a run that fails in the end; None where one of the two gates could not be decided."""
    rulings: tuple[Ruling, ...]


class RunTrials(msgspec.Struct, frozen=True, kw_only=True):
    """All single-figure gates on one run."""

    run: str
    model: str
    result: GateResult
    """What the rules as they are written say."""
    trials: tuple[Trial, ...]
    """In the order of `WhatIf.gates`."""


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Gates by runs."""

    origin: str
    """The figure whose rules lend the bounds."""
    rules: tuple[Rule, ...]
    """Those rules."""
    gates: tuple[tuple[str, str], ...]
    """Gate -> its one figure, the cheapest first."""
    wanted: str
    """The figure that is wanted in the end, one of those of `gates`."""
    whole: str
    """What that figure is about, in the plural: ``workflows``."""
    runs: tuple[RunTrials, ...]


def lent(
    rules: Sequence[Rule], *, wanted: Sequence[str] = (WORKFLOW, "replay.completed")
) -> tuple[str, tuple[Rule, ...]]:
    """The rules whose bounds are tried on every figure, and the figure that they are on.

    Those on the first of `wanted` that a rule names, else on the figure that has the first `min` or `max_drop`.

    Raises:
        UsageError: no rule has a `min` or `max_drop`, of a figure of which more is better.
    """
    fit = [rule for rule in rules if rule.max is None and rule.metric not in LOWER_IS_BETTER]
    if not fit:
        raise UsageError("--what-if needs a rule with min or max_drop: its bound is tried on every figure")
    order = [metric for metric in wanted if metric in [rule.metric for rule in fit]]
    origin = (order or [fit[0].metric])[0]
    return origin, tuple(rule for rule in fit if rule.metric == origin)


def what_if(
    rules: Sequence[Rule], runs: Sequence[tuple[RunStore, GateResult]], baseline: RunStore | None, *, no_baseline: str
) -> WhatIf:
    """Try the bounds of `rules` on every single figure.

    Args:
        rules: as written.
        runs: each with what the rules say about it.
        baseline: for `max_drop`.
        no_baseline: why there is none.

    Raises:
        UsageError: see `lent`; or some runs are of live trials and others are not.
    """
    kinds = {isinstance(store.settings, RolloutConfig) for store, _ in runs}
    if len(kinds) > 1:
        raise UsageError("--what-if takes runs of one kind: recorded conversations, or live trials")
    gates, wanted, whole = _of_trials(rules) if True in kinds else (GATES, WORKFLOW, "workflows")
    origin, base = lent(rules, wanted=(wanted, "replay.completed"))
    found = []
    for store, result in runs:
        # All at once, so that the run is summed up once and not for every gate.
        moved = [msgspec.structs.replace(rule, metric=metric) for _, metric in gates for rule in base]
        rulings = iter(evaluate(moved, store, baseline, no_baseline=no_baseline).rulings)
        tried = [(gate, metric, tuple(islice(rulings, len(base)))) for gate, metric in gates]
        in_the_end = next(_outcome(found) for _, metric, found in tried if metric == wanted)
        trials = tuple(
            Trial(
                gate=gate,
                metric=metric,
                outcome=_outcome(found),
                let_through=let_through(_outcome(found), in_the_end),
                rulings=found,
            )
            for gate, metric, found in tried
        )
        found.append(RunTrials(run=result.run, model=result.model, result=result, trials=trials))
    return WhatIf(origin=origin, rules=base, gates=gates, wanted=wanted, whole=whole, runs=tuple(found))


def _of_trials(rules: Sequence[Rule]) -> tuple[tuple[tuple[str, str], ...], str, str]:
    """Gates on runs of live trials, the figure wanted in the end, and what it is about."""
    named = (_HAT.fullmatch(rule.metric) for rule in rules if rule.max is None)
    most = max((int(hat[1]) for hat in named if hat), default=1)
    if most == 1:
        return _OF_TRIALS, "pass^1", "trials"
    return (*_OF_TRIALS, (f"{most} trials of a task", f"pass^{most}")), f"pass^{most}", f"sets of {most} trials"


def let_through(outcome: Outcome, in_the_end: Outcome) -> bool | None:
    """Whether a gate passes a run that fails in the end; None where one of the two could not be decided."""
    if Outcome.UNDECIDED in (outcome, in_the_end):
        return None
    return outcome is Outcome.PASS and in_the_end is Outcome.FAIL


def _outcome(rulings: Sequence[Ruling]) -> Outcome:
    return worst(ruling.outcome for ruling in rulings)


def to_document(table: WhatIf) -> dict[str, Any]:
    """The table as plain values in a fixed order."""
    document: dict[str, Any] = {"format": FORMAT, **msgspec.to_builtins(table)}
    return document
