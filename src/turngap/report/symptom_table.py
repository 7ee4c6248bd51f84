"""Tables for the terminal: what went wrong in live trials, and single cases with their evidence. Computes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from turngap.analysis.symptom import LostTrial, SymptomCase, Symptoms
from turngap.metrics.rounding import decimals
from turngap.report.harmless import one_line

_KINDS = 6  # kinds that the summary of a run names


def symptom_table(found: Symptoms, *, title: str) -> RenderableType:
    """The kinds of one run with how many trials show them."""
    parts: list[RenderableType] = [Text(title, style="bold"), Text(_sizes(found)), Text()]
    if found.rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("symptom", overflow="fold", min_width=18)
        for name in ("failed", "% of failed", "tasks", "succeeded"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in found.rows:
            share = decimals(100 * row.failed / found.failed) if found.failed else "-"
            table.add_row(Text(row.name.value), str(row.failed), share, str(row.tasks), str(row.succeeded or "."))
        parts += [table, Text()]
    notes = (
        ["failed, succeeded: trials that show it. A trial may show several symptoms, or none."] if found.rows else []
    )
    if found.lost:
        notes.append("errored: in no figure, and of unknown outcome; --show errored lists them.")
    if found.without:
        notes.append(f"{found.without} failed trials show none.")
    return Group(*parts, *(Text(f"- {note}") for note in (*found.notes, *notes)))


def _sizes(found: Symptoms) -> str:
    spoiled = f" ({found.spoiled} of them spoiled by the user)" if found.spoiled else ""
    all_trials = found.trials + len(found.lost)
    succeeded = found.trials - found.failed
    noun = "trial" if all_trials == 1 else "trials"
    return f"{all_trials} {noun}: {succeeded} succeeded, {found.failed} failed{spoiled}, {len(found.lost)} errored"


def why_failed(found: Symptoms) -> RenderableType | None:
    """The kinds that failed trials show, each with an example; None where none failed."""
    if not found.failed:
        return None
    parts: list[RenderableType] = [Text(f"why trials failed, {found.failed} of {found.trials}", style="italic")]
    rows = [row for row in found.rows if row.failed]
    if rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("symptom", no_wrap=True)
        for name in ("failed", "%", "tasks"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("for example", overflow="fold")
        for row in rows[:_KINDS]:
            case = found.example(row.name)
            example = "" if case is None else f"task {one_line(case.task)}, trial {case.trial}"
            share = decimals(100 * row.failed / found.failed)
            table.add_row(Text(row.name.value), str(row.failed), share, str(row.tasks), Text(example))
        parts.append(table)
    if len(rows) > _KINDS:
        parts.append(Text(f"{len(rows) - _KINDS} more kinds are rarer"))
    if found.without:
        parts.append(Text(f"{found.without} of them show no symptom"))
    return Group(*parts)


def why_command(found: Symptoms, run: str) -> str | None:
    """The command that lists failed trials of a run with their evidence, the most frequent kind; None without any."""
    if not found.failed:
        return None
    shown = f" --show {found.rows[0].name}" if found.rows and found.rows[0].failed else ""
    return f"turngap taxonomy {shlex.quote(run)}{shown}"


def symptom_cases(
    cases: Sequence[SymptomCase], lost: Sequence[LostTrial] = (), notes: Sequence[str] = ()
) -> RenderableType:
    """Single trials: what is missing, and each symptom with the message that shows it; errored ones with the reason."""
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
    for one in lost:
        kind = f" ({one.kind})" if one.kind else ""
        lines.append(Text(f"{one_line(one.task)}, trial {one.trial}: errored, {one.cause}{kind}", style="bold"))
        lines += [Padding(Text(one.reason), (0, 0, 0, 2)), Text()]
    return Group(*lines, *(Text(f"- {note}") for note in notes))
