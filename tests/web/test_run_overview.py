"""The overview: figures beside each other, filters, orders, the gap, and how far runs are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import scored
import trialruns

from turngap.analysis.summary import summarise, to_document
from turngap.data import AssistantMessage, Cause, Failure, Prediction, Trajectory, Verdict
from turngap.runs.store import METRICS, RunStore
from turngap.web.figures import Summed
from turngap.web.indexing import Indexes
from turngap.web.overview import Desk, Line, Query, Work
from turngap.web.shelf import Shelf

WAIT = 20.0


@pytest.fixture
def desk(shelf: Shelf, tmp_path: Path) -> Iterator[Desk]:
    """Over the runs `r1` weak, `r2` strong, `r3` boats."""
    indexes = Indexes(tmp_path)
    yield Desk(shelf, indexes)
    indexes.close()


def ids(desk: Desk, **query: str) -> list[str]:
    """Runs in the order in which they are shown."""
    return [line.id for grid in desk.overview(Query(**query), wait=WAIT).grids for line in grid.lines]


def test_figures_are_those_of_the_analysis(desk: Desk, shelf: Shelf) -> None:
    """Value, n and interval; kinds of runs stand apart, and rollouts have pass^k."""
    recorded, live = desk.overview(Query(), wait=WAIT).grids
    assert [(line.id, line.state, line.model) for line in recorded.lines] == [
        ("r1", "finished", "baseline/noisy?p_text=0.9&p_tool=0.6"),
        ("r2", "finished", "baseline/noisy?p_text=0.9&p_tool=0.95"),
    ]
    for line in recorded.lines:
        with shelf.get(line.id).store() as store:
            summary = summarise(store, seed=store.config.seed)
        assert line.figures.metrics == summary.metrics
        turns, ends = summary.metrics["turn.success"].value, summary.metrics["workflow.success"].value
        assert turns is not None
        assert ends is not None
        assert line.gap == pytest.approx(100 * (turns - ends))
        assert line.size == "48 conversations, 376 decisions"
        assert line.judge == "rules"
    assert [heading.name for heading in live.headings][:4] == ["reward", "pass^1", "pass^2", "pass^3"]
    assert live.lines[0].figure("pass^1").n == 3
    assert live.lines[0].gap is None


def test_runs_are_sorted_by_any_column(desk: Desk) -> None:
    """Either way; runs without the figure stand last, and kinds stay apart."""
    assert ids(desk) == ["r1", "r2", "r3"]
    assert ids(desk, sort="-turn.success.tool") == ["r2", "r1", "r3"]
    assert ids(desk, sort="turn.success.tool") == ["r1", "r2", "r3"]
    assert ids(desk, sort="run") == ["r2", "r1", "r3"]
    assert ids(desk, sort="-gap") in (["r1", "r2", "r3"], ["r2", "r1", "r3"])
    assert ids(desk, sort="no.such.figure") == ["r1", "r2", "r3"]


def test_runs_are_filtered_by_model_data_and_day(desk: Desk, shelf: Shelf) -> None:
    """Exactly the model, the data's file names, and days with both ends."""
    day = shelf.runs[0].created[:10]
    assert ids(desk, model="baseline/noisy?p_text=0.9&p_tool=0.6") == ["r1"]
    assert ids(desk, data="retail.jsonl") == ["r1", "r2"]
    assert ids(desk, since=day, until=day) == ["r1", "r2", "r3"]
    assert ids(desk, since="9999-01-01") == []
    assert ids(desk, until="1999-01-01") == []
    overview = desk.overview(Query(data="none"))
    assert (overview.shown, overview.total) == (0, 3)
    assert len(overview.models) == 3
    assert overview.data[0] == "retail.jsonl"


def _line(directory: Path, cache: Path, wait: float = WAIT) -> Line:
    indexes = Indexes(cache)
    desk = Desk(Shelf.open([directory]), indexes)
    try:
        desk.overview(Query(), wait=wait)  # which has the index begun where it is needed
        for run in Shelf.open([directory]).runs:
            if (indexer := indexes.known(run)) is not None:
                indexer.finish(WAIT)
        return desk.overview(Query(), wait=wait).grids[0].lines[0]
    finally:
        indexes.close()


def test_a_run_at_work_says_how_far_each_part_is(tmp_path: Path) -> None:
    """Predictions, replays, verdicts, with what was errored and how much there will be."""
    with RunStore.create(tmp_path / "run", scored.config()) as store:
        store.set_note("state", "started")
        store.add_conversations([scored.conversation(name, "ct") for name in ("a", "b")])
        store.put_prediction("a", 0, Prediction(message=AssistantMessage(content="x")))
        store.put_prediction("a", 1, Failure(cause=Cause.ENDPOINT, reason="503"))
        store.put_trajectory("b", Trajectory(conversation="b"))
        store.put_verdict("rules", "turn", "a", 0, Verdict(success=True), "key")
        line = _line(tmp_path / "run", tmp_path / "cache")
    assert line.state == "started"
    assert line.work == (
        Work(name="predictions", done=1, errored=1, total=4),
        Work(name="replays", done=1, errored=0, total=2),
        Work(name="turn by rules", done=1, errored=0, total=4),
    )


def test_a_rollout_at_work_counts_the_trials_that_were_asked_for(tmp_path: Path) -> None:
    """Those past the number of trials are not among them."""
    with trialruns.trial_run(tmp_path / "run", {"one": [1, 0, 1], "two": ["endpoint"]}, trials=2) as store:
        store.set_note("state", "started")
        line = _line(tmp_path / "run", tmp_path / "cache")
    assert line.work == (Work(name="trials", done=2, errored=1, total=4),)


def test_an_interrupted_run_has_the_figures_of_what_is_there(tmp_path: Path) -> None:
    """Nobody writes it: it is interrupted, whatever it says of itself."""
    scores = {"replay": [scored.replayed("a", True)]}
    with scored.run(tmp_path / "run", [scored.conversation("a")], scores) as store:
        store.set_note("state", "started")
    line = _line(tmp_path / "run", tmp_path / "cache")
    assert (line.state, line.work) == ("interrupted", ())
    assert line.figure("replay.completed").value == 1.0


def test_a_run_that_cannot_be_read_is_a_line_with_its_problem(tmp_path: Path) -> None:
    """The others are shown all the same."""
    for name in ("good", "gone"):
        with scored.run(tmp_path / name, [scored.conversation("a")], {"replay": [scored.replayed("a", True)]}):
            pass
    shelf = Shelf.open([tmp_path / "good", tmp_path / "gone"])
    (tmp_path / "gone" / "run.sqlite").unlink()
    indexes = Indexes(tmp_path / "cache")
    desk = Desk(shelf, indexes)
    good, gone = desk.overview(Query(), wait=WAIT).grids[0].lines
    assert good.figure("replay.completed").n == 1
    assert "no run" in gone.problem


def test_written_figures_are_taken_only_while_they_speak_for_the_run(tmp_path: Path) -> None:
    """Those of before a change of the run are not; a run that is at work keeps those of its last scoring."""
    with scored.run(tmp_path / "run", [scored.conversation("a")], {"replay": [scored.replayed("a", True)]}):
        pass
    run = Shelf.open([tmp_path / "run"]).runs[0]
    summed = Summed()
    with run.store() as store:
        document = to_document(summarise(store))
    document["metrics"]["replay.completed"]["value"] = 0.25  # so that it can be told which figures these are
    time.sleep(0.02)
    with RunStore.open(run.path) as reader:
        reader.write_metrics(document)

    def value(*, running: bool = False) -> float | None:
        return summed.of(run, running=running, wait=WAIT).metrics["replay.completed"].value

    assert value() == 0.25
    time.sleep(0.02)
    with RunStore.open(run.path, write=True) as store:
        store.replace_scores("replay", [scored.replayed("a", False)])
    assert value() == 0.0
    assert value(running=True) == 0.25
    (run.path / METRICS).write_text("{broken")
    assert value() == 0.0


def test_the_mark_of_a_line_ignores_progress(tmp_path: Path) -> None:
    """Bars move without the tables being taken anew."""
    with scored.run(tmp_path / "run", [scored.conversation("a")], {}) as store:
        store.set_note("state", "started")
        before = _line(tmp_path / "run", tmp_path / "cache")
        store.put_trajectory("a", Trajectory(conversation="a"))
        after = _line(tmp_path / "run", tmp_path / "cache")
        store.set_note("state", "finished")
        done = _line(tmp_path / "run", tmp_path / "cache")
    assert before.work != after.work
    assert before.mark == after.mark != done.mark
