"""What is said beside what is called, per figure and per conversation."""

from __future__ import annotations

from pathlib import Path

import gateruns
import pytest

from turngap.analysis.sums import sum_up
from turngap.runs.store import RunStore
from turngap.web.opened import Opened
from turngap.web.says import says, talks
from turngap.web.shelf import Shelf


def _opened(shelf: Shelf, *ids: str) -> list[Opened]:
    runs = [shelf.get(one) for one in ids]
    return [Opened(id=run.id, label=run.label, store=RunStore.open(run.path)) for run in runs]


def test_figures_are_those_of_the_analysis(shelf: Shelf) -> None:
    """Every figure on the page is the one that the run's own summary has."""
    opened = _opened(shelf, "r1", "r2")
    found = says(opened)
    sums = [sum_up(one.store).metrics for one in opened]
    assert [part.key for part in found.parts] == ["says", "calls", "both", "end"]
    rows = [row for part in found.parts for row in part.rows]
    assert {row.name for row in rows} >= {"turn.success.text", "turn.success.tool", "turn.success", "workflow.success"}
    for row in rows:
        assert row.figures == tuple(metrics[row.name] for metrics in sums)


def test_conversations_add_up_to_their_figures(shelf: Shelf) -> None:
    """The shares of conversations, weighed by their turns, are the run's figure over the same conversations."""
    (one,) = _opened(shelf, "r1")
    found = talks(one)
    assert found is not None
    called = sum((talk.called or 0) * talk.called_n for talk in found.talks)
    figure = one.figure("turn.success.tool")
    assert called / sum(talk.called_n for talk in found.talks) == pytest.approx(figure.value)
    assert sum(talk.called_n for talk in found.talks) == figure.n
    assert len(found.talks) == found.total == 41
    assert sum(corner.count for corner in found.corners) == found.total
    assert sum(bubble.count for bubble in found.bubbles) == found.total
    assert found.total + found.aside == 48


def test_good_talk_is_counted_against_the_end(tmp_path: Path) -> None:
    """Of conversations whose talk is all good it says how many failed, and how many of them had a wrong call."""
    strict = {"a": True, "b": False, "c": False}
    gateruns.make(tmp_path / "run", strict=strict, turn=strict, workflow={"a": True, "b": True, "c": False})
    with RunStore.open(tmp_path / "run") as store:
        found = talks(Opened(id="r1", label="run", store=store))
    assert found is not None
    assert found.finding == (
        "Of 3 conversations in which every text turn is good, 2 had a wrong call; 2 (66.7%) were finished."
    )
    assert [talk.id for talk in found.talks] == ["c", "b", "a"]
    assert {(one.said, one.called): (one.count, one.ended) for one in found.corners} == {
        (True, True): (1, 1.0),
        (True, False): (2, 1.0),
        (False, True): (0, 0.0),
        (False, False): (0, 0.0),
    }


def test_live_trials_tell_and_do(shelf: Shelf) -> None:
    """A run of live trials is shown by its own figures, and its places are tasks."""
    opened = _opened(shelf, "r3")
    found = says(opened)
    assert "reward.db" in [row.name for part in found.parts for row in part.rows]
    assert "pass^3" in [row.name for row in found.parts[-1].rows]
    assert all(one.unit == "task" for one in found.talks)


def test_runs_of_two_kinds_are_not_compared_and_show_no_path(shelf: Shelf) -> None:
    """The sentence says why, by the names that readers know, without a directory."""
    opened = _opened(shelf, "r1", "r3")
    (verdict,) = says(opened).verdicts
    assert verdict.startswith("boats against weak: not compared, since weak holds conversations")
    assert str(opened[0].store.directory) not in verdict


def test_a_run_without_scores_has_no_talks(tmp_path: Path) -> None:
    """Where a side was not measured there is nothing to set against the other."""
    gateruns.make(tmp_path / "run", replay={"a": True})
    with RunStore.open(tmp_path / "run") as store:
        assert talks(Opened(id="r1", label="run", store=store)) is None
