"""Tasks of a rollout, for the terminal."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console, Group

from turngap.analysis.rollout import TaskRow
from turngap.report.task_table import apart, average, task_table


def _row(task: str, successes: int, trials: int = 2, **values: Any) -> TaskRow:
    known = {"errored": 0, "user_errors": 0, "reward": successes / trials if trials else None, "steps": 4.0}
    known |= dict.fromkeys(("seconds", "answer_seconds", "tokens", "user_tokens", "cost", "user_cost"))
    return TaskRow(task=task, scenario="general", trials=trials, successes=successes, **{**known, **values})


def _shown(*rows: TaskRow) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, highlight=False).print(Group(*task_table(rows)))
    return stream.getvalue()


def test_only_tasks_in_which_something_went_wrong_have_rows() -> None:
    """Worst first; what passed is counted; errored and spoiled trials are something."""
    out = _shown(_row("good", 2), _row("half", 1), _row("bad", 0), _row("odd", 1, trials=1, errored=1))
    rows = [line.split()[0] for line in out.splitlines()[2:5]]
    assert rows == ["bad", "half", "odd"]
    assert "1 of 4 tasks passed every trial (--json has all)" in out
    assert "1/1 1e" in out and "e: errored" in out
    assert "every task (1) passed all its trials" in _shown(_row("good", 2))


def test_of_many_the_worst_are_shown() -> None:
    """Twenty at most, and how many there are more."""
    out = _shown(*(_row(f"t{number}", 0) for number in range(27)))
    assert sum(line.startswith("t") for line in out.splitlines()) == 21  # with the heading
    assert "7 more passed not every one (--json has all)" in out


def test_columns_without_anything_in_them_are_left_away() -> None:
    """Baselines take no time and no tokens; a user that is a model has tokens of its own."""
    assert _shown(_row("a", 0, seconds=0.001, tokens=0.0)).splitlines()[0].split() == [
        "task",
        "passed",
        "reward",
        "steps",
    ]
    out = _shown(_row("a", 0, seconds=12.25, answer_seconds=0.5, tokens=12345.0, user_tokens=678.0, user_cost=0.5))
    heading, _, row = out.splitlines()[:3]
    assert heading.split() == [
        "task",
        "passed",
        "reward",
        "steps",
        "s",
        "s/answer",
        "tokens",
        "user's",
        "user's",
        "cost",
    ]
    assert row.split() == ["a", "0/2", "0.00", "4.0", "12.3", "0.50", "12,345", "678", "0.5000"]


def test_long_ids_lose_their_middle_as_long_as_they_stay_apart() -> None:
    """One line each within 80 columns; two that would look alike are given in full."""
    name = "[mobile_data_issue]" + "|".join(f"data_mode_{number}" for number in range(20)) + "[PERSONA:Hard]"
    everything = {"seconds": 1.0, "answer_seconds": 1.0, "tokens": 9999.0, "cost": 1.0, "user_cost": 1.0}
    out = _shown(_row(name, 0, **everything))
    assert max(map(len, out.splitlines())) <= 80 and len(out.splitlines()) == 3
    first, second = "x" * 30 + "1" + "y" * 30, "x" * 30 + "2" + "y" * 30
    assert apart([first, "short"], 13) == ["xxxxx...yyyyy", "short"]
    assert apart([first, second], 13) == [first, second]


def test_what_a_trial_came_to_on_average() -> None:
    """Weighed by the trials that took place, those that the user spoiled included; nothing of what is zero."""
    rows = [
        _row("a", 0, trials=1, steps=10.0, user_tokens=100.0),
        _row("b", 0, trials=1, user_errors=2, user_tokens=0.0),
    ]
    assert average(rows) == "a trial on average: 5.5 messages, 25 tokens of the user"
    assert average([_row("a", 0, trials=0, steps=None)]) is None
