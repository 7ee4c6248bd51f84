"""One process writes a run: a lock that the system itself gives back when the process dies, also by kill -9.

The lock is on the open file, not in its content; the content (a process id) only serves the message that a second
writer gets. The file stays when the lock is released: removing it would let two writers lock two files of one name.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from turngap.errors import StoreError

_TRIES = 5
_PAUSE = 0.05  # seconds; somebody who only asks (`is_held`) holds the lock for microseconds


class WriterLock:
    """The right to write one directory; held from construction to `release`."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            StoreError: another process has it (the message says which), or the file cannot be opened or locked.
        """
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"{path.parent}: cannot be written: {error.strerror}") from None
        try:
            self._acquire(path)
        except StoreError:
            os.close(self._descriptor)
            raise
        self._sign(f"{os.getpid()}\n")

    def release(self) -> None:
        """Give the lock back. Harmless when repeated."""
        if self._descriptor >= 0:
            self._sign("")
            os.close(self._descriptor)
            self._descriptor = -1

    def _acquire(self, path: Path) -> None:
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if left:
                    time.sleep(_PAUSE)
            except OSError as error:
                raise StoreError(f"{path}: this file system cannot lock files: {error.strerror}") from None
            else:
                return
        owner = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
        who = f"process {owner}" if owner else "another process"
        raise StoreError(f"{path.parent}: {who} is writing this run; wait for it, or name another directory")

    def _sign(self, text: str) -> None:
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)
        except OSError:
            return  # a full disk: the lock holds all the same, only the message to others names nobody


def is_held(path: Path) -> bool:
    """Whether some process holds the lock. Asks without writing, so it works on read-only media."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
