"""What a report says, before anybody decides how it looks: sections of sentences, tables, charts and failures.

The HTML page, the Markdown text and the PNG files all render this one `Document`, so that they cannot disagree. Nothing
here is escaped or cut to a width: strings are what they are, and each rendering makes them safe in its own way.
Fractions stay fractions in charts; in tables a cell is finished text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from turngap.data import Figure
from turngap.metrics.rounding import decimals

DASH = "–"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a table."""

    text: str
    note: str = ""
    """Quieter lines below: interval and n."""
    kind: Literal["text", "number", "head"] = "text"
    """``head``: names its row."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table."""

    title: str
    group: str = ""
    """What neighbouring columns have in common, said once above them."""
    number: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table; every row has a cell for every column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False
    """Whether it is long, and shown on request."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One value in a chart, with what a reader may want to know about it."""

    series: str
    """Whose value it is: a model, or a condition."""
    at: str | int
    """Its place on the other axis: a name, or a number."""
    value: float
    low: float | None = None
    high: float | None = None
    """The 95% interval; None where there is none."""
    n: int | None = None
    expected: bool = False
    """Computed under an assumption instead of measured; drawn apart."""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """Values to draw; a chart of places brings its own table.

    Every chart is shown with a text alternative and with its values as a table.
    """

    name: str
    """File name without ending; unique in its document."""
    kind: Literal["points", "lines", "bars", "ranks"]
    """Dots with intervals by name; lines with bands over numbers; bars by name; places by name."""
    title: str
    alt: str
    """What the chart shows, for those who do not see it."""
    value_title: str
    at_title: str
    marks: tuple[Mark, ...]
    at_order: tuple[str, ...] = ()
    """Names on the other axis in order; empty for numbers."""
    series_order: tuple[str, ...]
    data: Table | None = None
    """The table that stands below the chart, where it holds more than the values drawn; None: made from them."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One thing said, called or answered in a conversation, word for word."""

    who: str
    """``user``, ``agent``, ``call``, ``result`` or ``system``."""
    at: str = ""
    """Its number in the conversation, where lines are numbered."""
    label: str = ""
    """The tool that was called; else nothing."""
    text: str = ""
    mark: str = ""
    """What is to be known about it in a few words: accepted, rejected with its category, malformed."""
    good: bool | None = None
    """Whether the mark is good news; None for neither."""
    more: int = 0
    """Characters that were left out at the end of `text`."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a conversation under a heading."""

    title: str
    lines: tuple[Line, ...]
    nothing: str = ""
    """What is said where there are no lines."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """One failed workflow or trial, with what shows where it went wrong."""

    conversation: str
    """Its id; for a trial, its task and number in words."""
    category: str
    place: str
    """Which step it is, or how the trial ended, in words."""
    reason: str
    """One line: reference against prediction, the judge's words, or what is missing for a full reward."""
    notes: tuple[str, ...] = ()
    before: tuple[Line, ...] = ()
    """What was said last before the step."""
    sides: tuple[Passage, ...] = ()
    """What is held against each other, side by side."""
    tables: tuple[Table, ...] = ()
    folds: tuple[Passage, ...] = ()
    """Long parts that are shown on request."""


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """What failed in one run, as far as it is shown."""

    run: str
    shown: tuple[Failed, ...]
    total: int
    noun: str = "failed"
    """What became of all of them."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a report."""

    key: str
    """Anchor; unique in its document."""
    title: str
    lead: tuple[str, ...] = ()
    """Paragraphs above everything else."""
    findings: tuple[str, ...] = ()
    """What the figures say, one sentence each, as a list."""
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    failures: tuple[Failures, ...] = ()
    notes: tuple[str, ...] = ()
    """Below everything else, for whoever asks how it was computed."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    made_with: str

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in order."""
        return tuple(chart for section in self.sections for chart in section.charts)


def percent(value: float | None) -> str:
    """A fraction in percent with one decimal and without a sign; a dash for None."""
    return DASH if value is None else decimals(100 * value)


def between(ends: tuple[float, float] | None) -> str:
    """An interval in percent, ``31.0–35.2``; nothing for None."""
    return "" if ends is None else f"{decimals(100 * ends[0])}–{decimals(100 * ends[1])}"


def signed(value: float | None, places: int = 1) -> str:
    """A number with its sign, a real minus, and no sign where it is shown as zero; a dash for None."""
    if value is None:
        return DASH
    digits = decimals(abs(value), places)
    if not float(digits):
        return digits
    return f"{'+' if value > 0 else '−'}{digits}"


def from_to(ends: tuple[float, float] | None, places: int = 1) -> str:
    """An interval of signed numbers, ``−1.2 to +3.4``; nothing for None."""
    return "" if ends is None else f"{signed(ends[0], places)} to {signed(ends[1], places)}"


def points(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """An interval of fractions in percentage points."""
    return None if ends is None else (100 * ends[0], 100 * ends[1])


def figure_cell(figure: Figure) -> Cell:
    """Value, with interval and n below."""
    parts = (between(figure.ci95), f"n {figure.n}")
    return Cell(text=percent(figure.value), note="\n".join(part for part in parts if part), kind="number")


def head(text: str, note: str = "") -> Cell:
    """A cell that names its row."""
    return Cell(text=text, note=note, kind="head")


def number(value: object) -> Cell:
    """A cell of digits."""
    return Cell(text=str(value), kind="number")


def mark(series: str, at: str | int, figure: Figure, *, expected: bool = False) -> Mark | None:
    """A figure as a value of a chart; None where it has no value."""
    if figure.value is None:
        return None
    low, high = figure.ci95 or (None, None)
    return Mark(series=series, at=at, value=figure.value, low=low, high=high, n=figure.n, expected=expected)


def chart_table(chart: Chart) -> Table:
    """What stands below a chart: its own table, or the values drawn, row by row."""
    if chart.data is not None:
        return chart.data
    kinds = any(item.expected for item in chart.marks)
    bands = any(item.low is not None for item in chart.marks)
    counts = any(item.n is not None for item in chart.marks)
    columns = [Column(title=chart.at_title), Column(title="series")]
    columns += [Column(title="kind")] if kinds else []
    columns += [Column(title=chart.value_title, number=True)]
    columns += [Column(title="95% interval", number=True)] if bands else []
    columns += [Column(title="n", number=True)] if counts else []
    rows = []
    for item in chart.marks:
        row = [Cell(text=str(item.at), kind="head"), Cell(text=item.series)]
        row += [Cell(text="expected" if item.expected else "measured")] if kinds else []
        row += [number(percent(item.value))]
        if bands:
            ends = None if item.low is None or item.high is None else (item.low, item.high)
            row += [number(between(ends) or DASH)]
        row += [number(DASH if item.n is None else item.n)] if counts else []
        rows.append(tuple(row))
    return Table(caption=f"Data: {chart.title}", columns=tuple(columns), rows=tuple(rows))
