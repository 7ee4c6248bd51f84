"""The release gate: one evaluation of rules against a run, which every view only shows.

A rule passes, fails, or cannot be decided; undecided is never a pass. What makes a rule undecidable: the run is not
finished or lacks scores, units are errored beyond what the rule allows, nothing was measured (n is 0), the figure is
not in the run, the interval lies on both sides of the bound, or the baseline is missing or measured something else. The
gate fails when any rule fails, else is undecided when any rule is, else passes.

Without `confidence` the value itself is held against the bound. With it, the two-sided interval at that level has to
keep the bound as a whole to pass, has to miss it as a whole to fail, and decides nothing in between. `max_drop` is over
the units that both runs measured, paired; the figures of each whole run stand beside it.

Non-goals: reading rules (`turngap.analysis.rule`), showing results (`turngap.report`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from turngap.analysis.comparable import Overlap, noun, overlap, settings_that_differ
from turngap.analysis.drop import drop
from turngap.analysis.figure import columns, interval, plain_name
from turngap.analysis.finish import unfinished
from turngap.analysis.rule import Rule
from turngap.analysis.sample import Sample, measure_of, sample, scorer_of
from turngap.analysis.sums import Sums, sum_up
from turngap.analysis.trial import PROTOCOL as ROLLOUT
from turngap.data import Figure
from turngap.metrics.interval import LEVEL, Interval
from turngap.metrics.rounding import decimals
from turngap.runs.store import RunStore

FORMAT = "turngap-gate/1"
_NO_BASELINE = "no baseline was given (--baseline RUN)"
_ROUNDING = 1e-9
"""So near to the bound counts as on it: 0.55 - 0.50 is not more than 0.05."""


class Outcome(StrEnum):
    """What came of a rule, or of all of them."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNDECIDED = "undecided"


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one rule, and why."""

    rule: Rule
    outcome: Outcome
    reason: str
    """Why, in one sentence; the same in every view."""
    value: float | None = None
    """What was held against the bound: the figure, or for `max_drop` how far it dropped (below zero: it rose)."""
    n: int = 0
    """Units behind `value`; for `max_drop`, those that both runs measured."""
    interval: Interval | None = None
    """Of `value`, at `level`."""
    level: float = LEVEL
    """The rule's confidence; 0.95 where it has none, and then the interval decides nothing."""
    errored: int = 0
    """Units of the figure that could not be measured, in the run or in the baseline, whichever has more. Of runs of
    live trials they are trials, also for a figure over tasks."""
    spoiled: int = 0
    """Live trials that count neither way, for the user failed in them; likewise."""
    figure: Figure | None = None
    """The figure over the whole run; None where the run has no such figure."""
    baseline: Figure | None = None
    """The figure over the whole baseline, for `max_drop`."""


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all rules."""

    run: str
    """Directory of the run."""
    model: str
    baseline: str | None
    """Directory of the baseline, where one was given and could be read."""
    outcome: Outcome
    rulings: tuple[Ruling, ...]
    """In the order of the rules."""
    notes: tuple[str, ...]
    """What a reader has to know beside the rulings."""

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 could not decide."""
        return exit_code(self.outcome)

    def count(self, outcome: Outcome) -> int:
        """How many rules ended so."""
        return sum(ruling.outcome is outcome for ruling in self.rulings)


def evaluate(
    rules: Sequence[Rule], run: RunStore, baseline: RunStore | None = None, *, no_baseline: str = _NO_BASELINE
) -> GateResult:
    """Hold a run against rules.

    Args:
        rules: at least one.
        run: an open run; only read.
        baseline: the run that `max_drop` is measured from; only read.
        no_baseline: why there is none, for the reader.

    Raises:
        ValueError: no rules.
        HarnessFault: stored scores contradict each other.
    """
    if not rules:
        raise ValueError("a gate without rules decides nothing")
    evidence = _Evidence(run, baseline, no_baseline)
    rulings = tuple(_rule(rule, evidence) for rule in rules)
    notes = list(evidence.summary.notes)
    if baseline is not None and any(rule.max_drop is not None for rule in rules) and any(evidence.overlap.only):
        ours, theirs = evidence.overlap.only
        notes.append(
            f"run and baseline cover different {noun(run)}s: {len(evidence.overlap.shared)} shared, {ours} only in "
            f"the run, {theirs} only in the baseline; a drop is over the shared ones"
        )
    return GateResult(
        run=str(run.directory),
        model=evidence.summary.model,
        baseline=None if baseline is None else str(baseline.directory),
        outcome=worst(ruling.outcome for ruling in rulings),
        rulings=rulings,
        notes=tuple(notes),
    )


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """One outcome for several: any fail is a fail, else any undecided is undecided."""
    found = set(outcomes)
    return next((one for one in (Outcome.FAIL, Outcome.UNDECIDED) if one in found), Outcome.PASS)


def exit_code(outcome: Outcome) -> int:
    """0 pass, 1 fail, 2 could not decide."""
    return {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNDECIDED: 2}[outcome]


def to_document(result: GateResult) -> dict[str, Any]:
    """The result as plain values in a fixed order, with titles of the rules and the exit code."""
    document: dict[str, Any] = {"format": FORMAT, "exit_code": result.exit_code, **msgspec.to_builtins(result)}
    for plain, ruling in zip(document["rulings"], result.rulings, strict=True):
        plain["title"] = ruling.rule.title
    return document


class _Undecidable(Exception):
    """Why a rule cannot be decided."""


class _Evidence:
    """What is read of run and baseline for all rules together."""

    def __init__(self, run: RunStore, baseline: RunStore | None, no_baseline: str) -> None:
        self.run, self.no_baseline = run, no_baseline
        self.summary = sum_up(run)
        self._baseline = baseline

    @property
    def baseline(self) -> RunStore:
        if self._baseline is None:
            raise _Undecidable(self.no_baseline)
        return self._baseline

    @cached_property
    def baseline_summary(self) -> Sums:
        return sum_up(self.baseline)

    @cached_property
    def overlap(self) -> Overlap:
        return overlap(self.run, self.baseline)


def _rule(rule: Rule, evidence: _Evidence) -> Ruling:
    known = Ruling(
        rule=rule,
        outcome=Outcome.UNDECIDED,
        reason="",
        level=LEVEL if rule.confidence is None else rule.confidence,
        figure=evidence.summary.metrics.get(plain_name(rule.metric, evidence.summary.judges)),
    )
    try:
        found = _measured(rule, evidence.run, evidence.summary, "run")
        known = msgspec.structs.replace(known, errored=found.errored, spoiled=found.spoiled)
        _require_units(rule, found, "run")
        known = _drop(known, found, evidence) if rule.max_drop is not None else _level(known, found, evidence)
    except _Undecidable as undecidable:
        return msgspec.structs.replace(known, outcome=Outcome.UNDECIDED, reason=str(undecidable))
    return _decide(known)


def _measured(rule: Rule, store: RunStore, summary: Sums, whose: str) -> Sample:
    """The units of a rule's figure in a whole run, or why there are none."""
    for sentence in unfinished(store, whose):
        raise _Undecidable(sentence)
    protocol = _protocol(rule.metric)
    scorer = scorer_of(rule.metric, summary.judges) if protocol in summary.protocols else None
    if scorer is None:
        raise _Undecidable(f"the {whose} has no {rule.metric}: {_absence(rule.metric, summary)}")
    name = plain_name(protocol + "".join(rule.metric.partition("@")[1:]), summary.judges)
    if lacking := summary.missing.get(name, 0):
        raise _Undecidable(f"the {whose} is partial: no score yet for {lacking} {_unit(name, lacking)}")
    return sample(store, rule.metric, scorer)


def _unit(name: str, count: int) -> str:
    return f"trial{'' if count == 1 else 's'}" if name == ROLLOUT else f"unit{'' if count == 1 else 's'} of {name}"


def _protocol(metric: str) -> str:
    measure = measure_of(metric)
    return metric.partition(".")[0] if measure is None else measure.protocol


def _absence(metric: str, summary: Sums) -> str:
    protocol, judge = _protocol(metric), metric.partition("@")[2]
    if protocol == ROLLOUT:
        return "it is not one of live trials (turngap rollout)"
    if ROLLOUT in summary.protocols:
        return "it is one of live trials, not of recorded conversations (turngap eval)"
    if protocol not in summary.protocols:
        return f"it was not scored under {protocol} (turngap eval --protocols)"
    return f"{judge!r} did not judge it; judged by {', '.join(summary.judges.get(protocol, ())) or 'nobody'}"


def _require_units(rule: Rule, found: Sample, whose: str) -> None:
    if found.errored + found.spoiled > rule.max_errored:
        what = "trials" if _protocol(rule.metric) == ROLLOUT else "units"
        lost = f"{found.errored} of {found.total} {what} of the {whose} are errored"
        if found.spoiled:
            # A user that fails may fail with the agents that are hard to serve: it is no reason to decide without them.
            lost = f"{found.errored} errored, {found.spoiled} spoiled by the user"
            lost = f"{found.errored + found.spoiled} of {found.total} trials of the {whose} count neither way ({lost})"
        raise _Undecidable(f"{lost}, and the rule allows {rule.max_errored}")
    if not columns(found.measure, found.units).values:
        raise _Undecidable(f"nothing was measured: the {whose} has no unit of this kind (n is 0)")


def _level(known: Ruling, found: Sample, evidence: _Evidence) -> Ruling:
    if known.figure is None:
        raise _Undecidable(f"the run has no {known.rule.metric}: it does not go that far")
    ends = known.figure.ci95
    if known.level != LEVEL:
        counted = columns(found.measure, found.units)
        ends = interval(found.measure, counted, seed=evidence.run.settings.seed, level=known.level)
    return msgspec.structs.replace(known, value=known.figure.value, n=known.figure.n, interval=ends)


def _drop(known: Ruling, found: Sample, evidence: _Evidence) -> Ruling:
    theirs = _measured(known.rule, evidence.baseline, evidence.baseline_summary, "baseline")
    _require_units(known.rule, theirs, "baseline")
    _require_same_measurement(evidence, found, theirs)
    shared = evidence.overlap.shared
    seed = evidence.run.settings.seed
    dropped = drop(theirs, found, among=shared, seed=seed, level=known.level)
    if dropped.value is None:
        raise _Undecidable("run and baseline have measured no unit in common")
    return msgspec.structs.replace(
        known,
        value=dropped.value,
        n=dropped.n,
        interval=dropped.interval,
        errored=max(found.errored, theirs.errored),
        spoiled=max(found.spoiled, theirs.spoiled),
        baseline=evidence.baseline_summary.metrics[plain_name(known.rule.metric, evidence.baseline_summary.judges)],
    )


def _require_same_measurement(evidence: _Evidence, found: Sample, theirs: Sample) -> None:
    common, what = evidence.overlap, noun(evidence.run)
    if common.changed:
        more = f" and {len(common.changed) - 1} more" if len(common.changed) > 1 else ""
        raise _Undecidable(f"the baseline is on other data: {what} {common.changed[0]!r}{more} has other content there")
    if not common.shared:
        raise _Undecidable(f"the baseline is on other data: it shares no {what} with the run")
    different = settings_that_differ(evidence.run, evidence.baseline, (found.scorer, theirs.scorer))
    if different:
        raise _Undecidable(f"the baseline was measured in another way: {'; '.join(different)}")


def _decide(known: Ruling) -> Ruling:
    """Hold the value, or the interval, against the bound."""
    rule, value = known.rule, known.value
    ends = (value, value) if rule.confidence is None else known.interval
    if value is None or ends is None or ends[0] is None or ends[1] is None:
        return msgspec.structs.replace(known, reason=f"there is no interval at {100 * known.level:.10g}%")
    # In terms of "not above a bound" all three kinds are one.
    sign = -1.0 if rule.min is not None else 1.0
    best, least_good = sorted((sign * ends[0], sign * ends[1]))
    limit = sign * rule.bound + _ROUNDING
    if least_good <= limit:
        outcome = Outcome.PASS
    elif best > limit:
        outcome = Outcome.FAIL
    else:
        outcome = Outcome.UNDECIDED
    return msgspec.structs.replace(known, outcome=outcome, reason=_reason(known, outcome))


def _reason(known: Ruling, outcome: Outcome) -> str:
    rule, value = known.rule, known.value or 0.0
    drop_rule = rule.max_drop is not None
    bound = f"{100 * rule.bound:.10g}{' points' if drop_rule else '%'}"
    level = f"{100 * known.level:.10g}%"
    if outcome is Outcome.UNDECIDED:
        units = "tasks" if _protocol(rule.metric) == ROLLOUT else "conversations"
        return f"inconclusive: the {level} interval lies on both sides of {bound}; more {units} would narrow it"
    side = ("not " if outcome is Outcome.PASS else "") + ("below" if rule.min is not None else "above")
    if rule.confidence is not None:
        return f"the whole {level} interval is {side} {bound}"
    if drop_rule:
        moved = "rose by" if value < 0 else "dropped by"
        return f"{moved} {percent(abs(value), rule.bound)} points, {side} {bound}"
    return f"{percent(value, rule.bound)}% is {side} {bound}"


def percent(value: float, bound: float) -> str:
    """A percentage with one decimal, or as many as it takes to tell it from the bound."""
    for places in range(1, 7):
        text = decimals(100 * value, places)
        if math.isclose(value, bound, abs_tol=_ROUNDING) or not math.isclose(float(text), 100 * bound, abs_tol=1e-9):
            return text
    return f"{100 * value:.10g}"
