"""Comparisons of runs of live trials."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from scored import conversation, run, turn
from trialruns import trial_run

from turngap.analysis.compare import compare
from turngap.data.task import Action, Criteria
from turngap.errors import ConfigError, UsageError
from turngap.report.compare_table import comparison_report

_GOOD = {f"t{number}": [1.0, 1.0] for number in range(30)}
_BAD = {f"t{number}": [float(number % 3 == 0), 0.0] for number in range(30)}


def test_trials_are_paired_by_task_and_number(tmp_path: Path) -> None:
    """STA-06: over the tasks and trials that both measured; the table speaks of tasks and calls what is clear."""
    with trial_run(tmp_path / "a", _BAD) as old, trial_run(tmp_path / "b", dict(reversed(_GOOD.items()))) as new:
        found = compare([old, new])
    figures = {figure.name: figure for figure in found.contrasts[0].figures}
    assert set(figures) == {"pass^1", "pass^2", "reward", "user_error"}
    assert figures["pass^1"].difference.value == pytest.approx(1 - 5 / 30)
    assert (figures["pass^1"].difference.n, figures["reward"].difference.n) == (30, 60)
    assert found.contrasts[0].verdict == "pass^1 +83.3, reward +83.3: more trials succeed"
    stream = io.StringIO()
    Console(file=stream, width=80).print(comparison_report(found))
    assert "30 tasks" in stream.getvalue() and "30 shared tasks" in stream.getvalue()


def test_all_that_the_rewards_count_is_compared_and_the_rest_is_named(tmp_path: Path) -> None:
    """Components of any kind; the pass^k in between, what only one run has, and what comes from one task: a note each."""
    criteria = {"a": Criteria(required=(Action(name="x"),), communicate=("fact",))}
    first = trial_run(tmp_path / "a", {"a": [1.0] * 4, "b": [1.0] * 4}, criteria=criteria)
    second = trial_run(tmp_path / "b", {"a": [1.0] * 4, "b": [0.0] * 4}, criteria=criteria)
    with first as old, second as new:
        for store, more in ((old, {"reward.communicate": 1.0}), (new, {})):
            rows = [found for _, found in store.scores("reward")]
            values = {"reward.constraint": 1.0, **more}
            store.replace_scores(
                "reward", [msgspec.structs.replace(one, values={**one.values, **values}) for one in rows]
            )
        found = compare([old, new])
    names = [figure.name for figure in found.contrasts[0].figures]
    assert names == ["pass^1", "pass^4", "reward", "reward.constraint", "user_error"]
    said = " | ".join(found.notes)
    assert "not compared unless asked for (--metrics): pass^2 to pass^3" in said
    assert "has no scores: reward.communicate" in said
    assert "from one task only, which says next to nothing about others: reward.constraint" in said


def test_the_verdict_and_its_evidence_agree(tmp_path: Path) -> None:
    """Four tasks all lost have p .125, and an interval that holds zero: they do not contradict each other."""
    tasks = "abcd"
    won, lost = ({task: [mark] for task in tasks} for mark in (1.0, 0.0))
    with trial_run(tmp_path / "a", won) as old, trial_run(tmp_path / "b", lost) as new:
        found = compare([old, new]).contrasts[0]
    (first, *_) = found.figures
    assert first.p == 0.125 and first.difference.ci95 == pytest.approx((-1.0, 0.205), abs=1e-3)
    assert found.verdict.endswith("no difference is clear (95% interval -100.0 to +20.5)")


def test_no_winner_is_called_when_the_users_failed_differently(tmp_path: Path) -> None:
    """USR-10: with a quarter of the trials spoiled in one run and none in the other, the verdict is that there is none."""
    spoiled = {task: ["user" if number % 4 == 0 else 0.0, 0.0] for number, task in enumerate(_GOOD)}
    with trial_run(tmp_path / "a", _GOOD) as old, trial_run(tmp_path / "b", spoiled) as new:
        verdict = compare([old, new]).contrasts[0].verdict
    assert "no winner is called" in verdict and "+13.3 points" in verdict


def test_other_users_or_limits_are_another_measurement(tmp_path: Path) -> None:
    """Two runs with different users are refused, by name, unless forced."""
    with trial_run(tmp_path / "a", _GOOD) as old, trial_run(tmp_path / "b", _BAD) as new:
        new.set_note("user", {"user": "llm", "prompt": "x"})
        with pytest.raises(ConfigError, match=r"user\.user"):
            compare([old, new])
        assert compare([old, new], force=True).forced


def test_trials_and_conversations_do_not_compare(tmp_path: Path) -> None:
    """Runs of two kinds are refused in one line that says which holds what."""
    recorded = run(tmp_path / "b", [conversation("c")], {"turn:rules": [turn("c", 0, "text", True)]})
    kinds = r"holds tasks and .* holds conversations"
    with trial_run(tmp_path / "a", _GOOD) as live, recorded as other, pytest.raises(UsageError, match=kinds):
        compare([live, other])


def test_that_the_reference_took_over_is_a_note(tmp_path: Path) -> None:
    """Of the run in which it did, by name."""
    with (
        trial_run(tmp_path / "a", _BAD) as old,
        trial_run(tmp_path / "b", _GOOD, model="corrected/openai/pelican") as new,
    ):
        new.set_note("recovered", {"trials": 60, "differed": 40, "recovered": 40})
        notes = compare([old, new]).notes
    (said,) = (note for note in notes if "took over" in note)
    assert said.startswith("corrected/openai/pelican: the reference agent took over: in 40 of 60 trials")
