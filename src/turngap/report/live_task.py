"""Sections on live trials one task at a time: what each cost, where tau2's own scoring differs, and what was run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from turngap.analysis.rollout import TaskRow, about_errors
from turngap.data import Cause
from turngap.data.reward import Reward
from turngap.metrics.rounding import decimals
from turngap.report.document import DASH, Cell, Column, Section, Table, figure_cell, head, number
from turngap.report.live_subject import LiveSubject

_FEW = 12
"""Rows of a table of tasks that are shown without being asked for."""
_MOST_DIFFERING = 50
_TAU2_LEAD = (
    "tau2's own scoring beside ours. It finds 10 in 100, takes lists in another order for another database, and passes "
    "an action of which arguments are missing; and it counts trials that the user spoiled."
)
_TASKS_NOTE = (
    "Passed: successes of valid trials; e: errored, u: spoiled by the user, both in no figure. A cached answer took "
    "what it took at first. Costs are known where prices are given."
)


def endings(found: Sequence[LiveSubject]) -> Section:
    """How trials ended, and where every one of them went."""
    reasons = list(dict.fromkeys(name for one in found for name in one.summary.terminations))
    causes = [
        cause.value
        for cause in Cause
        if any(book.causes[cause.value] for one in found for book in one.summary.ledger.values())
    ]
    ended = Table(
        caption="How trials ended that took place.",
        columns=(Column(title="agent"), *(Column(title=name.replace("_", " "), number=True) for name in reasons)),
        rows=tuple(
            (head(one.label), *(number(one.summary.terminations.get(name, 0)) for name in reasons)) for one in found
        ),
    )
    went = Table(
        caption="Where the trials went. Malformed, wrong and cut are the agent's own; every other cause counts as "
        "errored, or is the user's, and stands in no denominator.",
        columns=(
            Column(title="agent"),
            Column(title="tasks"),
            Column(title="trials", number=True),
            Column(title="success", number=True),
            *(Column(title=name, number=True) for name in causes),
        ),
        rows=tuple(
            (
                head(one.label),
                Cell(text=name.partition("[")[2].rstrip("]") or "all"),
                number(book.units),
                number(book.success),
                *(number(book.causes[cause]) for cause in causes),
            )
            for one in found
            for name, book in one.summary.ledger.items()
        ),
    )
    return Section(key="endings", title="How trials ended", tables=(ended, went) if reasons else (went,))


def tasks(found: Sequence[LiveSubject]) -> Section:
    """Success, length, latency and cost, task by task."""
    order = {row.task: None for one in found for row in one.summary.per_task}
    by_task = [{row.task: row for row in one.summary.per_task} for one in found]
    several = len(found) > 1
    rows = tuple(
        (head(task, rows[task].scenario), *((Cell(text=one.label),) if several else ()), *_spent(rows[task]))
        for task in order
        for one, rows in zip(found, by_task, strict=True)
        if task in rows
    )
    columns = (
        Column(title="task"),
        *((Column(title="agent"),) if several else ()),
        Column(title="passed", number=True),
        Column(title="reward", number=True),
        Column(title="messages", group="mean of a trial", number=True),
        Column(title="seconds", group="mean of a trial", number=True),
        Column(title="s / answer", group="mean of a trial", number=True),
        Column(title="tokens", group="mean of a trial", number=True),
        Column(title="user's tokens", group="mean of a trial", number=True),
        Column(title="cost", group="mean of a trial", number=True),
        Column(title="user's cost", group="mean of a trial", number=True),
    )
    table = Table(caption=f"Task by task: {len(order)} tasks.", columns=columns, rows=rows, folded=len(rows) > _FEW)
    return Section(
        key="tasks",
        title="Tasks: success, time and cost",
        findings=tuple(_spending(one) for one in found),
        tables=(table,),
        notes=(_TASKS_NOTE,),
    )


def tau2(found: Sequence[LiveSubject], *, details: bool) -> Section | str:
    """tau2's own figures beside ours, and the trials to which it gives another reward; or why there are none.

    Args:
        found: the runs.
        details: whether to say what ours found, in words that may be those of the data.
    """
    theirs = [one for one in found if one.measured("tau2.reward").n]
    if not theirs:
        return "tau2's own scoring: it applies to no trial of these runs (domains tau2:NAME)."
    most = max(one.most for one in theirs)
    names = ["reward", "pass^1", *([f"pass^{most}"] if most > 1 else [])]
    figures = Table(
        caption="By tau2's own scoring and by ours (percent).",
        columns=(
            Column(title="agent"),
            *(Column(title=who, group=name, number=True) for name in names for who in ("tau2", "ours")),
        ),
        rows=tuple(
            (
                head(one.label),
                *(figure_cell(one.measured(owner + name)) for name in names for owner in ("tau2.", "")),
            )
            for one in theirs
        ),
    )
    differing = [row for one in theirs for row in _differing(one, details=details)]
    columns = (
        Column(title="agent"),
        Column(title="task"),
        Column(title="trial", number=True),
        Column(title="tau2", number=True),
        Column(title="ours", number=True),
        *((Column(title="what ours found missing"),) if details else ()),
    )
    beyond = any(len(one.summary.tau2_differs) > _MOST_DIFFERING for one in theirs)
    table = Table(
        caption="Trials to which tau2's own scoring gives another reward"
        f"{f', the first {_MOST_DIFFERING} of a run' if beyond else ''}.",
        columns=columns,
        rows=tuple(differing),
        folded=len(differing) > _FEW,
    )
    return Section(
        key="tau2",
        title="By tau2's own scoring",
        lead=(_TAU2_LEAD,),
        findings=tuple(_differs(one) for one in theirs),
        tables=(figures, table) if differing else (figures,),
    )


def runs(found: Sequence[LiveSubject], *, details: bool) -> Section:
    """What was run, and what each summary notes.

    Args:
        found: the runs.
        details: whether to quote what made trials fail, in words that may be those of a conversation.
    """
    columns = (
        Column(title="agent"),
        Column(title="domain"),
        Column(title="tasks"),
        Column(title="user"),
        Column(title="tasks", number=True),
        Column(title="trials", number=True),
        Column(title="valid", number=True),
        Column(title="errored", number=True),
        Column(title="missing", number=True),
        Column(title="limits"),
        Column(title="state"),
    )
    rows = []
    for one in found:
        n, config = one.summary.n, one.store.rollout
        split = one.summary.tasks["split"]
        rows.append(
            (
                head(one.label, f"run {one.store.directory.name}"),
                Cell(text=one.domain),
                Cell(text=one.task_set, note=f"split {split}" if split else ""),
                Cell(text=one.summary.user),
                number(n["tasks"]),
                Cell(text=str(n["trials"]), note=f"{config.trials} a task", kind="number"),
                number(n["valid"]),
                number(n["errored"]),
                number(n["missing"]),
                Cell(text=f"{config.max_steps} messages, {config.max_errors} failed calls"),
                Cell(text=str(one.store.state())),
            )
        )
    return Section(
        key="live-runs",
        title="What was run",
        tables=(Table(caption="The runs of live tasks in this report.", columns=columns, rows=tuple(rows)),),
        notes=tuple(f"{one.label}: {note}" for one in found for note in _notes(one, details=details)),
    )


def _notes(one: LiveSubject, *, details: bool) -> Iterator[str]:
    quoting = set(about_errors(one.store))
    yield from (note for note in one.summary.notes if details or note not in quoting)
    if not details:
        yield from about_errors(one.store, examples=False)


def _spent(row: TaskRow) -> Iterator[Cell]:
    lost = [f"{count} {mark}" for count, mark in ((row.errored, "e"), (row.user_errors, "u")) if count]
    yield Cell(text=f"{row.successes} of {row.trials}", note=", ".join(lost), kind="number")
    for value, places in (
        (row.reward, 2),
        (row.steps, 1),
        (row.seconds, 1),
        (row.answer_seconds, 2),
        (row.tokens, 0),
        (row.user_tokens, 0),
        (row.cost, 4),
        (row.user_cost, 4),
    ):
        yield number(DASH if value is None else decimals(value, places, thousands=True))


def _spending(one: LiveSubject) -> str:
    """A trial on average, over the trials that took place."""
    parts = [
        f"{decimals(mean, places, thousands=True)} {noun}"
        for name, places, noun in (
            ("steps", 1, "messages"),
            ("seconds", 1, "seconds"),
            ("answer_seconds", 2, "seconds an answer"),
            ("tokens", 0, "tokens"),
            ("user_tokens", 0, "tokens of the user"),
        )
        if (mean := _mean(one, name)) is not None
    ]
    if not parts:
        return f"{one.label}: no trial took place."
    cost = _mean(one, "cost")
    told = f"{one.label}: a trial takes {', '.join(parts)} on average"
    return f"{told} and costs {cost:,.4f}." if cost is not None else f"{told}."


def _mean(one: LiveSubject, name: str) -> float | None:
    known = [
        (value, row.trials + row.user_errors)
        for row in one.summary.per_task
        if (value := getattr(row, name)) is not None
    ]
    weight = sum(count for _, count in known)
    return math.fsum(value * count for value, count in known) / weight if weight else None


def _differs(one: LiveSubject) -> str:
    differing = one.summary.tau2_differs
    scored = one.measured("tau2.reward").n
    if not differing:
        return f"{one.label}: the same reward in all of {scored} trials."
    of_tasks = len({name.rpartition("/")[0] for name in differing})
    return f"{one.label}: another reward in {len(differing)} of {scored} trials, of {of_tasks} tasks."


def _differing(one: LiveSubject, *, details: bool) -> Iterator[tuple[Cell, ...]]:
    for name in one.summary.tau2_differs[:_MOST_DIFFERING]:
        task, _, trial = name.rpartition("/")
        _, reward = one.store.trials.rewards(task).get(int(trial), ("", None))
        if isinstance(reward, Reward) and reward.tau2 is not None:
            row = [head(one.label), Cell(text=task), number(trial)]
            row += [number(f"{float(reward.tau2['reward']):g}"), number(f"{reward.value:g}")]
            yield (*row, Cell(text=reward.detail)) if details else tuple(row)
