"""A gate's result in Markdown: the comment on a pull request and the job summary of GitHub Actions are this text."""

from __future__ import annotations

from turngap.analysis.gate import GateResult, Outcome
from turngap.analysis.whatif import WhatIf
from turngap.report.gate_table import let_through
from turngap.report.markdown import escape, escape_cell, table
from turngap.report.ruling import LABEL, count, interval, uncounted, value, verdict

_MARK = {Outcome.PASS: "✅", Outcome.FAIL: "❌", Outcome.UNDECIDED: "❔"}
_HEAD = ("", "rule", "measured", "interval", "n", "not counted", "why")


def gate_markdown(result: GateResult, what_if: WhatIf | None = None) -> str:
    """The whole text, with a line end at its end; whatever comes from data is escaped."""
    rows = [
        (
            f"{_MARK[ruling.outcome]} {LABEL[ruling.outcome]}",
            escape_cell(ruling.rule.title),
            value(ruling),
            interval(ruling) if interval(ruling) == "-" else f"{interval(ruling)} ({100 * ruling.level:.10g}%)",
            str(count(ruling)),
            uncounted(ruling) or "0",
            escape_cell(ruling.reason),
        )
        for ruling in result.rulings
    ]
    parts = [
        f"### {_MARK[result.outcome]} turngap gate {escape(verdict(result))}",
        f"run: {escape(result.run)} ({escape(result.model)})"
        + (f"  \nbaseline: {escape(result.baseline)}" if result.baseline else ""),
        table(_HEAD, rows, numbers=(False, False, True, True, True, True)),
    ]
    if result.notes:
        parts.append("\n".join(f"- {escape(note)}" for note in result.notes))
    if what_if is not None:
        parts.append(_what_if(what_if))
    return "\n\n".join(parts) + "\n"


def _what_if(found: WhatIf) -> str:
    head = ("a gate on this alone", *(f"run {number}" for number in range(1, len(found.runs) + 1)))
    rows = [
        (
            escape_cell(f"{gate} ({metric})"),
            *("**let through**" if run.trials[at].let_through else run.trials[at].outcome.value for run in found.runs),
        )
        for at, (gate, metric) in enumerate(found.gates)
    ]
    said = [f"- {escape(let_through(found, run, f'run {number}'))}" for number, run in enumerate(found.runs, start=1)]
    bounds = "; ".join(rule.title for rule in found.rules)
    return "\n\n".join(
        (f"What a gate on one figure would let through ({escape(bounds)}):", table(head, rows), "\n".join(said))
    )
