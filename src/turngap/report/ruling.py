"""The words for a gate's result that terminal, Markdown, job summary and JUnit share: all tell one story."""

from __future__ import annotations

from turngap.analysis.gate import GateResult, Outcome, Ruling
from turngap.data import Figure
from turngap.metrics.rounding import decimals

LABEL = {Outcome.PASS: "PASS", Outcome.FAIL: "FAIL", Outcome.UNDECIDED: "UNDECIDED"}
"""Outcome -> how it is written."""


def verdict(result: GateResult) -> str:
    """``FAIL: 1 of 4 rules failed, 1 could not be decided``."""
    total = len(result.rulings)
    failed, undecided = result.count(Outcome.FAIL), result.count(Outcome.UNDECIDED)
    if total == 1:
        word = {Outcome.PASS: "is kept", Outcome.FAIL: "failed", Outcome.UNDECIDED: "could not be decided"}
        return f"{LABEL[result.outcome]}: the rule {word[result.outcome]}"
    if not failed and not undecided:
        return f"PASS: all {total} rules are kept"
    parts = [f"{failed} of {total} rules failed"] if failed else []
    if undecided:
        parts.append(f"{undecided} {'' if failed else f'of {total} rules '}could not be decided")
    return f"{LABEL[result.outcome]}: {', '.join(parts)}"


def value(ruling: Ruling) -> str:
    """What was held against the bound: ``30.9%`` or ``drop 11.6 points``; a dash where there is nothing."""
    found = _shown(ruling)
    if found is None:
        return "-"
    return f"drop {decimals(100 * found)} points" if _is_drop(ruling) else f"{decimals(100 * found)}%"


def interval(ruling: Ruling) -> str:
    """Its interval, as ``20.3 to 44.0``; a dash where there is none."""
    ends = ruling.interval if ruling.value is not None else ruling.figure and ruling.figure.ci95
    return "-" if not ends else " to ".join(decimals(100 * end) for end in ends)


def count(ruling: Ruling) -> int:
    """Units behind `value`."""
    if ruling.value is None and ruling.figure is not None:
        return ruling.figure.n
    return ruling.n


def measured(ruling: Ruling) -> str:
    """All that was measured for a rule, on one line."""
    if _shown(ruling) is None:
        parts = ["no value, n 0"]
    else:
        parts = [f"{value(ruling)}, n {count(ruling)}{' shared' if _is_drop(ruling) else ''}"]
        if interval(ruling) != "-":
            parts.append(f"{100 * ruling.level:.10g}% interval {interval(ruling)}")
    if _is_drop(ruling):
        parts.append(f"run {_figure(ruling.figure)}, baseline {_figure(ruling.baseline)}")
    return "; ".join(filter(None, (*parts, uncounted(ruling))))


def uncounted(ruling: Ruling) -> str:
    """Units that are in no figure, ``2 errored, 3 spoiled by the user``; empty where there are none."""
    counts = ((ruling.errored, "errored"), (ruling.spoiled, "spoiled by the user"))
    return ", ".join(f"{count} {how}" for count, how in counts if count)


def _is_drop(ruling: Ruling) -> bool:
    """Whether `value` is a drop; an undecidable one has none, and the run's own figure is shown instead."""
    return ruling.rule.max_drop is not None and ruling.value is not None


def _shown(ruling: Ruling) -> float | None:
    if ruling.value is not None:
        return ruling.value
    return None if ruling.figure is None else ruling.figure.value


def _figure(figure: Figure | None) -> str:
    return "-" if figure is None or figure.value is None else f"{decimals(100 * figure.value)}% of {figure.n}"
