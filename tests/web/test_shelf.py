"""The shelf: what is on it, under which ids, and that nothing else can be reached."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import viewing

from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import Conversation
from turngap.errors import StoreError, UsageError
from turngap.runs.store import RunStore
from turngap.web.shelf import Shelf, Unknown


def test_runs_have_ids_in_the_order_of_the_command_line(runs_folder: Path) -> None:
    """Ids are opaque, kinds are told apart, and a run named twice stands once."""
    shelf = Shelf.open([runs_folder / "weak", runs_folder / "boats", runs_folder / ".." / runs_folder.name / "weak"])
    assert [(run.id, run.label, run.kind) for run in shelf.runs] == [("r1", "weak", "eval"), ("r2", "boats", "rollout")]
    with shelf.get("r2").store() as store:
        assert store.trials.task_ids() == ["move-1", "move-2", "move-3"]


def test_a_folder_of_runs_is_searched_one_level_deep(runs_folder: Path, tmp_path: Path) -> None:
    """Runs in it are found in the order of their names; those deeper down are not."""
    assert [run.label for run in Shelf.open([runs_folder]).runs] == ["boats", "strong", "weak"]
    (tmp_path / "outer").symlink_to(runs_folder.parent)
    with pytest.raises(UsageError, match="neither this directory nor those in it"):
        Shelf.open([tmp_path])


def test_labels_tell_runs_of_one_name_apart(runs_folder: Path, tmp_path: Path) -> None:
    """As much of the path as is needed, and no more."""
    shutil.copytree(runs_folder / "boats", tmp_path / "other" / "boats")
    labels = [run.label for run in Shelf.open([runs_folder / "boats", tmp_path / "other" / "boats"]).runs]
    assert labels == [f"{runs_folder.name}/boats", "other/boats"]


def test_what_is_no_run_is_said_in_one_line(tmp_path: Path) -> None:
    """Nothing named, nothing there, an empty folder, a file, a database of something else."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.sqlite").write_bytes(b"no database at all" * 100)
    for path in ("none", "empty", "file", "none\0"):
        with pytest.raises(UsageError, match=r"no run: .+") as told:
            Shelf.open([tmp_path / path])
        assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="name at least one"):
        Shelf.open([])
    with pytest.raises(StoreError, match="damaged"):
        Shelf.open([tmp_path / "other"])
    with pytest.raises(UsageError, match="none of the runs can be read"):
        Shelf.open([tmp_path])


def test_unreadable_neighbours_are_left_out_and_named(runs_folder: Path, tmp_path: Path) -> None:
    """One bad run in a folder does not take the others away."""
    shutil.copytree(runs_folder / "boats", tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.sqlite").write_bytes(b"x" * 2000)
    shelf = Shelf.open([tmp_path])
    assert [run.label for run in shelf.runs] == ["good"]
    assert len(shelf.notes) == 1 and "bad" in shelf.notes[0]


def test_an_unknown_id_is_refused(shelf: Shelf) -> None:
    """Ids are looked up; nothing of them is a path."""
    for name in ("r9", "", "../weak", "/etc/passwd", "r1/../r2", "R1", "\0"):
        with pytest.raises(Unknown, match="no run"):
            shelf.get(name)


def test_the_stamp_changes_with_what_is_written(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Also while the writer is at work and the changes lie in the WAL; it stays when nothing happens."""
    config = EvalConfig(data=DataConfig(paths=("x.jsonl",)), model=ModelConfig(spec="baseline/reference"))
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_conversations([boat_conversation])
        (run,) = Shelf.open([tmp_path / "run"]).runs
        stamps = [run.stamp(), run.stamp()]
        store.set_note("state", "finished")
        stamps.append(run.stamp())
        store.write_metrics({"n": {}})
        stamps.append(run.stamp())
    assert stamps[0] == stamps[1]
    assert len(set(stamps)) == 3


def test_looking_changes_nothing_in_a_finished_run(runs_folder: Path) -> None:
    """Names, sizes and times in the folder are those of before."""

    def state() -> dict[str, tuple[int, int]]:
        return {e.name: (e.stat().st_size, e.stat().st_mtime_ns) for e in os.scandir(runs_folder / "weak")}

    before = state()
    (run,) = Shelf.open([runs_folder / "weak"]).runs
    with run.store() as store:
        assert len(store.conversation_ids()) == viewing.samples.COUNT
    assert state() == before
