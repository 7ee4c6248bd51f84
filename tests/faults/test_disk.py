"""Disks that are full or cannot be written. Each test gets a small file system of its own in a private mount."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_COMMON = """
import os, sys
from pathlib import Path
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import AssistantMessage, Conversation, Prediction, UserMessage
from turngap.errors import StoreError
from turngap.runs import RunStore

disk = Path(sys.argv[1])
config = EvalConfig(data=DataConfig(paths=("x",)), model=ModelConfig(spec="openai/pelican"))
data = [Conversation(id=f"c{n}", messages=(UserMessage(content="hi"), AssistantMessage(content="yo"))) for n in range(5)]

def unit(number):
    return Prediction(message=AssistantMessage(content=f"{number} " + os.urandom(900).hex()))
"""

_WRITE = (
    _COMMON
    + """
store = RunStore.create(disk / "run", config)
store.add_conversations(data)
store.put_prediction("c0", 0, unit(0))
if sys.argv[2] == "closed":
    store.close()
else:
    os.kill(os.getpid(), 9)
"""
)

_READ = (
    _COMMON
    + """
with RunStore.open(disk / "run") as store:
    print(len(store.conversation_ids()), store.count_predictions().good, store.state())
try:
    RunStore.open(disk / "run", write=True)
except StoreError as error:
    print(error)
"""
)

_FILL = (
    _COMMON
    + """
(disk / "ballast").write_bytes(os.urandom(2_000_000))
done = []
with RunStore.create(disk / "run", config) as store:
    store.add_conversations(data)
    try:
        for number in range(100_000):
            result = unit(number)
            store.put_prediction("c0", number, result)
            done.append(result)
    except StoreError as error:
        print(error)
    assert list(store.predictions("c0").values()) == done
with RunStore.open(disk / "run") as store:
    assert list(store.predictions("c0").values()) == done
try:
    with RunStore.create(disk / "run", config) as store:
        store.add_conversations(data)
        for number in range(1000):
            store.put_prediction("c1", number, unit(number))
            done.append(None)
except StoreError as error:
    print(error)
(disk / "ballast").unlink()
with RunStore.create(disk / "run", config) as store:
    store.add_conversations(data)
    for number in range(50):
        store.put_prediction("c2", number, unit(number))
import sqlite3
print(sqlite3.connect(disk / "run" / "run.sqlite").execute("PRAGMA integrity_check").fetchone()[0])
with RunStore.open(disk / "run") as store:
    print(len(done) > 100, store.count_predictions().good == len(done) + 50)
"""
)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A mount point; skips where private mounts are not permitted."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare` here")
    trial = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", tmp_path], capture_output=True, check=False, timeout=30
    )
    if trial.returncode:
        pytest.skip("private mounts are not permitted here")
    return tmp_path


def _on_small_disk(disk: Path, *steps: str) -> str:
    """Run shell lines in a private mount namespace with a 4 MiB disk; `python` stands for this interpreter."""
    script = "\n".join(["mount -t tmpfs -o size=4m none $DISK", *steps]).replace("python", sys.executable)
    result = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"DISK": str(disk), "WRITE": _WRITE, "READ": _READ, "FILL": _FILL, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
    )
    return result.stdout + result.stderr


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_read_only_file_system(disk: Path, end: str) -> None:
    """RUN-03: a run on a read-only file system opens for reading, also when its writer was killed; writing is refused."""
    said = _on_small_disk(
        disk,
        f'python -c "$WRITE" $DISK {end}',
        "mount -o remount,ro $DISK",
        'python -c "$READ" $DISK',
    ).splitlines()
    said = [line for line in said if line != "Killed"]  # what the shell has to say about it
    assert said[0] == "5 1 interrupted"
    assert said[1].endswith("cannot be written: Read-only file system")
    assert len(said) == 2


def test_full_disk(disk: Path) -> None:
    """RUN-03: a full disk is one line, harms nothing that is stored, and the run goes on when there is space again."""
    said = _on_small_disk(disk, 'python -c "$FILL" $DISK').splitlines()
    assert "the disk is full; what is stored is safe: free some space" in said[0]
    assert len(said) == 4, said
    assert said[2:] == ["ok", "True True"]


_LIMITED = (
    _COMMON
    + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
done = []
with RunStore.create(disk / "run", config) as store:
    store.add_conversations(data)
    try:
        for number in range(10_000):
            result = unit(number)
            store.put_prediction("c0", number, result)
            done.append(result)
    except StoreError as error:
        print(error)
with RunStore.open(disk / "run") as store:
    print(len(done) > 20, list(store.predictions("c0").values()) == done)
"""
)


def test_refused_writes(tmp_path: Path) -> None:
    """A quota that refuses writes is one line as well, and what was stored is there."""
    result = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    said = (result.stdout + result.stderr).splitlines()
    assert "what is stored is safe" in said[0]
    assert said[1:] == ["True True"]
