"""Tables for the terminal: next-turn figures, strict figures and workflows apart, so that the eye sees the gap.

Every row names its n and 95% interval, every judged row its judge. Tables fit 80 columns, need no colour, and are the
same when piped; no line ends in white space. The table of one run fits 54 columns too, without its words. A figure
without units is a dash. Nothing is computed here: a table shows a `Summary`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from turngap.analysis.figure import FIGURES, JUDGED, PER_CONVERSATION, figure_name
from turngap.analysis.summary import Summary
from turngap.data import Figure
from turngap.data.prediction import RECORDED_CAUSES
from turngap.metrics.rounding import decimals
from turngap.report.harmless import harmless, one_line

_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("next turn, on recorded history", ("text.rouge1", "turn.success.text", "turn.success.tool", "turn.success")),
    ("tool calls, held against the recorded ones", ("strict.name", "strict.exact", "strict.arg_f1", "strict.spurious")),
    (
        "whole workflows, on the model's own history",
        ("replay.completed", "workflow.success", "replay.completed.all", "workflow.success.all"),
    ),
)
_NAME, _MEANING = 21, 30  # columns for the name of a figure, and for what it says
_WIDE = 80  # columns that a terminal has unless it is a narrow one
_BY_NAME = {measure.name: measure for measure in FIGURES}
_COLUMNS = (
    ("text", "ROUGE-1", "text.rouge1"),
    ("turn", "text", "turn.success.text"),
    ("turn", "tool", "turn.success.tool"),
    ("strict", "exact", "strict.exact"),
    ("replay", "completed", "replay.completed"),
    ("workflow", "success", "workflow.success"),
)


def percent(figure: Figure) -> str:
    """The value with one decimal and without a sign; a dash where there is none."""
    return "-" if figure.value is None else decimals(100 * figure.value)


def interval(figure: Figure) -> str:
    """The 95% interval, as ``31.0 - 35.2``; a dash where there is none."""
    return "-" if figure.ci95 is None else " - ".join(decimals(100 * end) for end in figure.ci95)


class _Trimmed:
    """What it is given, without white space at the ends of lines, which tables fill up to their width; harmless."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._shown, options, pad=False):
            while line and not line[-1].text.rstrip():
                line.pop()
            if line:
                last = line.pop()
                line.append(last._replace(text=last.text.rstrip()))
            yield from (one if one.control else one._replace(text=harmless(one.text)) for one in line)
            yield Segment.line()


class _TrimmingConsole(Console):
    """A console that prints no white space at the ends of lines."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As `Console.print`."""
        shown = [self.render_str(one, **_of_text(options)) if isinstance(one, str) else one for one in objects]
        super().print(*map(_Trimmed, shown), **{**options, "end": ""})


def _of_text(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("style", "markup") if options.get(name) is not None}


def console(*, stderr: bool = False, least: int = _WIDE) -> Console:
    """A console that wraps nothing away: as wide as the terminal, 80 columns when piped.

    Args:
        stderr: whether it writes to standard error.
        least: columns that are used even where the terminal has fewer.
    """
    found = _TrimmingConsole(stderr=stderr, highlight=False)
    if not found.is_terminal:
        least = max(least, _WIDE)
    if found.width < least:
        found = _TrimmingConsole(stderr=stderr, highlight=False, width=least)
    return found


def summary_table(summary: Summary, *, title: str) -> RenderableType:
    """One run: figures, ledger, notes. It takes what width there is, from 54 columns on."""
    return _OneRun(summary, title)


class _OneRun:
    """The table of one run, which leaves words out where the terminal is narrow."""

    def __init__(self, summary: Summary, title: str) -> None:
        self._summary, self._title = summary, title

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        summary, wide = self._summary, options.max_width >= _WIDE
        yield Text(one_line(self._title), style="bold")
        yield Text(_sizes(summary))
        yield Text()
        yield from _figures(summary, wide=wide)
        yield Text()
        yield _ledger(summary, wide=wide)
        yield Text()
        yield _lines((*_facts(summary, wide=wide), *summary.notes))


def comparison_table(summaries: Sequence[tuple[str, Summary]]) -> RenderableType:
    """Several runs: a row a model with value, interval and n below each other, a column a protocol.

    Args:
        summaries: what each run is called in the table, and its summary.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True, overflow="fold", vertical="top")
    table.add_column("", no_wrap=True)
    for top, bottom, _ in _COLUMNS:
        table.add_column(f"{top}\n{bottom}", justify="right", no_wrap=True, overflow="fold")
    for at, (name, summary) in enumerate(summaries):
        figures = [summary.metrics[key] for _, _, key in _COLUMNS]
        label = "\n".join(escape(part) for part in folded(name, 20))
        cells = [f"[bold]{percent(figure)}[/bold]\n{_short(figure)}\n{figure.n}" for figure in figures]
        table.add_row(label, "%\nci95\nn", *cells, end_section=at < len(summaries) - 1)
    judges = sorted({names[0] for _, summary in summaries for names in summary.judges.values()})
    return Group(table, Text(), Text(f"turn and workflow are judged by: {', '.join(judges) or 'nobody'}"))


def folded(name: str, width: int) -> list[str]:
    """A name in lines of at most `width`, broken behind its separators, and within a part only where it has to be."""
    coarse = re.findall(r"[^/?&@ ]*[/?&@ ]?", name)
    fine = (re.findall(r"[^_.-]*[_.-]?", part) if len(part) > width else [part] for part in coarse)
    lines = [""]
    for part in chain.from_iterable(fine):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        whole = lines.pop() + part
        lines += [whole[at : at + width] for at in range(0, len(whole), width)] or [""]
    return lines


def _short(figure: Figure) -> str:
    return "-" if figure.ci95 is None else "-".join(decimals(100 * end, 0) for end in figure.ci95)


def _sizes(summary: Summary) -> str:
    n = summary.n
    return (
        f"{_count(n['conversations'], 'conversation')}, {n['tool_conversations']} with calls; "
        f"{_count(n['decisions'], 'decision')}: {n['text_decisions']} text, {n['tool_decisions']} tool; "
        f"{n['errored']} errored"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_Row = tuple[str, str, str, str, str]
"""Name, meaning, value, interval, n."""


def _figures(summary: Summary, *, wide: bool) -> Iterator[RenderableType]:
    yield from _figure_table([("figure", "what it says", "%", "95% interval", "n")], "bold", wide=wide)
    for heading, names in _SECTIONS:
        if rows := _rows(names, summary):
            yield Text(f"\n{heading}", style="italic")
            yield from _figure_table(rows, "", wide=wide)
    if summary.horizon:
        yield Text("\nown history from every decision on; p^h: if errors were independent", style="italic")
        yield from _figure_table(_curve(summary), "", wide=wide)


def _figure_table(rows: Iterable[_Row], style: str, *, wide: bool) -> Iterator[RenderableType]:
    """Rows in columns; a name that is too long stands in a line of its own, above its numbers."""
    # Several tables of the same fixed widths, 80 in all: in one table the headings would widen a column.
    for name, meaning, *numbers in rows:
        if len(name) > _NAME:
            yield Text(name, style=style)
            name = ""  # noqa: PLW2901 - said already
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
        table.add_column(width=_NAME + 1, no_wrap=True, style=style)
        if wide:
            table.add_column(width=_MEANING, overflow="fold", style=style)
        for width in (5, 14, 5):
            table.add_column(width=width, justify="right", no_wrap=True, style=style)
        table.add_row(*map(escape, (name, meaning, *numbers) if wide else (name, *numbers)))
        yield table


def _rows(names: Iterable[str], summary: Summary) -> list[_Row]:
    """The figures of a section that were measured; where several judge, each judge's under its name."""
    found = []
    for name in names:
        measure = _BY_NAME[name]
        if measure.protocol not in summary.protocols:
            continue
        judges = summary.judges[measure.protocol] if measure.protocol in JUDGED else ("",)
        for judge in judges:
            figure = summary.metrics[figure_name(name, judge, judges)]
            key, meaning = f" {name}", measure.meaning
            if len(judges) > 1:
                key += f"@{judge}"
            elif judge:
                # A long name gets lines of its own rather than one cut in the middle.
                whole = f"{meaning}, judge: {judge}"
                parts = [whole] if len(whole) <= _MEANING else [f"{meaning}, judge:", *folded(judge, _MEANING)]
                meaning = "\n".join(parts)
            found.append((key, meaning, percent(figure), interval(figure), str(figure.n)))
    return found


def _curve(summary: Summary) -> Iterator[_Row]:
    """The horizon curve, with the prediction beside it, as far as there are starts."""
    for point in summary.horizon:
        figure = point.measured
        if point.h > 1 and not figure.n:
            return
        meaning = "1 decision without error left" if point.h == 1 else f"{point.h} decisions"
        if point.h > 1 and point.predicted is not None:
            meaning += f" (p^{point.h}: {decimals(100 * point.predicted)})"
        yield f" horizon.{point.h}", meaning, percent(figure), interval(figure), str(figure.n)


def _ledger(summary: Summary, *, wide: bool) -> Table:
    causes = [cause.value for cause in RECORDED_CAUSES]
    if not wide:
        causes = [cause for cause in causes if any(book.causes[cause] for book in summary.ledger.values())]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    table.add_column("ledger")
    for heading in ("units", "success", *causes):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, book in summary.ledger.items():
        counts = (book.units, book.success, *(book.causes[cause] for cause in causes))
        label = "\n".join(escape(part) for part in folded(_ledger_name(name, summary), 16))
        table.add_row(label, *(str(count) if count else "." for count in counts))
    return table


def _ledger_name(name: str, summary: Summary) -> str:
    judges = summary.judges.get(name, ())
    if len(judges) > 1:
        return f"{name}@{judges[0]}"
    return {"strict": "strict (tool)", "strict.text": "strict (text)"}.get(name, name)


def _facts(summary: Summary, *, wide: bool) -> Iterable[str]:
    if summary.ledger:
        yield (
            "ledger: each unit is a success or has one cause. malformed, wrong, cut: the model's own; judge, harness, "
            "endpoint, data: errored, in no denominator."
        )
    judges = {protocol: names[0] for protocol, names in summary.judges.items() if len(names) == 1}
    if judges and not wide:
        yield f"judged by: {', '.join(f'{protocol} {judge}' for protocol, judge in judges.items())}"
    if "replay" in summary.protocols:
        means = [
            f"{summary.per_conversation[measure.name].value:.2f} {measure.meaning}"
            for measure in PER_CONVERSATION
            if summary.per_conversation[measure.name].n
        ]
        if means:
            yield f"a replayed conversation had on average {', '.join(means)}."
    if {"replay", "workflow"} & set(summary.protocols):
        yield "workflow figures are over conversations with tool calls; .all: over all conversations."


def _lines(sentences: Iterable[str]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for sentence in sentences:
        grid.add_row("-", Text(sentence))
    return grid
