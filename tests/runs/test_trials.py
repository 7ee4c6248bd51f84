"""Live tasks and their trials in the run directory; and runs from before there were any."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from turngap.config import EvalConfig, ModelConfig, RolloutConfig, TaskConfig
from turngap.data import Cause, Conversation, Failure, Trajectory
from turngap.data.task import Scenario, Task
from turngap.errors import ConfigError, StoreError
from turngap.runs.store import RunStore
from turngap.runs.trials import AUDIT, Trial

_TASKS = [Task(id=name, scenario=Scenario.AMBIGUOUS) for name in ("b", "a", "c")]


@pytest.fixture
def rollout() -> RolloutConfig:
    """Two trials of each task of a file."""
    return RolloutConfig(
        domain="boats",
        tasks=TaskConfig(path="tasks.json"),
        model=ModelConfig(spec="openai/pelican", base_url="http://u:secret@h/v1?key=secret"),
        user=ModelConfig(spec="llm/openai/heron", base_url="http://u:secret@h/v1"),
        trials=2,
    )


def _played(task: str) -> Trajectory:
    return Trajectory(conversation=task, metadata={"termination": "user_stop"})


def test_a_trial_is_stored_once_and_keeps_what_went_wrong_before(
    tmp_path: Path, rollout: RolloutConfig, failure: Failure
) -> None:
    """A later result takes the place of a failure, which stays beside it; nobody else's trials are touched (STA-09)."""
    other = Failure(cause=Cause.JUDGE, reason="no verdict")
    with RunStore.create(tmp_path / "run", rollout) as store:
        store.add_tasks(_TASKS)
        trials = store.trials
        trials.put("a", 0, failure)
        trials.put("a", 0, other)
        assert trials.failures() == {("a", 0): other} and trials.measured() == set()
        trials.put("a", 0, _played("a"))
        trials.put("a", 1, _played("a"))
        trials.put("a", 0, failure, player=AUDIT)
        assert trials.of("a") == [
            Trial(task="a", trial=0, result=_played("a"), before=(failure, other)),
            Trial(task="a", trial=1, result=_played("a")),
        ]
        assert trials.measured() == {("a", 0), ("a", 1)} and trials.measured(player=AUDIT) == set()
        assert trials.get("a", 0, player=AUDIT) == Trial(task="a", trial=0, result=failure)
        assert trials.get("b", 0) is None and trials.of("b") == []


def test_the_database_itself_refuses_a_trial_twice(tmp_path: Path, rollout: RolloutConfig) -> None:
    """Whoever writes: two rows of one trial cannot be (STA-04)."""
    with RunStore.create(tmp_path / "run", rollout) as store:
        store.add_tasks(_TASKS)
        store.trials.put("a", 0, _played("a"))
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO trial SELECT * FROM trial")
    connection.close()


def test_tasks_come_back_in_file_order_and_a_resumed_run_wants_the_same(tmp_path: Path, rollout: RolloutConfig) -> None:
    """Another order is the same data; a changed, new or missing task is not, and is named (RUN-02)."""
    with RunStore.create(tmp_path / "run", rollout) as store:
        store.add_tasks(_TASKS)
        assert store.trials.task_ids() == ["b", "a", "c"] and list(store.trials.tasks()) == _TASKS
        assert store.trials.task("c") == _TASKS[2]
        with pytest.raises(KeyError):
            store.trials.task("d")
    more = msgspec.structs.replace(rollout, trials=8)
    with RunStore.create(tmp_path / "run", more) as store:
        store.add_tasks(_TASKS[::-1])
        assert store.rollout.trials == 8
        with pytest.raises(ConfigError, match="task 'b' has changed"):
            store.add_tasks([msgspec.structs.replace(_TASKS[0], persona="in a hurry"), *_TASKS[1:]])
        with pytest.raises(ConfigError, match="task 'd' is not among"):
            store.add_tasks([*_TASKS, Task(id="d")])
        with pytest.raises(ConfigError, match=r"1 task.* missing: 'c'"):
            store.add_tasks(_TASKS[:2])
    with RunStore.open(tmp_path / "run") as store:
        assert store.rollout.trials == 8


def test_a_run_is_of_one_kind(tmp_path: Path, rollout: RolloutConfig, config: EvalConfig) -> None:
    """A run of trials is neither resumed nor read as one of conversations, nor the reverse; the message says which."""
    with RunStore.create(tmp_path / "live", rollout) as store:
        assert store.settings == rollout
        with pytest.raises(StoreError, match="holds trials of live tasks"):
            _ = store.config
    with RunStore.create(tmp_path / "recorded", config) as store, pytest.raises(StoreError, match="holds recorded"):
        _ = store.rollout
    with pytest.raises(ConfigError, match="holds a run of turngap rollout, not of turngap eval"):
        RunStore.create(tmp_path / "live", config)
    with pytest.raises(ConfigError, match="holds a run of turngap eval, not of turngap rollout"):
        RunStore.create(tmp_path / "recorded", rollout)


def test_what_decides_a_trial_may_not_change(tmp_path: Path, rollout: RolloutConfig) -> None:
    """Another user or limit is refused by name; another pace, judge or number of trials is not (RUN-02)."""
    RunStore.create(tmp_path / "run", rollout).close()
    for changed in (
        msgspec.structs.replace(rollout, user=ModelConfig(spec="scripted")),
        msgspec.structs.replace(rollout, max_errors=3),
        msgspec.structs.replace(rollout, seed=9),
    ):
        with pytest.raises(ConfigError, match=r"user\.spec|max_errors|seed"):
            RunStore.create(tmp_path / "run", changed)
    slower = msgspec.structs.replace(rollout.user, timeout=900.0)
    RunStore.create(tmp_path / "run", msgspec.structs.replace(rollout, user=slower, trials=3)).close()


def test_no_secret_of_the_user_s_server_is_stored(tmp_path: Path, rollout: RolloutConfig) -> None:
    """Both base URLs lose user part and query (SEC-01)."""
    with RunStore.create(tmp_path / "run", rollout) as store:
        store.add_tasks(_TASKS)
    for file in (tmp_path / "run").iterdir():
        assert b"secret" not in file.read_bytes(), file.name


def test_runs_from_before_there_were_trials_can_be_read_and_go_on(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation], trajectory: Trajectory
) -> None:
    """A run of format 2 has no trials for a reader, and is brought to the present format by a writer."""
    directory = tmp_path / "old"
    with RunStore.create(directory, config) as store:
        store.add_conversations(conversations)
        store.put_horizon("c0", 0, trajectory)
    connection = sqlite3.connect(directory / "run.sqlite")
    for table in ("task", "trial", "reward"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("PRAGMA user_version=2")
    connection.close()
    before = (directory / "run.sqlite").read_bytes()
    with RunStore.open(directory) as store:
        assert store.horizon("c0", 8) == {0: trajectory} and store.trials.task_ids() == []
    assert (directory / "run.sqlite").read_bytes() == before
    with RunStore.create(directory, config) as store:
        assert store.add_conversations(conversations) == len(conversations)
        assert store.trials.measured() == set() and store.horizon("c0", 8) == {0: trajectory}
