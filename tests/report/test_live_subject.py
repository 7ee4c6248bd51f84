"""Runs of live trials in a report: their names, and what of them a reader may see."""

from __future__ import annotations

from pathlib import Path

import pytest
from trialruns import trial_run

from turngap.report.live_subject import live_subjects, shown


def test_runs_of_one_model_are_told_apart_by_their_directory(tmp_path: Path) -> None:
    """No two have one name."""
    with trial_run(tmp_path / "one", {"a": [1.0]}) as one, trial_run(tmp_path / "two", {"a": [0.0]}) as two:
        assert [found.label for found in live_subjects([one, two])] == ["openai/pelican (one)", "openai/pelican (two)"]
        assert live_subjects([one])[0].label == "openai/pelican"


def test_the_largest_k_is_that_of_the_trials_that_count(tmp_path: Path) -> None:
    """A task of which one trial was lost still carries the others; without any there is no k."""
    with trial_run(tmp_path / "run", {"a": [1.0, 0.0, "endpoint"], "b": ["user", 1.0, "endpoint"]}) as store:
        (found,) = live_subjects([store])
    assert found.most == 2
    assert found.measured("pass^3").n == 0
    with trial_run(tmp_path / "none", {"a": ["endpoint"]}) as store:
        assert live_subjects([store])[0].most == 0


@pytest.mark.parametrize(
    ("spec", "seen"),
    [
        ("tau2:retail", "tau2:retail"),
        ("/home/ada/desk.py", "desk.py"),
        ("retail?database=/home/ada/secret/db.json&seed=1", "retail?database=db.json&seed=1"),
        ("shop.desk:DOMAIN", "shop.desk:DOMAIN"),
    ],
)
def test_folders_stay_at_home(spec: str, seen: str) -> None:
    """SEC-11: of a path, a report names the file."""
    assert shown(spec) == seen
