"""Why live trials failed, by symptom."""

from __future__ import annotations

from pathlib import Path

from lived import made_up, reward
from trialruns import trial_run

from turngap.data import Cause
from turngap.data.reward import Symptom, SymptomKind
from turngap.report.document import Section
from turngap.report.live_subject import live_subjects
from turngap.report.live_symptom import reasons

_MISSING = Symptom(kind=SymptomKind.MISSING_WRITE, event=4, detail="never done: move_booking")
_LOOP = Symptom(kind=SymptomKind.LOOP, event=1, detail="three times")


def test_symptoms_have_shares_of_failed_trials_and_examples_of_several_tasks(tmp_path: Path) -> None:
    """A symptom of a successful trial counts apart; a failed one without any is said."""
    lost = (reward(0.0, symptoms=(_MISSING, _LOOP)), Cause.WRONG)
    trials = {
        "a": [lost, lost],
        "b": [(reward(1.0, symptoms=(_LOOP,)), None), (reward(0.0, symptoms=(_MISSING,)), Cause.WRONG)],
        "c": [(reward(0.0), Cause.WRONG), (reward(1.0), None)],
    }
    with made_up(tmp_path / "run", trials) as store:
        section = reasons(live_subjects([store]))
    assert isinstance(section, Section)
    assert [[cell.text for cell in row[1:]] for row in section.tables[0].rows] == [
        ["missing_write", "3", "75.0", "2", "0", "task a, trial 0; task b, trial 1"],
        ["loop", "2", "50.0", "1", "1", "task a, trial 0"],
    ]
    assert section.findings == (
        "openai/pelican: 4 of 6 trials failed, most often with missing_write (3); 1 show no symptom.",
    )
    chart = section.charts[0]
    assert [(mark.at, mark.value, mark.n) for mark in chart.marks] == [("missing_write", 0.75, 4), ("loop", 0.5, 4)]
    assert all(mark.low is not None and mark.low < mark.value for mark in chart.marks)


def test_failures_without_any_symptom_have_no_chart(tmp_path: Path) -> None:
    """There is nothing to draw, and the sentence says it."""
    with made_up(tmp_path / "run", {"a": [(reward(0.0), Cause.WRONG)]}) as store:
        section = reasons(live_subjects([store]))
    assert isinstance(section, Section)
    assert (section.charts, section.tables) == ((), ())
    assert section.findings == ("openai/pelican: 1 of 1 trials failed; 1 show no symptom.",)


def test_where_nothing_failed_it_is_said(tmp_path: Path) -> None:
    """That nothing is graded is another matter than that nothing failed."""
    with made_up(tmp_path / "run", {"a": [(reward(1.0), None)]}) as store:
        assert reasons(live_subjects([store])) == "Why trials failed: every one was a success."
    with trial_run(tmp_path / "bare", {"a": [0.0]}) as store:
        assert reasons(live_subjects([store])) == "Why trials failed: none is graded."
