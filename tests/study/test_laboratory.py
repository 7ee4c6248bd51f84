"""A whole study of seconds: its stages, what a repetition costs, and that a kill in any stage changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs the extra train")

_EXPERIMENTS = Path(__file__).parents[2] / "experiments"
_STUDY = f"""\
base = "new:qwen3?hidden=32&layers=1&heads=2&vocabulary=600"
seed = 1
[train]
domain = "{_EXPERIMENTS / "corner_shop.py"}?seed=1"
each = 3
[evaluate]
domain = "{_EXPERIMENTS / "corner_shop.py"}?seed=2"
each = 1
[recipe]
base = "laptop"
limit = 8000
lora = false
save = 1
[ask]
conversations = 2
tasks = 2
max_tokens = 24
max_steps = 4
[recovery]
rounds = 1
tasks = 4
rehearsed = 4
protocols = ["strict", "replay", "workflow"]
"""
_STAGES = (
    "train-tasks",
    "train-teacher",
    "evaluate-tasks",
    "evaluate-teacher",
    "examples",
    "training",
    "after-recorded",
    "after-live",
    "recovery-1-tasks",
    "recovery-1-trials",
    "recovery-1-examples",
    "recovery-1-training",
    "recovery-1-recorded",
    "recovery-1-live",
)
_LIMIT = 240.0
"""Seconds after which a study of seconds hangs."""


def _start(study: Path, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "turngap", "experiment", str(study), "-o", str(directory), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        start_new_session=True,
    )


def _finish(study: Path, directory: Path) -> dict[str, Any]:
    output, errors = _start(study, directory).communicate(timeout=_LIMIT)
    assert output, errors
    found: dict[str, Any] = json.loads(output)
    return found


def _timeless(found: dict[str, Any]) -> dict[str, Any]:
    """What a study found, but for how long it took and where it lies."""
    told = [
        (
            one["name"],
            {name: value for name, value in one["outcome"].items() if name not in ("seconds", "base")},
            one["recovered"],
        )
        for one in found["results"]["trained"]
    ]
    return {
        "columns": [(one["name"], one["figures"]) for one in found["columns"]],
        "contrasts": found["contrasts"],
        "trained": told,
    }


def _killed_in(study: Path, directory: Path, stage: str) -> bool:
    """Whether the study was killed while it was at the stage; false where that was over too soon."""
    process = _start(study, directory)
    began = time.monotonic()
    try:
        while process.poll() is None:
            assert time.monotonic() - began < _LIMIT, f"{stage} was never reached"
            folders = [one for one in directory.glob(f"{stage}-*") if one.name[len(stage) + 1 :].isalnum()]
            if folders:
                time.sleep(0.15)
                return not (folders[0] / "stage.json").is_file() and process.poll() is None
            time.sleep(0.01)
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the study."""
    path = tmp_path_factory.mktemp("study") / "seconds.toml"
    path.write_text(_STUDY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed(study: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Where the study lies that nobody disturbed, and what it found."""
    directory = tmp_path_factory.mktemp("undisturbed")
    return directory, _finish(study, directory)


@pytest.mark.slow
def test_every_stage_is_done_once(study: Path, undisturbed: tuple[Path, dict[str, Any]]) -> None:
    """Each stage has a folder of its own, and repeating the command shows the same without doing any of them again."""
    directory, found = undisturbed
    names = {one.name.rpartition("-")[0] for one in directory.iterdir() if one.is_dir()}
    assert names == set(_STAGES)
    assert [one["name"] for one in found["columns"]] == ["after", "recovery 1"]
    (contrast,) = found["contrasts"]
    assert (contrast["first"], contrast["second"]) == ("after", "recovery 1")
    assert "workflow.success" in contrast["differences"]
    (_, second) = found["results"]["trained"]
    assert second["recovered"]["differed"] <= second["recovered"]["trials"] == 4
    times = {path: path.stat().st_mtime_ns for path in directory.glob("*/stage.json")}
    assert _timeless(_finish(study, directory)) == _timeless(found)
    assert {path: path.stat().st_mtime_ns for path in directory.glob("*/stage.json")} == times


@pytest.mark.slow
def test_what_is_measured_otherwise_trains_nothing_anew(
    study: Path, undisturbed: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Other protocols, another way of serving, more evaluation tasks: the stages that hang on these are done, no other."""
    shutil.copytree(undisturbed[0], tmp_path / "again")
    other = tmp_path / study.name
    text = study.read_text(encoding="utf-8").replace("[ask]\n", '[ask]\nprotocols = ["strict"]\nconcurrency = 1\n')
    other.write_text(text, encoding="utf-8")
    assert _new_stages(other, undisturbed[0], tmp_path / "again") == {"after-recorded"}
    other.write_text(text.replace("[ask]\n", '[ask]\nserved = "hf"\ntrials = 2\n'), encoding="utf-8")
    assert _new_stages(other, undisturbed[0], tmp_path / "again") == {"after-recorded", "after-live", "recovery-1-live"}
    shutil.copytree(undisturbed[0], tmp_path / "more")
    text = study.read_text(encoding="utf-8").replace('seed=2"\neach = 1', 'seed=2"\neach = 2')
    other.write_text(text, encoding="utf-8")
    new = _new_stages(other, undisturbed[0], tmp_path / "more")
    assert {"evaluate-tasks", "examples", "after-live", "recovery-1-recorded"} <= new
    assert not {"train-tasks", "train-teacher", "training", "recovery-1-trials", "recovery-1-training"} & new


def _new_stages(study: Path, before: Path, directory: Path) -> set[str]:
    """The stages that a study does which another one, in a copy of whose directory it runs, has not done."""
    _finish(study, directory)
    known = {one.name for one in before.iterdir()}
    return {one.name.rpartition("-")[0] for one in directory.iterdir() if one.is_dir() and one.name not in known}


@pytest.mark.slow
def test_a_kill_in_any_stage_changes_nothing(
    study: Path, undisturbed: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Killed without warning in every stage in turn, and begun again each time, the study ends with equal figures."""
    killed = [stage for stage in _STAGES if _killed_in(study, tmp_path / "again", stage)]
    assert len(killed) >= len(_STAGES) // 2, f"only in {killed}"
    assert _timeless(_finish(study, tmp_path / "again")) == _timeless(undisturbed[1])
