"""Answers of servers by the digest of the whole question; a call that was answered once is never paid for again.

A cache knows nothing of models: the key (made by the client) holds everything that can change the answer, repetition
and attempt included, so repeated trials stay independent. `RunCalls` is the one inside a run directory, `SharedCache` a
file that several runs and processes use at once, `Layered` puts one behind the other. All are
`turngap.models.base.CallCache`.

Non-goals: expiry and size limits; a cache file can simply be deleted.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

from turngap.errors import StoreError
from turngap.models.base import CallCache
from turngap.runs.database import Database, Kind, open_for_writing

_BUSY = 30.0  # seconds; another run's commit takes microseconds, its checkpoint rarely more than one second


def create_call_table(connection: sqlite3.Connection) -> None:
    """Calls by key. The first answer stays, so handing one over twice is harmless."""
    connection.execute("CREATE TABLE call (key TEXT NOT NULL UNIQUE, response BLOB NOT NULL)")


CACHE = Kind(noun="call cache", application_id=0x74676363, migrations=(create_call_table,))


class RunCalls:
    """The `call` table of an open database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> bytes | None:
        """The stored answer, or None."""
        row = self._database.row("SELECT response FROM call WHERE key = ?", (key,))
        return None if row is None else row[0]

    def put(self, key: str, response: bytes) -> None:
        """Commit an answer; where one is stored already, that one stays."""
        self._database.write("INSERT OR IGNORE INTO call VALUES (?, ?)", (key, response))

    def __len__(self) -> int:
        row = self._database.row("SELECT count(*) FROM call")
        return row[0] if row else 0


class SharedCache(RunCalls):
    """A cache file of its own that any number of processes may use at once."""

    def __init__(self, path: Path) -> None:
        """Open or create the file (and its folder).

        Raises:
            StoreError: no such file, damaged, of a newer format, or the folder cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent}: cannot be made: {error.strerror}") from None
        super().__init__(open_for_writing(path, CACHE, busy=_BUSY))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Layered:
    """Two caches, asked in turn. What the second knows is copied into the first, which so stays complete by itself."""

    def __init__(self, first: CallCache, second: CallCache) -> None:
        self._first, self._second = first, second

    def get(self, key: str) -> bytes | None:
        """The stored answer of either, or None."""
        found = self._first.get(key)
        if found is None:
            found = self._second.get(key)
            if found is not None:
                self._first.put(key, found)
        return found

    def put(self, key: str, response: bytes) -> None:
        """Commit to both."""
        self._first.put(key, response)
        self._second.put(key, response)
