"""How often and how reliably agents serve their users, and what rewards are made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from lived import made_up, reward
from trialruns import trial_run

from turngap.data import Cause
from turngap.data.reward import Grade
from turngap.report.document import Section
from turngap.report.live_overview import hats, headline, parts, scenarios
from turngap.report.live_subject import live_subjects


def _titles(section: Section) -> list[str]:
    return [column.title for column in section.tables[0].columns]


def test_the_headline_has_reward_every_k_and_floors(tmp_path: Path) -> None:
    """Each with its interval and n; sentences name the last k."""
    with trial_run(tmp_path / "run", {"a": [1.0, 1.0], "b": [1.0, 0.0]}) as store:
        found = live_subjects([store])
        store.replace_scores("floor:nothing", [])
        section = headline(found)
    assert _titles(section) == ["agent", "reward", "pass^1", "pass^2"]
    row = section.tables[0].rows[0]
    assert [cell.text for cell in row[1:]] == ["75.0", "75.0", "50.0"]
    assert [cell.note.rpartition("\n")[2] for cell in row[1:]] == ["n 4", "n 2", "n 2"]
    assert all("–" in cell.note for cell in row[1:])
    assert section.findings == (
        "openai/pelican: 75.0% of trials succeed, averaged over tasks; 50.0% of tasks succeed 2 times of 2.",
    )


def test_floors_stand_beside_the_figures(tmp_path: Path) -> None:
    """What agents reach that understand nothing, and the better of the two in words."""
    with trial_run(tmp_path / "run", {"a": [1.0], "b": [0.0]}) as store:
        rows = [score for _, score in store.scores("reward")]
        store.replace_scores("floor:nothing", rows[1:])
        store.replace_scores("floor:transfer", rows)
        section = headline(live_subjects([store]))
    assert _titles(section)[-2:] == ["nothing", "transfer"]
    assert [cell.text for cell in section.tables[0].rows[0][-2:]] == ["0.0", "50.0"]
    assert "Understanding nothing gives 50.0%." in section.findings[0]


def test_of_many_k_a_table_has_powers_of_two_and_the_last(tmp_path: Path) -> None:
    """The chart has them all."""
    with trial_run(tmp_path / "run", {"a": [1.0] * 7, "b": [1.0] * 6 + [0.0]}) as store:
        found = live_subjects([store])
        section, curve = headline(found), hats(found)
    assert _titles(section)[2:] == ["pass^1", "pass^2", "pass^4", "pass^7"]
    assert isinstance(curve, Section)
    assert [mark.at for mark in curve.charts[0].marks] == [1, 2, 3, 4, 5, 6, 7]


def test_runs_on_other_tasks_do_not_compare(tmp_path: Path) -> None:
    """It is said below the table; of runs on the same tasks it is not."""
    with trial_run(tmp_path / "one", {"a": [1.0]}) as one, trial_run(tmp_path / "two", {"b": [1.0]}) as two:
        one.set_note("tasks", {"file": "tasks.json", "digest": "1" * 64})
        two.set_note("tasks", {"file": "tasks.json", "digest": "2" * 64})
        assert any("do not compare" in note for note in headline(live_subjects([one, two])).notes)
        assert not any("do not compare" in note for note in headline(live_subjects([one])).notes)


def test_the_curve_has_intervals_and_what_equally_hard_tasks_would_give(tmp_path: Path) -> None:
    """Single tries make no curve; a figure of 0 or 1 needs no comparison."""
    with trial_run(tmp_path / "run", {"a": [1.0, 1.0], "b": [1.0, 0.0]}) as store:
        section = hats(live_subjects([store]))
    assert isinstance(section, Section)
    assert [(mark.at, mark.value) for mark in section.charts[0].marks] == [(1, 0.75), (2, 0.5)]
    assert all(mark.low is not None and mark.low <= mark.value for mark in section.charts[0].marks)
    assert section.findings == (
        "openai/pelican: from 75.0% at one trial to 50.0% at 2; were all tasks equally hard, it would be 56.3%.",
    )
    with trial_run(tmp_path / "sure", {"a": [1.0, 1.0]}) as store:
        sure = hats(live_subjects([store]))
    assert isinstance(sure, Section)
    assert sure.findings == ("openai/pelican: from 100.0% at one trial to 100.0% at 2.",)
    with trial_run(tmp_path / "once", {"a": [1.0]}) as store:
        assert "no task was tried more than once" in str(hats(live_subjects([store])))


def test_what_counts_stands_apart_from_what_was_observed(tmp_path: Path) -> None:
    """ENV-07: in groups of columns of their own."""
    grades = {"DB": Grade(value=1.0, counted=True), "ACTION": Grade(value=0.0, counted=False)}
    with made_up(tmp_path / "run", {"a": [(reward(1.0, components=grades), None)]}) as store:
        rows = [score for _, score in store.scores("reward")]
        rows[0].values.update({"reward.db": 1.0, "observed.action": 0.0})
        store.replace_scores("reward", rows)
        section = parts(live_subjects([store]))
    assert isinstance(section, Section)
    table = section.tables[0]
    assert [(column.group, column.title) for column in table.columns[1:]] == [
        ("counts towards the reward", "db"),
        ("looked at, not counted", "action"),
    ]
    assert [cell.text for cell in table.rows[0][1:]] == ["100.0", "0.0"]
    assert "db: final database as wanted" in section.notes[0]
    with trial_run(tmp_path / "bare", {"a": [1.0]}) as store:
        assert "nothing was graded" in str(parts(live_subjects([store])))


def test_scenarios_have_rows_and_a_chart(tmp_path: Path) -> None:
    """Where there are several; else it is said which one there is."""
    marks = {"a": [1.0, 1.0], "b": [0.0, 1.0], "c": [0.0, "user"]}
    kinds = {"b": "ambiguous", "c": "infeasible"}
    with trial_run(tmp_path / "run", marks, scenarios=kinds) as store:
        section = scenarios(live_subjects([store]))
    assert isinstance(section, Section)
    titles = _titles(section)
    rows = [[cell.text for cell in row] for row in section.tables[0].rows]
    assert [row[1:3] for row in rows] == [["general", "1"], ["ambiguous", "1"], ["infeasible", "1"]]
    assert [row[titles.index("pass^1")] for row in rows] == ["100.0", "50.0", "0.0"]
    assert [row[titles.index("user error")] for row in rows] == ["0.0", "0.0", "50.0"]
    assert [mark.at for mark in section.charts[0].marks] == ["general", "ambiguous", "infeasible"]
    with trial_run(tmp_path / "one", {"a": [1.0]}) as store:
        assert scenarios(live_subjects([store])) == "By scenario: all tasks are general."


@pytest.mark.parametrize("cause", [Cause.ENDPOINT, Cause.USER])
def test_a_run_in_which_nothing_counts_says_so(tmp_path: Path, cause: Cause) -> None:
    """STA-02: dashes and no percentages, whatever spoiled it."""
    with trial_run(tmp_path / "run", {"a": [cause.value]}) as store:
        found = live_subjects([store])
        section = headline(found)
        assert isinstance(hats(found), str)
    assert section.findings == ("openai/pelican: no trial counts.",)
    assert section.tables[0].rows[0][1].text == "–"


def test_that_the_reference_took_over_is_the_first_thing_said(tmp_path: Path) -> None:
    """Before the headline's own sentence, of the run that it is about."""
    with (
        trial_run(tmp_path / "one", {"a": [1.0]}, model="corrected/openai/pelican") as one,
        trial_run(tmp_path / "two", {"a": [1.0]}) as two,
    ):
        one.set_note("recovered", {"trials": 1, "differed": 1, "recovered": 1})
        said = headline(live_subjects([one, two])).findings
    assert said[0] == (
        "corrected/openai/pelican: the reference agent took over: in 1 of 1 trials a decision of the model was "
        "corrected, with success in 1 of them; this says nothing about the model alone."
    )
    assert [one.partition(":")[0] for one in said[1:]] == ["corrected/openai/pelican", "openai/pelican"]
