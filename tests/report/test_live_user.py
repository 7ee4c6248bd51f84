"""Who plays the user: what they spoiled, and how far figures depend on them."""

from __future__ import annotations

from pathlib import Path

from lived import made_up, reward
from trialruns import trial_run

from turngap.data import Cause
from turngap.data.reward import Symptom, SymptomKind
from turngap.report.live_subject import live_subjects
from turngap.report.live_user import users


def test_usr_10_figures_stand_without_and_with_spoiled_trials(tmp_path: Path) -> None:
    """USR-10: the rate, and reward and pass^1 both ways."""
    with trial_run(tmp_path / "run", {"a": [1.0, "user"], "b": [1.0, 0.0]}) as store:
        section = users(live_subjects([store]))
    (table,) = section.tables
    assert [(column.group, column.title) for column in table.columns[3:]] == [
        ("reward", "without them"),
        ("reward", "with them"),
        ("pass^1", "without them"),
        ("pass^1", "with them"),
    ]
    assert [cell.text for cell in table.rows[0][1:]] == ["scripted", "25.0", "66.7", "50.0", "75.0", "50.0"]


def test_lapses_are_counted_by_kind(tmp_path: Path) -> None:
    """Trials, not occurrences; nothing is said where the user spoiled nothing."""
    lapses = tuple(
        Symptom(kind=SymptomKind.USER_FAULT, event=2, detail=f"{kind}: says x")
        for kind in ("repeats_itself", "repeats_itself", "role_break")
    )
    one = (reward(0.0, symptoms=lapses), Cause.USER)
    two = (reward(0.0, symptoms=lapses[:1]), Cause.USER)
    with made_up(tmp_path / "run", {"a": [one, two]}) as store:
        section = users(live_subjects([store]))
    assert section.findings == ("openai/pelican: the user spoiled 2 of 2 trials (repeats_itself 2, role_break 1).",)
    with trial_run(tmp_path / "good", {"a": [1.0]}) as store:
        assert users(live_subjects([store])).findings == ()


def test_an_audit_is_a_table_of_its_own(tmp_path: Path) -> None:
    """The same trials with a second user, and how many came out otherwise."""
    with trial_run(tmp_path / "run", {"a": [1.0, 1.0], "b": [0.0, 1.0]}, audit={"a": [1.0, 0.0]}) as store:
        section = users(live_subjects([store]))
    audit = section.tables[1]
    assert [cell.text for cell in audit.rows[0][1:]] == ["llm/openai/heron", "1", "100.0", "50.0", "50.0", "0 / 0"]
