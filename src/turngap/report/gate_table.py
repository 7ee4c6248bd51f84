"""A gate's result, and what gates on one figure would let through, for the terminal: 80 columns, also when piped."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turngap.analysis.gate import GateResult, Outcome, Ruling
from turngap.analysis.whatif import RunTrials, Trial, WhatIf
from turngap.report.ruling import LABEL, measured, value, verdict

_STYLE = {Outcome.PASS: "green", Outcome.FAIL: "bold red", Outcome.UNDECIDED: "yellow"}
_WORD = {Outcome.PASS: "pass", Outcome.FAIL: "fail", Outcome.UNDECIDED: "undecided"}
_ABREAST = 4
"""Runs that stand side by side in 80 columns."""


def gate_table(result: GateResult) -> RenderableType:
    """Verdict, then each rule with what was measured and why it ended so, then notes."""
    head = Table.grid(padding=(0, 2, 0, 0))
    head.add_row("run", _text(f"{result.run} ({result.model})"))
    head.add_row("baseline", _text(result.baseline or "-"))
    rules = Table.grid(padding=(0, 2, 0, 0))
    for ruling in result.rulings:
        rules.add_row(Text(LABEL[ruling.outcome], style=_STYLE[ruling.outcome]), _ruling(ruling))
    notes = Table.grid(padding=(0, 1, 0, 0))
    for note in result.notes:
        notes.add_row("-", _text(note))
    title = Text.assemble("gate ", (verdict(result), _STYLE[result.outcome]))
    parts: list[RenderableType] = [title, head, Text(), rules]
    return Group(*parts, Text(), notes) if result.notes else Group(*parts)


def what_if_table(table: WhatIf) -> RenderableType:
    """Gates by runs; below it, in words, what each gate would have let through."""
    bounds = "; ".join(rule.title.removeprefix(table.origin).strip() for rule in table.rules)
    lines = Table.grid(padding=(0, 1, 0, 0))
    said = Table.grid(padding=(0, 1, 0, 0))
    for number, run in enumerate(table.runs, start=1):
        lines.add_row(f"run {number}:", _text(f"{run.run} ({run.model})"))
        said.add_row("-", Text(let_through(table, run, f"run {number}")))
    parts: list[RenderableType] = [
        Text("what a gate on one figure alone would let through", style="bold"),
        _text(f"bounds of {table.origin}: {bounds}"),
        lines,
    ]
    for start in range(0, len(table.runs), _ABREAST):
        parts += [Text(), _grid(table, table.runs[start : start + _ABREAST], start + 1)]
    return Group(*parts, Text(), said)


def _grid(table: WhatIf, runs: Sequence[RunTrials], first: int) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("a gate on", no_wrap=True)
    for number in range(first, first + len(runs)):
        grid.add_column(f"run {number}", justify="right", no_wrap=True)
    for at, (gate, metric) in enumerate(table.gates):
        grid.add_row(Text(f"{gate}\n  {metric}"), *(_trial(run.trials[at]) for run in runs))
    grid.add_section()
    grid.add_row("all rules as written", *(_WORD[run.result.outcome] for run in runs))
    return grid


def let_through(table: WhatIf, run: RunTrials, name: str) -> str:
    """One sentence about one run."""
    in_the_end = next(trial for trial in run.trials if trial.metric == table.wanted)
    if in_the_end.outcome is Outcome.UNDECIDED:
        return f"{name}: the gate on {in_the_end.gate} could not be decided, so nothing can be said of the others"
    if in_the_end.outcome is Outcome.PASS:
        refused = [trial.gate for trial in run.trials if trial.outcome is Outcome.FAIL]
        return f"{name}: its {table.whole} pass" + (f"; refused by {_gates(refused)}" if refused else "")
    passed = [trial.gate for trial in run.trials if trial.let_through]
    return f"{name}: its {table.whole} fail; let through by {_gates(passed)}"


def _gates(names: list[str]) -> str:
    return f"the gates on {', '.join(names)}" if names else "none of the gates"


def _ruling(ruling: Ruling) -> Text:
    return Text("\n").join(map(_text, (ruling.rule.title, measured(ruling), ruling.reason)))


def _text(text: str) -> Text:
    """One paragraph; control characters, which would move the cursor or colour the terminal, are shown as U+FFFD."""
    line = " ".join(text.split())
    return Text("".join("\ufffd" if unicodedata.category(char) == "Cc" else char for char in line))


def _trial(trial: Trial) -> Text:
    word = ("LET THROUGH", "bold") if trial.let_through else (_WORD[trial.outcome], "")
    return Text.assemble(word, f"\n{value(trial.rulings[0])}")
