"""A report as Markdown: the same sections, tables and failed workflows, without charts unless they lie beside it.

Everything from data is escaped (`turngap.report.markdown`): the text renders as text everywhere, tables keep their
columns, and spreadsheets run nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from turngap.report.document import Cell, Column, Document, Failed, Line, Passage, Section, Table, chart_table
from turngap.report.markdown import escape, escape_cell, fenced, table

_FOOT = "Every figure is defined in docs/figures.md, those of live tasks in docs/rollout.md; intervals are 95%."


def render(document: Document, pictures: Mapping[str, str] | None = None) -> str:
    """The text of the file.

    Args:
        document: what to say.
        pictures: chart -> path of its picture, relative to the file; without, charts are their tables.
    """
    parts = [f"# {escape(document.title)}", escape(document.subtitle)]
    for section in document.sections:
        parts += _section(section, pictures or {})
    parts.append(f"{escape(document.made_with)}. {_FOOT}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, pictures: Mapping[str, str]) -> Iterator[str]:
    yield f"## {escape(section.title)}"
    yield from (escape(paragraph) for paragraph in section.lead)
    yield "\n".join(f"- {escape(finding)}" for finding in section.findings)
    for chart in section.charts:
        if chart.name in pictures:
            yield f"![{escape(chart.alt)}]({quote(pictures[chart.name])})"
        yield from _table(chart_table(chart))
    for data in section.tables:
        yield from _table(data)
    for run in section.failures:
        yield f"### {escape(run.run)}"
        first = f"; the first {len(run.shown)} are shown" if len(run.shown) < run.total else ""
        yield f"{run.total} {escape(run.noun)}{first}."
        for failed in run.shown:
            yield from _failed(failed)
    yield from (escape(note) for note in section.notes)


def _table(data: Table) -> Iterator[str]:
    yield f"**{escape(data.caption)}**"
    titles = [_title(column) for column in data.columns]
    rows = [[_cell(cell) for cell in row] for row in data.rows]
    yield table(titles, rows, numbers=[column.number for column in data.columns])


def _title(column: Column) -> str:
    return escape_cell(f"{column.group}: {column.title}" if column.group else column.title)


def _cell(cell: Cell) -> str:
    # A number is ours and stays a number, its sign included.
    text = cell.text if cell.kind == "number" else escape_cell(cell.text)
    note = ", ".join(cell.note.split("\n"))
    return f"{text} ({escape(note)})" if note else text


def _failed(failed: Failed) -> Iterator[str]:
    yield f"#### {escape(failed.conversation)}: {escape(failed.category)}"
    yield "\n".join(f"- {escape(text)}" for text in (failed.reason, failed.place, *failed.notes) if text)
    for data in failed.tables:
        yield from _table(data)
    for part in (Passage(title="Just before", lines=failed.before), *failed.sides):
        if part.lines:
            yield f"**{escape(part.title)}**"
            yield from _lines(part)
    for part in failed.folds:
        # The only markup of HTML here: the words are ours, and what is folded stands as Markdown between empty lines.
        yield f"<details><summary>{escape(part.title)}</summary>"
        yield from _lines(part)
        yield "</details>"


def _lines(part: Passage) -> Iterator[str]:
    for line in part.lines:
        yield from _line(line)
    if not part.lines and part.nothing:
        yield escape(part.nothing)


def _line(line: Line) -> Iterator[str]:
    label = f" {escape(line.label)}" if line.label else ""
    mark = f" ({escape(line.mark)})" if line.mark else ""
    number = f"{escape(line.at)} " if line.at else ""
    yield f"{number}{line.who}{label}{mark}:"
    yield fenced(line.text) if line.text else "no text"
    if line.more:
        yield f"{line.more:,} more characters are in the run directory."
