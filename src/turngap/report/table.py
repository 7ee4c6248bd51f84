"""Tables for the terminal: next-turn figures, strict figures and workflows apart, so that the eye sees the gap.

Every row names its n and 95% interval, every judged row its judge. Tables fit 80 columns, need no colour, and are the
same when piped. A figure without units is a dash. Nothing is computed here: a table shows a `Summary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.analysis.figure import FIGURES, JUDGED, PER_CONVERSATION, Measure
from turngap.analysis.summary import Summary
from turngap.data import Cause, Figure

_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("next turn, on recorded history", ("text.rouge1", "turn.success.text", "turn.success.tool", "turn.success")),
    ("tool calls, held against the recorded ones", ("strict.name", "strict.exact", "strict.arg_f1", "strict.spurious")),
    (
        "whole workflows, on the model's own history",
        ("replay.completed", "workflow.success", "replay.completed.all", "workflow.success.all"),
    ),
)
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
    parts: list[RenderableType] = [Text(title, style="bold"), Text(_sizes(summary)), Text(), _figures(summary), Text()]
    parts += [_ledger(summary), Text()]
    return Group(*parts, *_lines(_facts(summary)), *_lines(summary.notes))


def comparison_table(summaries: Sequence[tuple[str, Summary]]) -> RenderableType:
    """Several runs: a row a model with value, interval and n below each other, a column a protocol.

    Args:
        summaries: what each run is called in the table, and its summary.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True, overflow="fold", vertical="middle")
    table.add_column("", no_wrap=True)
    for top, bottom, _ in _COLUMNS:
        table.add_column(f"{top}\n{bottom}", justify="right", no_wrap=True, overflow="fold")
    for at, (name, summary) in enumerate(summaries):
        figures = [summary.metrics[key] for _, _, key in _COLUMNS]
        label = "\n".join(escape(part) for part in _folded(name, 20))
        cells = [f"[bold]{percent(figure)}[/bold]\n{_short(figure)}\n{figure.n}" for figure in figures]
        table.add_row(label, "%\nci95\nn", *cells, end_section=at < len(summaries) - 1)
    return table


def _folded(name: str, width: int) -> list[str]:
    return [name[at : at + width] for at in range(0, len(name), width)] or [""]


def _short(figure: Figure) -> str:
    return "-" if figure.ci95 is None else f"{100 * figure.ci95[0]:.0f}-{100 * figure.ci95[1]:.0f}"


def _sizes(summary: Summary) -> str:
    n = summary.n
    return (
        f"{_count(n['conversations'], 'conversation')}, {n['tool_conversations']} with tool calls; "
        f"{_count(n['decisions'], 'decision')}: {n['text_decisions']} text, {n['tool_decisions']} tool; "
        f"{n['errored']} errored"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _figures(summary: Summary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("figure", no_wrap=True)
    table.add_column("what it says", overflow="fold")
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("95% interval", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    shown = [(heading, _rows(names, summary)) for heading, names in _SECTIONS]
    shown = [(heading, rows) for heading, rows in shown if rows]
    for at, (heading, rows) in enumerate(shown):
        table.add_row(Text(heading, style="italic"), "", "", "", "")
        for measure, judge, figure in rows:
            meaning = f"{measure.meaning} (judge: {judge})" if judge else measure.meaning
            key = f"  {measure.name}"
            table.add_row(key, escape(meaning), f"[bold]{percent(figure)}[/bold]", interval(figure), str(figure.n))
        if at < len(shown) - 1:
            table.add_row()
    return table


def _rows(names: Iterable[str], summary: Summary) -> list[tuple[Measure, str, Figure]]:
    """The figures of a section that were measured, each judge's in its own row."""
    found: list[tuple[Measure, str, Figure]] = []
    for name in names:
        measure = _BY_NAME[name]
        if measure.protocol not in summary.protocols:
            continue
        if measure.protocol not in JUDGED:
            found.append((measure, "", summary.metrics[name]))
            continue
        for at, judge in enumerate(summary.judges[measure.protocol]):
            found.append((measure, judge, summary.metrics[name if at == 0 else f"{name}@{judge}"]))
    return found


def _ledger(summary: Summary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("blame ledger", overflow="fold")
    for heading in ("units", "success", *(cause.value for cause in Cause)):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, book in summary.ledger.items():
        counts = (book.units, book.success, *(book.causes[cause.value] for cause in Cause))
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


def _lines(sentences: Iterable[str]) -> list[Text]:
    return [Text(sentence) for sentence in sentences if sentence]
