"""Closed loops from recorded decisions in the run directory; and runs from before there were any."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import msgspec
import pytest

from turngap.config import EvalConfig, ReplayConfig
from turngap.data import Conversation, Failure, Trajectory
from turngap.errors import ConfigError, StoreError
from turngap.runs.store import RunStore, Tally


def test_a_result_serves_every_number_of_decisions_it_speaks_for(
    tmp_path: Path, config: EvalConfig, trajectory: Trajectory, failure: Failure
) -> None:
    """One that ended by itself serves any horizon, one that was stopped only nearer ones; failures are to be repeated."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.put_horizon("c0", 0, trajectory)
        store.put_horizon("c0", 1, trajectory, reach=4)
        store.put_horizon("c0", 2, failure, reach=4)
        store.put_horizon("c1", 0, trajectory, reach=4)
        assert store.horizon("c0", 4) == {0: trajectory, 1: trajectory, 2: failure}
        assert store.horizon("c0", 5) == {0: trajectory, 2: failure}
        assert (store.ran_from("c0", 4), store.ran_from("c0", 5), store.ran_from("c2", 1)) == ({0, 1}, {0}, set())
        assert store.count_horizon(4) == Tally(good=3, errored=1)
        assert store.count_horizon(5) == Tally(good=1, errored=1)
        store.put_horizon("c0", 2, trajectory)
        assert store.ran_from("c0", 9) == {0, 2}


@pytest.fixture
def old(tmp_path: Path, config: EvalConfig, conversations: list[Conversation], trajectory: Trajectory) -> Path:
    """A run of format 1."""
    directory = tmp_path / "old"
    with RunStore.create(directory, config) as store:
        store.add_conversations(conversations)
        store.put_trajectory("c0", trajectory)
    connection = sqlite3.connect(directory / "run.sqlite")
    for table in ("horizon", "task", "trial", "reward"):
        connection.execute(f"DROP TABLE {table}")
    manifest = json.loads(connection.execute("SELECT body FROM fact WHERE key = 'manifest'").fetchone()[0])
    manifest["config"]["replay"] = {"retries": manifest["config"]["replay"].pop("attempts") - 1}
    connection.execute("UPDATE fact SET body = ? WHERE key = 'manifest'", (json.dumps(manifest).encode(),))
    connection.execute("PRAGMA user_version=1")
    connection.commit()
    connection.close()
    return directory


def test_an_older_run_can_be_read_as_it_is(old: Path, trajectory: Trajectory) -> None:
    """Reading changes nothing in the file, and finds no such closed loops in it."""
    before = (old / "run.sqlite").read_bytes()
    with RunStore.open(old) as store:
        assert store.config.replay.attempts == 3
        assert store.trajectory("c0") == trajectory
        assert store.horizon("c0", 8) == {} and store.count_horizon(8) == Tally()
    assert (old / "run.sqlite").read_bytes() == before


def test_an_older_run_can_be_read_where_nothing_can_be_written(old: Path, trajectory: Trajectory) -> None:
    """Also from read-only media."""
    (old / "run.sqlite").chmod(0o400)
    old.chmod(0o500)
    try:
        with RunStore.open(old) as store:
            assert store.trajectory("c0") == trajectory
            assert store.horizon("c0", 8) == {}
    finally:
        old.chmod(0o700)
        (old / "run.sqlite").chmod(0o600)


def test_an_older_run_goes_on_with_the_same_data(
    old: Path, config: EvalConfig, conversations: list[Conversation], trajectory: Trajectory
) -> None:
    """Writing brings it to the present format; its conversations are known again, its results are kept."""
    with RunStore.create(old, config) as store:
        assert store.add_conversations(conversations) == len(conversations)
        assert store.trajectory("c0") == trajectory
        store.put_horizon("c0", 0, trajectory)
    with RunStore.open(old) as store:
        assert store.horizon("c0", 8) == {0: trajectory}


def test_a_file_that_is_no_run_yet_is_still_refused(tmp_path: Path) -> None:
    """An empty database is no older run."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.sqlite").touch()
    with pytest.raises(StoreError, match="interrupted before it began"):
        RunStore.open(tmp_path / "run")


def test_attempts_of_an_older_run_are_counted_as_today(tmp_path: Path, config: EvalConfig) -> None:
    """Format 2 counted attempts after the first: none of them is one attempt, read as it is and when it is resumed."""
    once = msgspec.structs.replace(config, replay=ReplayConfig(attempts=1))
    directory = tmp_path / "old"
    RunStore.create(directory, once).close()
    connection = sqlite3.connect(directory / "run.sqlite")
    manifest = json.loads(connection.execute("SELECT body FROM fact WHERE key = 'manifest'").fetchone()[0])
    manifest["config"]["replay"] = {"retries": 0}
    connection.execute("UPDATE fact SET body = ? WHERE key = 'manifest'", (json.dumps(manifest).encode(),))
    for table in ("task", "trial", "reward"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("PRAGMA user_version=2")
    connection.commit()
    connection.close()
    with RunStore.open(directory) as store:
        assert store.config.replay.attempts == 1
    with pytest.raises(ConfigError, match=r"replay\.attempts: 3 asked for, 1 stored"):
        RunStore.create(directory, config)
    with RunStore.create(directory, once) as store:
        assert store.config == once
