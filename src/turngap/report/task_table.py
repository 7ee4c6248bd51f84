"""Tasks of a rollout for the terminal: those that did not pass every trial, worst first, and what a trial came to.

Tables fit 80 columns. Ids can be long; where they do not fit, their middle is left out as far as they stay apart.
Nothing is computed here but what a trial came to on average.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turngap.analysis.rollout import TaskRow
from turngap.metrics.rounding import decimals
from turngap.report.harmless import one_line

_MOST = 20  # tasks that are shown; all of them are in --json
_WIDTH = 79
_LEAST = 12  # columns of an id
_GAP = "..."

_NUMBERS: tuple[tuple[str, int, Callable[[TaskRow], float | None]], ...] = (
    ("reward", 2, lambda row: row.reward),
    ("steps", 1, lambda row: row.steps),
    ("s", 1, lambda row: row.seconds),
    ("s/answer", 2, lambda row: row.answer_seconds),
    ("tokens", 0, lambda row: row.tokens),
    ("user's", 0, lambda row: row.user_tokens),
    ("cost", 4, lambda row: row.cost),
    ("user's cost", 4, lambda row: row.user_cost),
)
"""Heading, decimals, value. A column is left away where all of it would be 0, as for agents that are no model."""
_SPENT: tuple[tuple[str, int, Callable[[TaskRow], float | None]], ...] = (
    ("messages", 1, lambda row: row.steps),
    ("s", 1, lambda row: row.seconds),
    ("s an answer", 2, lambda row: row.answer_seconds),
    ("tokens of the agent", 0, lambda row: row.tokens),
    ("tokens of the user", 0, lambda row: row.user_tokens),
    ("cost of the agent", 4, lambda row: row.cost),
    ("cost of the user", 4, lambda row: row.user_cost),
)


def task_table(rows: Sequence[TaskRow]) -> Iterator[RenderableType]:
    """The tasks in which something went wrong, each with its trials; a sentence where there is none."""
    amiss = [row for row in rows if row.successes < row.trials or not row.trials or row.errored or row.user_errors]
    passed = len(rows) - len(amiss)
    if not amiss:
        yield Text(f"every task ({len(rows)}) passed all its trials")
        return
    worst = sorted(amiss, key=lambda row: (row.successes / row.trials if row.trials else -1.0, row.reward or 0.0))
    yield _table(worst[:_MOST])
    if any(row.errored or row.user_errors for row in worst[:_MOST]):
        yield Text("e: errored, u: spoiled by the user; both in no figure")
    said = [f"{passed} of {len(rows)} tasks passed every trial"] if passed else []
    if len(worst) > _MOST:
        said.append(f"{len(worst) - _MOST} more passed not every one")
    if said:
        yield Text(f"{'; '.join(said)} (--json has all)")


def average(rows: Sequence[TaskRow]) -> str | None:
    """What a trial that took place came to on average, in one line; None where none took place."""
    parts = []
    for name, places, value in _SPENT:
        known = [(found, row.trials + row.user_errors) for row in rows if (found := value(row)) is not None]
        weight = sum(count for _, count in known)
        if weight:
            mean = decimals(math.fsum(found * count for found, count in known) / weight, places, thousands=True)
            if _is_something(mean):
                parts.append(f"{mean} {name}")
    return f"a trial on average: {', '.join(parts)}" if parts else None


def _table(rows: Sequence[TaskRow]) -> Table:
    columns: list[tuple[str, list[str]]] = [("passed", [_passed(row) for row in rows])]
    for heading, places, value in _NUMBERS:
        cells = [_number(value(row), places) for row in rows]
        if heading in ("reward", "steps") or any(map(_is_something, cells)):
            columns.append((heading, cells))
    taken = sum(2 + max(len(heading), *map(len, cells)) for heading, cells in columns)
    ids = apart([one_line(row.task) for row in rows], max(_LEAST, _WIDTH - taken))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("task", overflow="fold", min_width=_LEAST)
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for at, name in enumerate(ids):
        table.add_row(Text(name), *(cells[at] for _, cells in columns))
    return table


def apart(names: Sequence[str], width: int) -> list[str]:
    """Names within so many columns, each without its middle where it is longer; in full where two would look alike."""
    cut = [name if len(name) <= width else _cut(name, width) for name in names]
    seen = Counter(cut)
    return [name if seen[short] > 1 else short for name, short in zip(names, cut, strict=True)]


def _cut(name: str, width: int) -> str:
    kept = width - len(_GAP)
    return name[: kept - kept // 2] + _GAP + name[len(name) - kept // 2 :]


def _passed(row: TaskRow) -> str:
    lost = "".join(f" {count}{mark}" for count, mark in ((row.errored, "e"), (row.user_errors, "u")) if count)
    return f"{row.successes}/{row.trials}{lost}"


def _number(value: float | None, places: int) -> str:
    return "-" if value is None else decimals(value, places, thousands=True)


def _is_something(cell: str) -> bool:
    return any(sign in "123456789" for sign in cell)
