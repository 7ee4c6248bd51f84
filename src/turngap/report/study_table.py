"""A study for the terminal and as Markdown: the figures of each model, then what they mean. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.data import Figure
from turngap.metrics.paired import Difference
from turngap.metrics.rounding import signed
from turngap.report import markdown
from turngap.report.table import interval, percent
from turngap.study.findings import Findings


def study_table(findings: Findings) -> RenderableType:
    """The study for the terminal."""
    parts: list[RenderableType] = [Text(f"study {findings.study.name}", style="bold")]
    parts.append(_table("%", [column.name for column in findings.columns], _rows(findings)))
    if findings.contrasts:
        parts.append(_table("difference, points", _pairs(findings), _differences(findings)))
    parts += [Text(line) for line in (*_verdicts(findings), *_facts(findings))]
    return Group(*parts)


def _table(name: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(name, no_wrap=True)
    for column in columns:
        table.add_column(escape(column), justify="right")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


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


def _markdown(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [[markdown.escape_cell(cell) for cell in row] for row in rows]
    head = (name, *map(markdown.escape_cell, columns))
    return markdown.table(head, cells, numbers=[False, *[True] * len(columns)])


def _rows(findings: Findings) -> Iterator[tuple[str, ...]]:
    names = dict.fromkeys(name for column in findings.columns for name in column.figures)
    for name in names:
        yield name, *(_cell(column.figures.get(name)) for column in findings.columns)


def _cell(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return "-"
    return f"{percent(figure)} [{interval(figure)}] n {figure.n}"


def _pairs(findings: Findings) -> list[str]:
    return [f"{one.second} - {one.first}" for one in findings.contrasts]


def _differences(findings: Findings) -> Iterator[tuple[str, ...]]:
    names = dict.fromkeys(name for one in findings.contrasts for name in one.differences)
    for name in names:
        yield name, *(_difference(one.differences.get(name)) for one in findings.contrasts)


def _difference(found: Difference | None) -> str:
    if found is None or found.value is None:
        return "-"
    between = "" if found.ci95 is None else f" [{signed(100 * found.ci95[0])}, {signed(100 * found.ci95[1])}]"
    return f"{signed(100 * found.value)}{between} n {found.n}"


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
