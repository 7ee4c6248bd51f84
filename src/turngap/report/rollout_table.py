"""A rollout for the terminal: pass^k, the reward and what it is made of, scenarios, floors, tasks. Computes nothing.

What counts towards the reward and what was only observed stand in sections of their own, so that a full reward beside a
failed check is no contradiction. Every row has its n and its 95% interval; tables fit 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from turngap.analysis.rollout import FLOORS, RolloutSummary
from turngap.analysis.symptom import Symptoms
from turngap.analysis.trial import PROTOCOL, SCENARIOS, measure_of, shown_hats
from turngap.data import Cause, Figure
from turngap.metrics.rounding import decimals
from turngap.report.harmless import one_line
from turngap.report.symptom_table import why_failed
from turngap.report.table import interval, percent
from turngap.report.task_table import average, task_table

_NAME, _MEANING = 24, 28  # columns; the longest name is observed.env_assertion
_OVER = "n: tasks for pass^k and the floors, trials for all else; intervals are over tasks"


def rollout_table(summary: RolloutSummary, *, title: str, why: Symptoms | None = None) -> RenderableType:
    """One run: what is to be known first, figures, scenarios, how trials ended, why they failed, tasks, notes.

    Args:
        summary: the figures.
        title: first line.
        why: what went wrong, where it is to be said.
    """
    parts: list[RenderableType] = [Text(title, style="bold"), Text(_sizes(summary))]
    if summary.caveat:
        parts.append(Text(one_line(summary.caveat), style="bold"))
    parts += [Text(), *_figures(summary)]
    scenarios = [name for name in SCENARIOS if f"pass^1[{name}]" in summary.metrics]
    if len(scenarios) > 1:
        parts += [Text(), _scenarios(summary, scenarios)]
    parts += [Text(), _ledger(summary)]
    if why is not None and (block := why_failed(why)) is not None:
        parts += [Text(), block]
    parts += [Text(), *task_table(summary.per_task)]
    notes = (note for note in summary.notes if note != summary.caveat)  # which stands above the figures
    return Group(*parts, Text(), _lines((*_facts(summary), *notes)))


def _sizes(summary: RolloutSummary) -> str:
    n = summary.n
    missing = f", {n['missing']} missing" if n["missing"] else ""
    return (
        f"{n['tasks']} tasks, {n['trials']} trials: {n['valid']} valid, {n['user_errors']} spoiled by the user, "
        f"{n['errored']} errored{missing}\nuser: {summary.user}; tasks: {summary.tasks['file']} "
        f"({str(summary.tasks['digest'])[:12]})"
    )


def _figures(summary: RolloutSummary) -> Iterator[RenderableType]:
    names = [name for name in summary.metrics if "[" not in name]
    hats = [f"pass^{k}" for k in shown_hats(sum(name.startswith("pass^") and "." not in name for name in names))]
    counted = [name for name in names if name.startswith("reward.") and name != "reward.all"]
    observed = [name for name in names if name.startswith("observed.")]
    theirs = [name for name in ("tau2.reward", *(f"tau2.{hat}" for hat in hats)) if name in names]
    sections: tuple[tuple[str, Sequence[str]], ...] = (
        ("", [*hats, "reward"]),
        ("what the reward is made of, where the task has something for it", counted),
        ("looked at, not counted", observed),
        ("by tau2's own scoring", theirs),
        ("the user", ["user_error", *(("pass^1.all", "reward.all") if summary.n["user_errors"] else ())]),
        ("floors: agents that understand nothing", [name for name in FLOORS if name in names]),
    )
    yield _figure_table([("figure", "what it says", "%", "95% interval", "n")], "bold")
    for heading, chosen in sections:
        if chosen:
            if heading:
                yield Text(heading, style="italic")
            yield _figure_table((_row(summary, name) for name in chosen), "")
    yield Text(_OVER)


def _row(summary: RolloutSummary, name: str) -> tuple[str, ...]:
    figure = summary.metrics[name]
    measure = measure_of(name)
    meaning = measure.meaning if measure is not None else ""
    if lacking := summary.left_out.get(name):
        meaning += f"\n({lacking} left out)"
    owner, _, component = name.partition(".")
    if owner == "reward" and (vacuous := summary.components.get(component, {}).get("vacuous", 0)):
        meaning += f"\n({vacuous} trials ask for none)"
    return f"  {name}", meaning, percent(figure), interval(figure), str(figure.n)


def _figure_table(rows: Iterable[tuple[str, ...]], style: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(width=_NAME, no_wrap=True, style=style)
    table.add_column(width=_MEANING, overflow="fold", style=style)
    for width in (5, 13, 5):
        table.add_column(width=width, justify="right", no_wrap=True, style=style)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _scenarios(summary: RolloutSummary, scenarios: Sequence[str]) -> Table:
    columns = ["pass^1", *(["pass^2"] if "pass^2" in summary.metrics else []), "reward", *FLOORS, "user_error"]
    shown = [name for name in columns if name in summary.metrics]
    table = _grid("scenario", "tasks", *(name.replace(".", "\n").replace("_", "\n") for name in shown))
    for scenario in scenarios:
        figures = [summary.metrics.get(f"{name}[{scenario}]", Figure(value=None, n=0)) for name in shown]
        tasks = sum(row.scenario == scenario for row in summary.per_task)
        table.add_row(scenario, str(tasks), *(f"{percent(figure)}\n{_short(figure)}" for figure in figures))
    return table


def _ledger(summary: RolloutSummary) -> Table:
    causes = [cause for cause in Cause if any(book.causes[cause.value] for book in summary.ledger.values())]
    table = _grid("trials", "all", "success", *(cause.value for cause in causes))
    for name, book in summary.ledger.items():
        counts = (book.units, book.success, *(book.causes[cause.value] for cause in causes))
        of_scenario = name.removeprefix(PROTOCOL).strip("[]")
        table.add_row(of_scenario or "all tasks", *(str(count) if count else "." for count in counts))
    return table


def _facts(summary: RolloutSummary) -> Iterator[str]:
    ends = ", ".join(f"{name} {count}" for name, count in summary.terminations.items())
    if ends:
        yield f"trials ended by: {ends}"
    if spent := average(summary.per_task):
        yield spent
    audit = summary.audit
    if audit is not None:
        yield (
            f"user audit, with {audit.user} in the user's place: tasks {audit.tasks}, trials {audit.trials}; reward "
            f"{_with_ends(audit.other)} against {_with_ends(audit.reward)}; {_with_ends(audit.moved)} of trials came "
            f"out otherwise; user errors {audit.user_errors[1]} against {audit.user_errors[0]}"
        )


def _with_ends(figure: Figure) -> str:
    return f"{percent(figure)}%" + (f" (95% interval {interval(figure)})" if figure.ci95 else "")


def _grid(first: str, *headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _short(figure: Figure) -> str:
    return "-" if figure.ci95 is None else "-".join(decimals(100 * end, 0) for end in figure.ci95)


def _lines(sentences: Iterable[str]) -> Table:
    lines = Table.grid(padding=(0, 1, 0, 0))
    for sentence in sentences:
        lines.add_row("-", Text(one_line(sentence)))
    return lines
