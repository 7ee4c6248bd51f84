"""Tables for the terminal: why replays failed, and single failures with their evidence. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turngap.analysis.taxonomy import Case, Row, Taxonomy
from turngap.report.harmless import one_line
from turngap.report.table import folded, interval, percent

_MOST_TOOLS = 2
_LEAST_NAME, _MOST_NAME = 18, 24
_TEXTS = 46  # columns for the two texts of a row, of 79


def taxonomy_table(found: Taxonomy, *, title: str) -> RenderableType:
    """Categories, findings, labels and tools of one run."""
    sizes = f"{found.replays} replays: {found.completed} completed, {found.failed} failed; {found.errored} errored"
    parts: list[RenderableType] = [Text(title, style="bold"), Text(sizes), Text()]
    for heading, rows, detail in (
        ("category", found.categories, "due tool"),
        ("finding", found.findings, "due tool"),
        (f"label by {found.labelled_by}", found.labels, "due tool"),
        ("due tool", found.tools, "category"),
    ):
        if rows:
            parts += [_rows(heading, rows, detail), Text()]
    return Group(*parts, *_notes(found))


def case_list(cases: Sequence[Case], notes: Sequence[str] = ()) -> RenderableType:
    """Single failures: where, what was due and what came, and the evidence of each finding."""
    lines: list[RenderableType] = []
    for case in cases:
        place = "past the recording" if case.decision is None else f"decision {case.decision}"
        later = "" if case.first else ", after an earlier error"
        lines.append(
            Text(f"{one_line(case.conversation)}, {place}, event {case.event}: {case.category}{later}", style="bold")
        )
        evidence = Table.grid(padding=(0, 1))
        evidence.add_column(width=1)
        evidence.add_column(overflow="fold")
        evidence.add_row("", Text(case.detail or "no detail"))
        for finding in case.findings:
            evidence.add_row("-", Text(f"{finding.detector}, event {finding.event}: {finding.evidence}"))
        if case.label:
            evidence.add_row("-", Text(f"label {case.label}: {case.rationale}"))
        lines += [evidence, Text()]
    return Group(*lines, *(Text(f"- {note}") for note in notes))


def _rows(heading: str, rows: Sequence[Row], detail: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    longest = max(len(heading), *(len(row.name) for row in rows))
    name_width = max(_LEAST_NAME, min(_MOST_NAME, longest))
    table.add_column("\n".join(folded(heading, name_width)), width=name_width)
    for name in ("first", "%", "95% interval", "later"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"most, by {detail}")
    for row in rows:
        most = [f"{name} {count}" for name, count in list(row.tools.items())[:_MOST_TOOLS]]
        counts = (str(row.count), percent(row.share), interval(row.share), str(row.later) if row.later else ".")
        # Tool names are long: they break behind a separator, not in the middle of a word.
        names, details = folded(one_line(row.name), name_width), folded(one_line(", ".join(most)), _TEXTS - name_width)
        table.add_row(Text("\n".join(names)), *counts, Text("\n".join(details)))
    return table


def _notes(found: Taxonomy) -> list[Text]:
    notes = [
        "first: the first unresolved error, which failed the workflow; later: further ones. Shares: of failed replays.",
        "turngap gap counts first slips: the first call that was not right, put right later or not.",
    ]
    if found.findings:
        notes.append("a failure may have several findings, or none.")
    if found.without_finding:
        notes.append(f"{found.without_finding} failed replays have no finding beyond their category.")
    if found.label_errors:
        notes.append(f"{found.label_errors} could not be labelled; repeat the command to try again.")
    return [Text(f"- {note}") for note in (*found.notes, *notes)]
