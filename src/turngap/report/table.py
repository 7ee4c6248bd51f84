"""Tables for the terminal: next-turn figures, strict figures and workflows apart, so that the eye sees the gap.

Every row names its n and 95% interval, every judged row its judge. Tables fit 80 columns, need no colour, and are the
same when piped. A figure without units is a dash. Nothing is computed here: a table shows a `Summary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.analysis.figure import FIGURES, JUDGED, PER_CONVERSATION, figure_name
from turngap.analysis.summary import Summary
from turngap.data import Figure
from turngap.data.prediction import RECORDED_CAUSES

_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("next turn, on recorded history", ("text.rouge1", "turn.success.text", "turn.success.tool", "turn.success")),
    ("tool calls, held against the recorded ones", ("strict.name", "strict.exact", "strict.arg_f1", "strict.spurious")),
    (
        "whole workflows, on the model's own history",
        ("replay.completed", "workflow.success", "replay.completed.all", "workflow.success.all"),
    ),
)
_MEANING = 30  # columns for what a figure says
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
    return "-" if figure.value is None else f"{100 * figure.value:.1f}"


def interval(figure: Figure) -> str:
    """The 95% interval, as ``31.0 - 35.2``; a dash where there is none."""
    return "-" if figure.ci95 is None else f"{100 * figure.ci95[0]:.1f} - {100 * figure.ci95[1]:.1f}"


def console(*, stderr: bool = False) -> Console:
    """A console that wraps nothing away: as wide as the terminal, and at least 80 columns also when piped."""
    found = Console(stderr=stderr, highlight=False)
    if found.width < 80:
        found = Console(stderr=stderr, highlight=False, width=80)
    return found


def summary_table(summary: Summary, *, title: str) -> RenderableType:
    """One run: figures, ledger, notes."""
    head = [Text(title, style="bold"), Text(_sizes(summary)), Text()]
    return Group(
        *head, *_figures(summary), Text(), _ledger(summary), Text(), _lines((*_facts(summary), *summary.notes))
    )


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
        label = "\n".join(escape(part) for part in _folded(name, 20))
        cells = [f"[bold]{percent(figure)}[/bold]\n{_short(figure)}\n{figure.n}" for figure in figures]
        table.add_row(label, "%\nci95\nn", *cells, end_section=at < len(summaries) - 1)
    judges = sorted({names[0] for _, summary in summaries for names in summary.judges.values()})
    return Group(table, Text(), Text(f"turn and workflow are judged by: {', '.join(judges) or 'nobody'}"))


def _folded(name: str, width: int) -> list[str]:
    return [name[at : at + width] for at in range(0, len(name), width)] or [""]


def _short(figure: Figure) -> str:
    return "-" if figure.ci95 is None else f"{100 * figure.ci95[0]:.0f}-{100 * figure.ci95[1]:.0f}"


def _sizes(summary: Summary) -> str:
    n = summary.n
    return (
        f"{_count(n['conversations'], 'conversation')}, {n['tool_conversations']} with calls; "
        f"{_count(n['decisions'], 'decision')}: {n['text_decisions']} text, {n['tool_decisions']} tool; "
        f"{n['errored']} errored"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _figures(summary: Summary) -> list[RenderableType]:
    parts: list[RenderableType] = [_figure_table([("figure", "what it says", "%", "95% interval", "n")], "bold")]
    for heading, names in _SECTIONS:
        if rows := _rows(names, summary):
            parts += [Text(heading, style="italic"), _figure_table(rows, "")]
    if summary.horizon:
        heading = "own history from every decision on; p^h: if errors were independent"
        parts += [Text(heading, style="italic"), _figure_table(_curve(summary), "")]
    return parts


def _figure_table(rows: Iterable[tuple[str, str, str, str, str]], style: str) -> Table:
    # Several tables of the same fixed widths, 79 in all: in one table the headings would widen a column.
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(width=22, no_wrap=True, style=style)
    table.add_column(width=_MEANING, overflow="fold", style=style)
    for width in (5, 13, 5):
        table.add_column(width=width, justify="right", no_wrap=True, style=style)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _rows(names: Iterable[str], summary: Summary) -> list[tuple[str, str, str, str, str]]:
    """The figures of a section that were measured, each judge's in a row of its own."""
    found = []
    for name in names:
        measure = _BY_NAME[name]
        if measure.protocol not in summary.protocols:
            continue
        judges = summary.judges[measure.protocol] if measure.protocol in JUDGED else ("",)
        for judge in judges:
            figure = summary.metrics[figure_name(name, judge, judges)]
            meaning = measure.meaning
            if judge:
                # A long name gets a line of its own rather than one cut in the middle.
                gap = " " if len(meaning) + len(judge) + 9 <= _MEANING else "\n"
                meaning += f",{gap}judge: {judge}"
            found.append((f"  {name}", meaning, percent(figure), interval(figure), str(figure.n)))
    return found


def _curve(summary: Summary) -> Iterator[tuple[str, str, str, str, str]]:
    """The horizon curve, with the prediction beside it, as far as there are starts."""
    for point in summary.horizon:
        figure = point.measured
        if point.h > 1 and not figure.n:
            return
        meaning = "1 decision without error left" if point.h == 1 else f"{point.h} decisions"
        if point.h > 1 and point.predicted is not None:
            meaning += f" (p^{point.h}: {100 * point.predicted:.1f})"
        yield f"  horizon.{point.h}", meaning, percent(figure), interval(figure), str(figure.n)


def _ledger(summary: Summary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    table.add_column("blame ledger", overflow="fold")
    for heading in ("units", "success", *(cause.value for cause in RECORDED_CAUSES)):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, book in summary.ledger.items():
        counts = (book.units, book.success, *(book.causes[cause.value] for cause in RECORDED_CAUSES))
        table.add_row(escape(_ledger_name(name)), *(str(count) if count else "." for count in counts))
    return table


def _ledger_name(name: str) -> str:
    return {"strict": "strict (tool)", "strict.text": "strict (text)"}.get(name, name)


def _facts(summary: Summary) -> Iterable[str]:
    yield "malformed, wrong, cut: the model's own; judge, harness, endpoint, data: errored, in no denominator."
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
