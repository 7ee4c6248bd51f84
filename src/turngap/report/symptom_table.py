"""Tables for the terminal: what went wrong in live trials, and single cases with their evidence. Computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turngap.analysis.symptom import SymptomCase, Symptoms
from turngap.report.harmless import one_line


def symptom_table(found: Symptoms, *, title: str) -> RenderableType:
    """The kinds of one run with how many trials show them."""
    sizes = f"{found.trials} trials: {found.trials - found.failed} succeeded, {found.failed} failed"
    parts: list[RenderableType] = [Text(title, style="bold"), Text(sizes), Text()]
    if found.rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("symptom", overflow="fold", min_width=18)
        for name in ("failed", "% of failed", "tasks", "succeeded"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in found.rows:
            share = f"{100 * row.failed / found.failed:.1f}" if found.failed else "-"
            table.add_row(Text(row.name.value), str(row.failed), share, str(row.tasks), str(row.succeeded or "."))
        parts += [table, Text()]
    notes = ["failed, succeeded: trials that show it. A trial may show several symptoms, or none."]
    if found.without:
        notes.append(f"{found.without} failed trials show none.")
    return Group(*parts, *(Text(f"- {note}") for note in (*found.notes, *notes)))


def symptom_cases(cases: Sequence[SymptomCase]) -> RenderableType:
    """Single trials: what is missing, and each symptom with the message that shows it."""
    lines: list[RenderableType] = []
    for case in cases:
        lines.append(Text(f"{one_line(case.task)}, trial {case.trial}: reward {case.reward:g}", style="bold"))
        evidence = Table.grid(padding=(0, 1))
        evidence.add_column(width=1)
        evidence.add_column(overflow="fold")
        if case.detail:
            evidence.add_row("", Text(case.detail))
        for symptom in case.symptoms:
            evidence.add_row("-", Text(f"{symptom.kind}, event {symptom.event}: {symptom.detail}"))
            evidence.add_row("", Text(symptom.evidence))
        lines += [evidence, Text()]
    return Group(*lines)
