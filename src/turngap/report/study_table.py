"""A study for the terminal and as Markdown: the figures of each model, then what they mean. Computes nothing.

In the terminal a table has a line a figure where all models find room beside each other. Where they do not, n and the
interval in whole percent stand below the value, and models that are still too many come in blocks below each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.data import Figure
from turngap.metrics.paired import Difference
from turngap.metrics.rounding import decimals, signed
from turngap.report import markdown
from turngap.report.table import interval, percent
from turngap.study.findings import Findings

_GAP = 2


class _Cell(NamedTuple):
    """What one model reached in one figure."""

    value: str
    interval: str = ""
    short: str = ""
    """The interval without decimals."""
    n: str = ""

    def line(self) -> str:
        """All of it."""
        return " ".join(filter(None, (self.value, f"[{self.interval}]" if self.interval else "", self.n)))

    def lines(self) -> str:
        """The value, and the rest below it."""
        return f"{self.value}\n{' '.join(filter(None, (self.short, self.n)))}"


_Row = tuple[str, list[_Cell]]


def study_table(findings: Findings) -> RenderableType:
    """The study for the terminal."""
    parts: list[RenderableType] = [Text(f"study {findings.study.name}", style="bold")]
    parts.append(_Figures("%", [column.name for column in findings.columns], list(_rows(findings))))
    if findings.contrasts:
        parts.append(_Figures("difference, points", _pairs(findings), list(_differences(findings))))
    parts.append(Text())
    parts += [Text(line) for line in (*_verdicts(findings), *_facts(findings))]
    return Group(*parts)


class _Figures:
    """A table that takes what width there is."""

    def __init__(self, name: str, columns: Sequence[str], rows: Sequence[_Row]) -> None:
        self._name, self._columns, self._rows = name, columns, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - max(map(len, (self._name, *(name for name, _ in self._rows))))
        for shown in (_Cell.line, _Cell.lines):
            widths = self._widths(shown)
            if sum(widths) <= room:
                yield Text()
                yield self._table(range(len(widths)), shown)
                return
        for block in _blocks(widths, room):
            yield Text()
            yield self._table(block, _Cell.lines)

    def _widths(self, shown: Callable[[_Cell], str]) -> list[int]:
        """Columns of the terminal that each model takes."""
        return [
            _GAP
            + max(len(line) for text in (name, *(shown(row[at]) for _, row in self._rows)) for line in text.split("\n"))
            for at, name in enumerate(self._columns)
        ]

    def _table(self, block: Iterable[int], shown: Callable[[_Cell], str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP - 1, 0, 0))
        table.add_column(escape(self._name), no_wrap=True)
        for at in block:
            table.add_column(escape(self._columns[at]), justify="right", no_wrap=True)
        for name, row in self._rows:
            table.add_row(escape(name), *(escape(shown(row[at])) for at in block))
        return table


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Columns in blocks that fit, at least one in each."""
    block: list[int] = []
    for at, width in enumerate(widths):
        if block and sum(widths[one] for one in block) + width > room:
            yield block
            block = []
        block.append(at)
    yield block


def study_page(findings: Findings, picture: str = "") -> str:
    """The study as Markdown.

    Args:
        findings: what was found.
        picture: the file name of its chart; nothing without one.
    """
    parts = [f"# Study {markdown.escape(findings.study.name)}", study_figures(findings)]
    if picture:
        parts.append(f"![From good turns to finished workflows](<{picture}>)")
    parts.append("\n".join(f"- {markdown.escape(line)}" for line in _facts(findings)))
    models = (f"- {markdown.escape(column.name)}: {markdown.escape(column.spec)}" for column in findings.columns)
    return "\n\n".join((*parts, "\n".join(models))) + "\n"


def study_figures(findings: Findings) -> str:
    """Figures, differences and verdicts as Markdown: what a model's card says of its quality."""
    parts = [_markdown("%", [column.name for column in findings.columns], _rows(findings))]
    if findings.contrasts:
        parts.append(_markdown("difference, points", _pairs(findings), _differences(findings)))
    parts.append("\n".join(f"- {markdown.escape(line)}" for line in _verdicts(findings)))
    return "\n\n".join(filter(None, parts))


def _markdown(name: str, columns: Sequence[str], rows: Iterable[_Row]) -> str:
    # Cells of figures hold nothing but numbers of ours, which no spreadsheet runs and no reader of Markdown changes.
    cells = [[markdown.escape_cell(name), *(cell.line() for cell in row)] for name, row in rows]
    head = (name, *map(markdown.escape_cell, columns))
    return markdown.table(head, cells, numbers=[False, *[True] * len(columns)])


def _rows(findings: Findings) -> Iterator[_Row]:
    names = dict.fromkeys(name for column in findings.columns for name in column.figures)
    for name in names:
        yield name, [_cell(column.figures.get(name)) for column in findings.columns]


def _cell(figure: Figure | None) -> _Cell:
    if figure is None or figure.value is None:
        return _Cell("-")
    short = "" if figure.ci95 is None else "-".join(decimals(100 * end, 0) for end in figure.ci95)
    return _Cell(percent(figure), interval(figure), short, f"n {figure.n}")


def _pairs(findings: Findings) -> list[str]:
    return [f"{one.second} - {one.first}" for one in findings.contrasts]


def _differences(findings: Findings) -> Iterator[_Row]:
    names = dict.fromkeys(name for one in findings.contrasts for name in one.differences)
    for name in names:
        yield name, [_difference(one.differences.get(name)) for one in findings.contrasts]


def _difference(found: Difference | None) -> _Cell:
    if found is None or found.value is None:
        return _Cell("-")
    between, short = (", ".join(signed(100 * end, places) for end in found.ci95 or ()) for places in (1, 0))
    return _Cell(signed(100 * found.value), between, short, f"n {found.n}")


def _verdicts(findings: Findings) -> Iterator[str]:
    for one in findings.contrasts:
        yield from (f"{one.first} -> {one.second}: {line}" for line in one.verdicts)


def _facts(findings: Findings) -> Iterator[str]:
    for one in findings.results.trained:
        outcome, counts = one.outcome, one.outcome.counts
        if one.recovered is not None:
            yield (
                f"{one.name}: in {one.recovered.differed} of {one.recovered.trials} trials a decision of the model was "
                f"corrected, and {one.recovered.recovered} of these were brought to success"
            )
        held = "" if outcome.validation is None else f", validation loss {outcome.validation:.3f}"
        yield (
            f"{one.name}: recipe {outcome.recipe.name} on {counts['decisions']} decisions of {counts['sequences']} "
            f"sequences ({counts['tokens']:,} tokens, {counts['learnt_tokens']:,} learnt), {outcome.steps} steps, "
            f"{outcome.seconds / 60:.1f} minutes, {outcome.tokens_per_second:.0f} tokens/s{held}"
        )
    if findings.study.ask.judge == "rules":
        yield "turns and workflows are judged by rules, a fixed program, not by a language model"
