"""SQLite as turngap uses it: one stamped file in WAL mode, every statement its own commit, every error one line.

WAL with ``synchronous=NORMAL`` means: a kill of the process at any moment loses nothing that was committed, readers
never block the writer, and a commit costs microseconds. A power cut may lose the last commits but leaves a sound file.

The stamp is SQLite's own: `application_id` says whose file it is, `user_version` which format. Formats are reached by
small named migrations, applied in order when a file is opened for writing.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from turngap.errors import StoreError

Migration = Callable[[sqlite3.Connection], None]

_PAGE = 512
_PAUSE = 0.01  # seconds between two tries of a step for which SQLite itself does not wait


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file: how it is stamped, and how it came to its present format."""

    noun: str
    """What a message calls it, e.g. ``run``."""
    application_id: int
    """Four bytes that mark the file as ours."""
    migrations: tuple[Migration, ...]
    """The n-th brings a file of format n to format n + 1; format 0 is an empty file."""
    bridges: dict[int, Migration] = {}
    """Older format -> what lets a reader take such a file for one of the present format, by temporary tables alone."""

    @property
    def format(self) -> int:
        """The format that this version writes."""
        return len(self.migrations)


class Database:
    """One open file. Not shared between threads."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Execute one statement and, outside a transaction, commit it; returns the number of changed rows."""
        try:
            return self._connection.execute(sql, parameters).rowcount
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute one statement for each row, which may be generated on the way. Meant for inside a transaction."""
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row, or None."""
        try:
            found: tuple[Any, ...] | None = self._connection.execute(sql, parameters).fetchone()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        return found

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows at once; for few or small ones."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def pages(self, sql: str, parameters: Sequence[Any] = (), *, size: int = _PAGE) -> Iterator[tuple[Any, ...]]:
        """Stream rows, `size` at a time, with no statement left open between them.

        `sql` selects an ascending integer first and has two further parameters at its end: that integer's exclusive
        lower bound, and the page size. An open statement would hold back the WAL and see half of later writes.
        """
        after = -1
        while True:
            page = self.rows(sql, (*parameters, after, size))
            yield from page
            if len(page) < size:
                return
            after = page[-1][0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing: commits at the end, rolls back on any exception."""
        self.write("BEGIN IMMEDIATE")
        try:
            yield
            self.write("COMMIT")
        finally:
            # SQLite itself has rolled back after some errors (a full disk), and a commit has ended it.
            if self._connection.in_transaction:
                self.write("ROLLBACK")

    def close(self) -> None:
        """Close the file; the last one to close it folds the WAL back into it."""
        self._connection.close()


def open_for_writing(path: Path, kind: Kind, *, busy: float = 5.0) -> Database:
    """Open or create a file and bring it to the present format.

    Args:
        path: the file; its folder exists.
        kind: what it has to be.
        busy: seconds to wait while another process writes.

    Raises:
        StoreError: not such a file, damaged, of a newer format, not writable, or no space.
    """
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=busy)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    try:
        version = _check(connection, path, kind)
        _use_wal(connection, busy)
        connection.execute("PRAGMA synchronous=NORMAL")
        if version < kind.format:
            _migrate(connection, kind)
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except StoreError:
        connection.close()
        raise
    return Database(connection, path)


def _use_wal(connection: sqlite3.Connection, busy: float) -> None:
    """Turn WAL on, also while other processes do so: for this one step SQLite does not wait as it is told to."""
    deadline = time.monotonic() + busy
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return


def open_for_reading(path: Path, kind: Kind) -> Database:
    """Open an existing file for queries only, also while another process writes it, also on a read-only file system.

    Raises:
        StoreError: not such a file, damaged, or of another format.
    """
    try:
        # Not mode=ro: such a reader leaves a WAL and its index behind, where this one cleans up after itself.
        return _open_reading(path, kind, "mode=rw")
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise explain(error, path) from error
        if _has_wal(path):
            raise StoreError(
                f"{path}: its last writes lie in {path.name}-wal and cannot be read here; "
                "copy the whole directory to a place that can be written"
            ) from error
    try:
        return _open_reading(path, kind, "mode=ro&immutable=1")
    except sqlite3.Error as error:
        raise explain(error, path) from error


def _open_reading(path: Path, kind: Kind, options: str) -> Database:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None, timeout=5.0)
    try:
        version = _check(connection, path, kind)
        if version in kind.bridges:
            kind.bridges[version](connection)
        else:
            _require_present_format(version, path, kind)
        connection.execute("PRAGMA query_only=ON")
    except BaseException:
        connection.close()
        raise
    return Database(connection, path)


def _require_present_format(version: int, path: Path, kind: Kind) -> None:
    if version == 0:
        raise StoreError(f"{path}: holds no {kind.noun} yet; it was interrupted before it began")
    if version < kind.format:
        raise StoreError(
            f"{path}: {kind.noun} of format {version}; open it once for writing (resume it) to bring it to "
            f"format {kind.format}"
        )


def _has_wal(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False


def _check(connection: sqlite3.Connection, path: Path, kind: Kind) -> int:
    """The file's format; 0 for a file without any content."""
    # One transaction, hence one moment: another process may just be making the file.
    connection.execute("BEGIN")
    try:
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    if owner != kind.application_id and (owner or version or tables):
        raise StoreError(f"{path}: is an SQLite file of something else, not a {kind.noun}")
    if version > kind.format:
        raise StoreError(
            f"{path}: {kind.noun} of format {version}, made by a newer turngap; this one reads up to format "
            f"{kind.format}: upgrade turngap"
        )
    return version


def _migrate(connection: sqlite3.Connection, kind: Kind) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the write lock: another process may just have done it.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for number, migration in enumerate(kind.migrations[version:], start=version + 1):
            migration(connection)
            connection.execute(f"PRAGMA user_version={number}")
        connection.execute(f"PRAGMA application_id={kind.application_id}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


_SAFE = "what is stored is safe"


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """One line for the person in place of SQLite's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            problem = f"the disk is full; {_SAFE}: free some space and run the same command again"
        case sqlite3.SQLITE_IOERR:
            problem = (
                f"the disk refused to read or write ({error}); {_SAFE} unless the disk itself is bad: look for space"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            problem = f"the file is damaged or no SQLite file ({error})"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            problem = "another process keeps it locked; try again when it is done"
        case sqlite3.SQLITE_READONLY:
            problem = f"cannot be written ({error})"
        case sqlite3.SQLITE_CANTOPEN:
            problem = "cannot be opened; does the directory exist, and may it be written?"
        case _:
            problem = str(error)
    return StoreError(f"{path}: {problem}")
