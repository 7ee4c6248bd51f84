"""The writer lock: exclusive, and gone with its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from turngap.errors import StoreError
from turngap.runs.lock import WriterLock, is_held

_HOLDER = """
import sys
from pathlib import Path
from turngap.runs.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_exclusive_also_within_a_process(tmp_path: Path) -> None:
    """A second lock is refused with the owner's process id until the first is released."""
    path = tmp_path / "run.lock"
    assert not is_held(path)
    lock = WriterLock(path)
    assert is_held(path)
    with pytest.raises(StoreError, match=f"process {os.getpid()} is writing"):
        WriterLock(path)
    lock.release()
    lock.release()
    assert not is_held(path)
    WriterLock(path).release()


def test_asking_does_not_take_it(tmp_path: Path) -> None:
    """Whoever only asks leaves the lock to the next writer."""
    path = tmp_path / "run.lock"
    WriterLock(path).release()
    for _ in range(100):
        assert not is_held(path)
        WriterLock(path).release()


def test_gone_with_its_process(tmp_path: Path) -> None:
    """RUN-03: kill -9 of the holder leaves no stale lock."""
    path = tmp_path / "run.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"process {holder.pid} is writing"):
            WriterLock(path)
        holder.send_signal(signal.SIGKILL)
    assert not is_held(path)
    WriterLock(path).release()


def test_not_inherited(tmp_path: Path) -> None:
    """A program started while the lock is held does not keep it when the holder gives it back."""
    path = tmp_path / "run.lock"
    lock = WriterLock(path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        lock.release()
        assert not is_held(path)
        child.communicate(b"\n")


def test_no_folder(tmp_path: Path) -> None:
    """A lock in a folder that does not exist is one line."""
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        WriterLock(tmp_path / "none" / "run.lock")
