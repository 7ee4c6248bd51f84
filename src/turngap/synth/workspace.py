"""A directory in which something is made stage by stage: one SQLite file, one writer, facts that have to stay the same.

What is put is committed when the call returns, so a kill at any moment loses only work in flight, and the same command
goes on where it was. One process writes; any number may read. `turngap.synth.store` and `turngap.synth.converse.store`
say what is kept in theirs.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from turngap import config as settings
from turngap.errors import ConfigError, StoreError
from turngap.models.base import CallCache
from turngap.runs.blob import BlobError, Unpacker, pack
from turngap.runs.cache import RunCalls, create_call_table
from turngap.runs.database import Database, Kind, open_for_reading, open_for_writing
from turngap.runs.lock import WriterLock

T = TypeVar("T")

_plain: Unpacker[Any] = Unpacker(Any)


class Sort(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of directory holds, and how messages speak of it."""

    database: str
    """Name of the file."""
    lock: str
    """Name of the writer's lock."""
    kind: Kind
    """How the file is stamped."""
    held: str
    """What a directory holds: ``a synthesis``."""
    none: str
    """What an empty one holds: ``no synthesis``."""
    remedy: str
    """What writes one: ``turngap synth writes one``."""
    yet: str
    """What one that was interrupted at once holds: ``no synthesis``."""
    other: str = ""
    """What else can be done where something else is stored than is asked for."""


def create_common_tables(connection: sqlite3.Connection) -> None:
    """The tables that every workspace has: facts, and the answers of servers."""
    connection.execute("CREATE TABLE fact (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
    create_call_table(connection)


class Workspace:
    """One open directory. Subclasses name their `sort` and say what is kept."""

    sort: ClassVar[Sort]

    def __init__(self, directory: Path, database: Database) -> None:
        """Use `begin` of a subclass's ``create``, or `open`."""
        self.directory = directory
        self.calls: CallCache = RunCalls(database)
        self._database = database
        self._closing = ExitStack()

    @classmethod
    def begin(cls, directory: Path, config: msgspec.Struct, facts: dict[str, dict[str, Any]]) -> Self:
        """Begin, or go on with what the directory holds.

        Args:
            directory: made where it is missing.
            config: what is asked for; noted as it is.
            facts: what has to be the same as before, by name.

        Raises:
            StoreError: locked, damaged, or not writable. ConfigError: a fact is another; names the differences.
        """
        with ExitStack() as closing:
            if directory.is_file():
                raise StoreError(f"{directory}: is a file; name a directory with -o")
            try:
                directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{directory}: cannot be made: {error.strerror}") from None
            lock = WriterLock(directory / cls.sort.lock)
            closing.callback(lock.release)
            database = open_for_writing(directory / cls.sort.database, cls.sort.kind)
            closing.callback(database.close)
            store = cls(directory, database)
            for key, asked in facts.items():
                store.agree(key, asked)
            store.put_fact("config", config)
            store._closing = closing.pop_all()
            return store

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Read what a directory holds.

        Raises:
            StoreError: it holds nothing of the sort, or something damaged.
        """
        sort = cls.sort
        if not (directory / sort.database).is_file():
            raise StoreError(f"{directory}: holds {sort.none} (no {sort.database}); {sort.remedy}")
        database = open_for_reading(directory / sort.database, sort.kind)
        store = cls(directory, database)
        store._closing.callback(database.close)
        return store

    def close(self) -> None:
        """Give the directory back."""
        self._closing.close()

    def __enter__(self) -> Self:
        """The store, closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def agree(self, key: str, asked: dict[str, Any]) -> None:
        """Store a fact, or hold it against what is stored.

        Raises:
            ConfigError: something else is stored; names the differences.
        """
        if self._database.row("SELECT 1 FROM fact WHERE key = ?", (key,)) is None:
            self.put_fact(key, asked)
            return
        # As it would be stored, where a tuple is a list.
        found = settings.differences(_plain(pack(asked)), self._fact(key))
        if found and self._is_bound():
            raise ConfigError(
                f"{self.directory}: holds {self.sort.held} with other {key}: {'; '.join(found)}; "
                f"name another directory with -o{self.sort.other}"
            )
        if found:
            self.put_fact(key, asked)

    def put_fact(self, key: str, value: Any) -> None:
        """Commit a fact, whatever was stored before."""
        self._database.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", (key, pack(value)))

    def _is_bound(self) -> bool:
        """Whether anything was made that other facts would not fit."""
        return True

    def _fact(self, key: str) -> Any:
        row = self._database.row("SELECT body FROM fact WHERE key = ?", (key,))
        if row is None:
            raise StoreError(f"{self.directory}: holds {self.sort.yet} yet; it was interrupted before it began")
        return self._read(_plain, row[0])

    def _settings(self, kind: type[T]) -> T:
        """What was asked for last."""
        try:
            return msgspec.convert(self._fact("config"), kind)
        except msgspec.ValidationError as error:
            raise self._damaged(f"the settings: {error}") from None

    def _one(self, sql: str, parameters: tuple[Any, ...], unpack: Unpacker[T]) -> T | None:
        """The first body that a query selects; None without a row."""
        row = self._database.row(sql, parameters)
        return None if row is None else self._read(unpack, row[0])

    def _read(self, unpack: Unpacker[T], body: bytes) -> T:
        try:
            return unpack(body)
        except BlobError as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, problem: str) -> StoreError:
        return StoreError(f"{self._database.path}: damaged: {problem}; name another directory with -o")
