"""Where conversations in the making are kept: ``converse.sqlite`` in their directory, one row for each finished stage.

A scenario, a talk and each judge's opinion are rows of their own, committed when the call returns, so a kill at any
moment loses only work in flight, and other judges can be asked about the same conversations. An opinion is kept under
the judge's identity. One process writes; any number may read.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from turngap import config as settings
from turngap.config import ConverseConfig
from turngap.data import Failure, Trajectory
from turngap.errors import ConfigError, StoreError
from turngap.models.base import CallCache
from turngap.runs.blob import BlobError, Unpacker, pack
from turngap.runs.cache import RunCalls, create_call_table
from turngap.runs.database import Database, Kind, open_for_reading, open_for_writing
from turngap.runs.lock import WriterLock
from turngap.synth.converse.review import Opinion
from turngap.synth.converse.situation import Lost, Situation

DATABASE, LOCK = "converse.sqlite", "converse.lock"
"""The files that no other program needs."""

T = TypeVar("T")

_situation: Unpacker[Situation | Lost] = Unpacker(Situation | Lost)
_talk: Unpacker[Trajectory | Lost] = Unpacker(Trajectory | Lost)
_opinion: Unpacker[Opinion | Failure] = Unpacker(Opinion | Failure)
_plain: Unpacker[Any] = Unpacker(Any)


def _create_tables(connection: sqlite3.Connection) -> None:
    """Format 1."""
    connection.execute("CREATE TABLE fact (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
    connection.execute("CREATE TABLE situation (id TEXT PRIMARY KEY, body BLOB NOT NULL)")
    connection.execute("CREATE TABLE talk (id TEXT PRIMARY KEY, body BLOB NOT NULL)")
    connection.execute(
        "CREATE TABLE opinion (id TEXT NOT NULL, judge TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (id, judge))"
    )
    create_call_table(connection)


CONVERSATIONS = Kind(noun="set of conversations", application_id=0x74676376, migrations=(_create_tables,))
"""``tgcv``."""


class ConverseStore:
    """One directory of conversations."""

    def __init__(self, directory: Path, database: Database) -> None:
        """Use `create` or `open`."""
        self.directory = directory
        self.calls: CallCache = RunCalls(database)
        self._database = database
        self._closing = ExitStack()

    @classmethod
    def create(cls, directory: Path, config: ConverseConfig, place: dict[str, Any]) -> ConverseStore:
        """Begin, or go on with what the directory holds.

        Args:
            directory: made where it is missing.
            config: what is asked for.
            place: the desk's identity.

        Raises:
            StoreError: locked, damaged, or not writable. ConfigError: it holds conversations with other settings, or
                of a desk that has changed since; names the differences.
        """
        with ExitStack() as closing:
            if directory.is_file():
                raise StoreError(f"{directory}: is a file; name a directory with -o")
            try:
                directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{directory}: cannot be made: {error.strerror}") from None
            lock = WriterLock(directory / LOCK)
            closing.callback(lock.release)
            database = open_for_writing(directory / DATABASE, CONVERSATIONS)
            closing.callback(database.close)
            store = cls(directory, database)
            store.agree("settings", config.generation_identity())
            store.agree("place", place)
            database.write("INSERT OR REPLACE INTO fact VALUES ('config', ?)", (pack(config),))
            store._closing = closing.pop_all()
            return store

    @classmethod
    def open(cls, directory: Path) -> ConverseStore:
        """Read what a directory holds.

        Raises:
            StoreError: it holds no conversations, or damaged ones.
        """
        if not (directory / DATABASE).is_file():
            raise StoreError(f"{directory}: holds no conversations (no {DATABASE}); turngap converse writes them")
        database = open_for_reading(directory / DATABASE, CONVERSATIONS)
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

    @property
    def config(self) -> ConverseConfig:
        """What was asked for last."""
        try:
            return msgspec.convert(self._fact("config"), ConverseConfig)
        except msgspec.ValidationError as error:
            raise self._damaged(f"the settings: {error}") from None

    def agree(self, key: str, asked: dict[str, Any]) -> None:
        """Store a fact, or hold it against what is stored.

        Raises:
            ConfigError: something else is stored; names the differences.
        """
        if self._database.row("SELECT 1 FROM fact WHERE key = ?", (key,)) is None:
            self._database.write("INSERT INTO fact VALUES (?, ?)", (key, pack(asked)))
            return
        # As it would be stored, where a tuple is a list.
        found = settings.differences(_plain(pack(asked)), self._fact(key))
        if found:
            raise ConfigError(
                f"{self.directory}: holds conversations with other {key}: {'; '.join(found)}; "
                "name another directory with -o"
            )

    def set_ids(self, ids: tuple[str, ...]) -> None:
        """Commit which conversations were asked for last, in order."""
        self._database.write("INSERT OR REPLACE INTO fact VALUES ('ids', ?)", (pack(ids),))

    def ids(self) -> tuple[str, ...]:
        """The conversations that were asked for last, in order."""
        return tuple(self._fact("ids"))

    def set_judges(self, judges: tuple[tuple[str, str], ...]) -> None:
        """Commit who judges: (label, key of the identity), in order."""
        self._database.write("INSERT OR REPLACE INTO fact VALUES ('judges', ?)", (pack(judges),))

    def judges(self) -> tuple[tuple[str, str], ...]:
        """Who judges."""
        return tuple((label, key) for label, key in self._fact("judges"))

    def put_situation(self, key: str, made: Situation | Lost) -> None:
        """Commit a scenario, or why there is none."""
        self._database.write("INSERT OR REPLACE INTO situation VALUES (?, ?)", (key, pack(made)))

    def situation(self, key: str) -> Situation | Lost | None:
        """A scenario; None where it has not been made."""
        return self._one("SELECT body FROM situation WHERE id = ?", (key,), _situation)

    def put_talk(self, key: str, made: Trajectory | Lost) -> None:
        """Commit what was said, or why that was given up."""
        self._database.write("INSERT OR REPLACE INTO talk VALUES (?, ?)", (key, pack(made)))

    def talk(self, key: str) -> Trajectory | Lost | None:
        """What was said; None where nobody has talked."""
        return self._one("SELECT body FROM talk WHERE id = ?", (key,), _talk)

    def put_opinion(self, key: str, judge: str, made: Opinion | Failure) -> None:
        """Commit a judge's opinion, or why there is none; takes the place of an earlier one."""
        self._database.write("INSERT OR REPLACE INTO opinion VALUES (?, ?, ?)", (key, judge, pack(made)))

    def opinion(self, key: str, judge: str) -> Opinion | Failure | None:
        """A judge's opinion; None where it was not asked."""
        return self._one("SELECT body FROM opinion WHERE id = ? AND judge = ?", (key, judge), _opinion)

    def _one(self, sql: str, parameters: tuple[str, ...], unpack: Unpacker[T]) -> T | None:
        row = self._database.row(sql, parameters)
        return None if row is None else self._read(unpack, row[0])

    def _fact(self, key: str) -> Any:
        row = self._database.row("SELECT body FROM fact WHERE key = ?", (key,))
        if row is None:
            raise StoreError(f"{self.directory}: holds no conversation yet; it was interrupted before it began")
        return self._read(_plain, row[0])

    def _read(self, unpack: Unpacker[T], body: bytes) -> T:
        try:
            return unpack(body)
        except BlobError as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, problem: str) -> StoreError:
        return StoreError(f"{self._database.path}: damaged: {problem}; name another directory with -o")
