"""Live trials one task at a time: endings, costs, tau2's own scoring, and what was run."""

from __future__ import annotations

from pathlib import Path

from lived import made_up, reward
from trialruns import trial_run

from turngap.data import Cause
from turngap.report.document import Section
from turngap.report.live_subject import live_subjects
from turngap.report.live_task import endings, runs, tasks, tau2


def test_every_trial_ended_somehow_and_went_somewhere(tmp_path: Path) -> None:
    """Endings of those that took place; causes of all of them, those that never occur left out."""
    with trial_run(tmp_path / "run", {"a": [1.0, 0.0, "endpoint", "user"]}) as store:
        section = endings(live_subjects([store]))
    ended, went = section.tables
    assert [(column.title, cell.text) for column, cell in zip(ended.columns[1:], ended.rows[0][1:], strict=True)] == [
        ("user stop", "3")
    ]
    assert [column.title for column in went.columns[2:]] == ["trials", "success", "wrong", "endpoint", "user"]
    assert [cell.text for cell in went.rows[0][1:]] == ["all", "4", "1", "1", "1", "1"]


def test_scenarios_have_ledgers_of_their_own(tmp_path: Path) -> None:
    """A row each, below that of all."""
    with trial_run(tmp_path / "run", {"a": [1.0], "b": [0.0]}, scenarios={"b": "infeasible"}) as store:
        went = endings(live_subjects([store])).tables[-1]
    assert [row[1].text for row in went.rows] == ["all", "general", "infeasible"]


def test_tasks_have_success_time_and_cost(tmp_path: Path) -> None:
    """Means of a trial by task, and a sentence on the average trial; costs are dashes where no price is known."""
    with made_up(tmp_path / "run", {"a": [(reward(1.0), None), (reward(0.0), Cause.WRONG)]}) as store:
        section = tasks(live_subjects([store]))
    (table,) = section.tables
    row = dict(zip((column.title for column in table.columns), (cell.text for cell in table.rows[0]), strict=True))
    assert row["passed"] == "1 of 2"
    assert (row["reward"], row["messages"], row["seconds"], row["tokens"]) == ("0.50", "3.0", "1.5", "100")
    assert (row["cost"], row["user's cost"]) == ("0.0100", "–")
    assert section.findings == (
        "openai/pelican: a trial takes 3.0 messages, 1.5 seconds, 100 tokens on average and costs 0.0100.",
    )
    assert not table.folded


def test_several_runs_stand_below_each_other_task_by_task(tmp_path: Path) -> None:
    """A long table is folded; a task that a run does not have has no row of it; what was lost is marked."""
    marks = {f"t{number:02}": [1.0, "user", "endpoint"] for number in range(7)}
    with trial_run(tmp_path / "one", marks) as one, trial_run(tmp_path / "two", {**marks, "x": [0.0]}) as two:
        (table,) = tasks(live_subjects([one, two])).tables
    assert table.folded
    assert [(row[0].text, row[1].text) for row in table.rows[:2]] == [
        ("t00", "openai/pelican (one)"),
        ("t00", "openai/pelican (two)"),
    ]
    assert [row[1].text for row in table.rows if row[0].text == "x"] == ["openai/pelican (two)"]
    assert table.rows[0][2].note == "1 e, 1 u"


def test_where_tau2_differs_both_rewards_stand_with_what_ours_found(tmp_path: Path) -> None:
    """Without details the finding is left out, which may hold words of the data."""
    lenient = (reward(0.0, tau2={"reward": 1.0}), Cause.WRONG)
    same = (reward(1.0, tau2={"reward": 1.0}), None)
    with made_up(tmp_path / "run", {"a/b": [lenient, same], "c": [same, same]}) as store:
        found = live_subjects([store])
        section, bare = tau2(found, details=True), tau2(found, details=False)
    assert isinstance(section, Section) and isinstance(bare, Section)
    figures, differing = section.tables
    assert [cell.text for cell in figures.rows[0][1:5]] == ["100.0", "75.0", "100.0", "75.0"]
    assert [[cell.text for cell in row[1:]] for row in differing.rows] == [
        ["a/b", "0", "1", "0", "DB: bookings[BK-1].date differs"]
    ]
    assert section.findings == ("openai/pelican: another reward in 1 of 4 trials, of 1 tasks.",)
    assert "bookings" not in str(bare)


def test_where_tau2_agrees_or_does_not_apply_it_is_said(tmp_path: Path) -> None:
    """The same reward in all trials; no domain of tau2."""
    with made_up(tmp_path / "run", {"a": [(reward(1.0, tau2={"reward": 1.0}), None)]}) as store:
        section = tau2(live_subjects([store]), details=True)
    assert isinstance(section, Section)
    assert section.findings == ("openai/pelican: the same reward in all of 1 trials.",)
    assert len(section.tables) == 1
    with trial_run(tmp_path / "other", {"a": [1.0]}) as store:
        assert "applies to no trial" in str(tau2(live_subjects([store]), details=True))


def test_what_was_run_names_tasks_limits_and_notes(tmp_path: Path) -> None:
    """SEC-11: the file without its folders; notes without quotations where no transcripts are wanted."""
    with made_up(tmp_path / "run", {"a": [(reward(1.0), None), (reward(0.0), Cause.USER)]}) as store:
        store.set_note("tasks", {"file": "folder/tasks.json", "digest": "abcdef" * 10})
        found = live_subjects([store])
        quoting, bare = runs(found, details=True), runs(found, details=False)
    row = dict(
        zip((column.title for column in quoting.tables[0].columns[2:]), quoting.tables[0].rows[0][2:], strict=True)
    )
    assert row["limits"].text == "100 messages, 10 failed calls"
    assert (row["trials"].text, row["trials"].note, row["valid"].text) == ("2", "2 a task", "1")
    assert "tasks.json (abcdefabcdef)" in str(quoting) and "folder/" not in str(quoting)
    assert any("SAID AGAIN" in note for note in quoting.notes)
    assert "SAID AGAIN" not in str(bare)
    assert "openai/pelican: not counted, 1 x user" in bare.notes
