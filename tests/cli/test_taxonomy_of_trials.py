"""`turngap taxonomy` on a run of trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boats
import pytest

from turngap.cli.main import execute
from turngap.data import Cause, Failure
from turngap.data.reward import Reward
from turngap.formats import tasks as task_files
from turngap.runs.store import RunStore


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two tasks, handed over instead of solved."""
    path = tmp_path / "tasks.json"
    task_files.write(path, [boats.task(1), boats.task(2)])
    where = ["--domain", str(Path(boats.__file__)), "--tasks", str(path), "-o", str(tmp_path / "run")]
    assert execute(["rollout", *where, "--model", "baseline/transfer", "--trials", "2"]) == 0
    return tmp_path / "run"


def test_symptoms_are_counted_by_kind(run: Path, capsys: Any) -> None:
    """Each failed trial counts once a kind; the table fits 80 columns."""
    capsys.readouterr()
    assert execute(["taxonomy", str(run)]) == 0
    out = capsys.readouterr().out
    assert "4 trials: 0 succeeded, 4 failed" in out
    assert max(map(len, out.splitlines())) <= 80
    assert execute(["taxonomy", str(run), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["name"]: (row["failed"], row["tasks"]) for row in document["rows"]} == {
        "missing_write": (4, 2),
        "fact_not_said": (4, 2),
        "needless_transfer": (4, 2),
    }


def test_a_kind_or_task_is_shown_with_its_evidence(run: Path, capsys: Any) -> None:
    """The message that shows a symptom stands below it; an unknown name lists the known ones; judges are refused."""
    capsys.readouterr()
    assert execute(["taxonomy", str(run), "--show", "needless_transfer"]) == 0
    out = capsys.readouterr().out
    assert "move-1, trial 0: reward 0" in out and "agent: hand_over(" in out
    assert execute(["taxonomy", str(run), "--show", "move-2"]) == 0
    assert "move-1" not in capsys.readouterr().out
    assert execute(["taxonomy", str(run), "--show", "nonsense"]) == 2
    assert "missing_write" in capsys.readouterr().err
    assert execute(["taxonomy", str(run), "--judge", "openai/x"]) == 2


def test_errored_and_good_tasks_are_told_apart(run: Path, capsys: Any) -> None:
    """The task of an errored trial has the reason, one without any fault says so, and an unfinished run is told of."""
    failure = Failure(cause=Cause.ENDPOINT, reason="503 after 5 attempts", kind="EndpointError")
    with RunStore.open(run, write=True) as store:
        store.trials.put("move-2", 0, failure)
        for trial, result in ((0, failure), (1, Reward(value=1.0))):
            store.trials.put_reward("move-2", trial, result, "key")
        for trial in (0, 1):
            store.trials.put_reward("move-1", trial, Reward(value=1.0), "key")
        store.set_note("state", "started")
    capsys.readouterr()
    assert execute(["taxonomy", str(run)]) == 0
    assert "4 trials: 3 succeeded, 0 failed, 1 errored" in capsys.readouterr().out
    assert execute(["taxonomy", str(run), "--show", "move-2"]) == 0
    out = capsys.readouterr().out
    assert "move-2, trial 0: errored, endpoint (EndpointError)" in out and "is not finished" in out
    assert execute(["taxonomy", str(run), "--show", "move-1"]) == 0
    assert "task move-1: nothing went wrong" in capsys.readouterr().out
    assert execute(["taxonomy", str(run), "--show", "errored", "--json"]) == 0
    assert [one["reason"] for one in json.loads(capsys.readouterr().out)["lost"]] == ["503 after 5 attempts"]
