"""A study for the terminal and as Markdown: the figures of each model, then what they mean. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.data import Figure
from turngap.report import markdown
from turngap.report.table import interval, percent
from turngap.study.findings import Findings


def study_table(findings: Findings) -> RenderableType:
    """The study for the terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("%", no_wrap=True)
    for column in findings.columns:
        table.add_column(escape(column.name), justify="right")
    for row in _rows(findings):
        table.add_row(*map(escape, row))
    lines = [Text(line) for line in (*findings.verdicts, *_facts(findings))]
    return Group(Text(f"study {findings.study.name}", style="bold"), table, *lines)


def study_page(findings: Findings) -> str:
    """The study as Markdown."""
    head = ("%", *(markdown.escape_cell(column.name) for column in findings.columns))
    rows = [[markdown.escape_cell(cell) for cell in row] for row in _rows(findings)]
    table = markdown.table(head, rows, numbers=[False, *[True] * len(findings.columns)])
    verdicts = [f"- {markdown.escape(line)}" for line in findings.verdicts]
    facts = [f"- {markdown.escape(line)}" for line in _facts(findings)]
    models = [f"- {markdown.escape(column.name)}: {markdown.escape(column.spec)}" for column in findings.columns]
    parts = [f"# Study {markdown.escape(findings.study.name)}", table, "\n".join(verdicts), "\n".join(facts)]
    return "\n\n".join(filter(None, [*parts, "\n".join(models)])) + "\n"


def _rows(findings: Findings) -> Iterator[tuple[str, ...]]:
    names = dict.fromkeys(name for column in findings.columns for name in column.figures)
    for name in names:
        yield name, *(_cell(column.figures.get(name)) for column in findings.columns)


def _cell(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return "-"
    return f"{percent(figure)} [{interval(figure)}] n {figure.n}"


def _facts(findings: Findings) -> Iterator[str]:
    training = findings.results.training
    counts = training.counts
    yield (
        f"trained {training.base} with recipe {training.recipe.name} on {counts['decisions']} decisions of "
        f"{counts['sequences']} sequences ({counts['tokens']:,} tokens, {counts['learnt_tokens']:,} learnt): "
        f"{training.steps} steps, {training.seconds / 60:.1f} minutes, {training.tokens_per_second:.0f} tokens/s"
    )
    if training.loss is not None:
        held = "" if training.validation is None else f", validation loss {training.validation:.3f}"
        yield f"last training loss {training.loss:.3f}{held}"
    if findings.study.ask.judge == "rules":
        yield "turns and workflows are judged by rules, a fixed program, not by a language model"
