"""Where a synthesis keeps what it made: ``synth.sqlite`` in its directory, one row for each exploration and candidate.

What is put is committed when the call returns, so a kill at any moment loses only work in flight, and the same command
goes on where it was. One process writes; any number may read.

Non-goals: deciding what is made next (`turngap.synth.pipeline`), and writing the files that people use
(`turngap.synth.export`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from turngap import config as settings
from turngap.config import SynthConfig
from turngap.errors import ConfigError, StoreError
from turngap.models.base import CallCache
from turngap.runs.blob import BlobError, Unpacker, pack
from turngap.runs.cache import RunCalls, create_call_table
from turngap.runs.database import Database, Kind, open_for_reading, open_for_writing
from turngap.runs.lock import WriterLock
from turngap.synth.plan import Candidate, Exploration, Loss

DATABASE, LOCK = "synth.sqlite", "synth.lock"
"""The files of a synthesis that no other program needs."""

_exploration: Unpacker[Exploration | Loss] = Unpacker(Exploration | Loss)
_candidate: Unpacker[Candidate] = Unpacker(Candidate)
_plain: Unpacker[Any] = Unpacker(Any)


def _create_tables(connection: sqlite3.Connection) -> None:
    """Format 1."""
    connection.execute("CREATE TABLE fact (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
    connection.execute("CREATE TABLE exploration (position INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    connection.execute(
        "CREATE TABLE candidate (position INTEGER NOT NULL, scenario TEXT NOT NULL, kept INTEGER NOT NULL,"
        " body BLOB NOT NULL, UNIQUE (position, scenario))"
    )
    create_call_table(connection)


SYNTHESIS = Kind(noun="synthesis", application_id=0x7467736E, migrations=(_create_tables,))
"""``tgsn``."""


class SynthStore:
    """One directory of a synthesis."""

    def __init__(self, directory: Path, database: Database) -> None:
        """Use `create` or `open`."""
        self.directory = directory
        self.calls: CallCache = RunCalls(database)
        self._database = database
        self._closing = ExitStack()

    @classmethod
    def create(
        cls, directory: Path, config: SynthConfig, domain: dict[str, Any], files: Mapping[str, str] | None = None
    ) -> SynthStore:
        """Begin, or go on with what the directory holds.

        Args:
            directory: made where it is missing.
            config: what is asked for.
            domain: the domain's identity.
            files: option -> digest of the file that it names, for those that decide what is made.

        Raises:
            StoreError: locked, damaged, or not writable. ConfigError: it holds a synthesis with other settings, or of
                a domain or with files that have changed since; names the differences.
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
            database = open_for_writing(directory / DATABASE, SYNTHESIS)
            closing.callback(database.close)
            store = cls(directory, database)
            store._agree("settings", config.generation_identity())
            store._agree("files", dict(files or {}))
            store._agree("domain", domain)
            database.write("INSERT OR REPLACE INTO fact VALUES ('config', ?)", (pack(config),))
            store._closing = closing.pop_all()
            return store

    @classmethod
    def open(cls, directory: Path) -> SynthStore:
        """Read what a directory holds.

        Raises:
            StoreError: it holds no synthesis, or a damaged one.
        """
        if not (directory / DATABASE).is_file():
            raise StoreError(f"{directory}: holds no synthesis (no {DATABASE}); turngap synth writes one")
        database = open_for_reading(directory / DATABASE, SYNTHESIS)
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
    def config(self) -> SynthConfig:
        """What was asked for last."""
        try:
            return msgspec.convert(self._fact("config"), SynthConfig)
        except msgspec.ValidationError as error:
            raise self._damaged(f"the settings: {error}") from None

    @property
    def domain(self) -> dict[str, Any]:
        """The domain's identity."""
        found: dict[str, Any] = self._fact("domain")
        return found

    def put_graph(self, text: str) -> None:
        """Commit the tool graph that walks go on, as `turngap.synth.graph.ToolGraph.json` writes it."""
        self._database.write("INSERT OR REPLACE INTO fact VALUES ('graph', ?)", (pack(text),))

    def graph(self) -> str | None:
        """The tool graph that walks go on; None where none was noted, or where nothing was made with it yet."""
        row = self._database.row("SELECT body FROM fact WHERE key = 'graph' AND EXISTS (SELECT 1 FROM exploration)")
        return None if row is None else str(self._read(_plain, row[0]))

    def put_exploration(self, position: int, made: Exploration | Loss) -> None:
        """Commit what came of one exploration."""
        self._database.write("INSERT OR REPLACE INTO exploration VALUES (?, ?)", (position, pack(made)))

    def exploration(self, position: int) -> Exploration | Loss | None:
        """What came of one; None where it has not been made."""
        row = self._database.row("SELECT body FROM exploration WHERE position = ?", (position,))
        return None if row is None else self._read(_exploration, row[0])

    def explorations(self) -> Iterator[tuple[int, Exploration | Loss]]:
        """All of them, in order."""
        sql = "SELECT position, body FROM exploration WHERE position > ? ORDER BY position LIMIT ?"
        for position, body in self._database.pages(sql):
            yield position, self._read(_exploration, body)

    def put_candidate(self, position: int, candidate: Candidate) -> None:
        """Commit what one exploration came to in one scenario."""
        self._database.write(
            "INSERT OR REPLACE INTO candidate VALUES (?, ?, ?, ?)",
            (position, candidate.scenario.value, candidate.loss is None, pack(candidate)),
        )

    def candidate(self, position: int, scenario: str) -> Candidate | None:
        """What one exploration came to in one scenario; None where nobody has tried."""
        row = self._database.row("SELECT body FROM candidate WHERE position = ? AND scenario = ?", (position, scenario))
        return None if row is None else self._read(_candidate, row[0])

    def candidates(self, scenario: str) -> Iterator[tuple[int, Candidate]]:
        """All of a scenario, in the order of their explorations."""
        sql = "SELECT position, body FROM candidate WHERE scenario = ? AND position > ? ORDER BY position LIMIT ?"
        for position, body in self._database.pages(sql, (scenario,)):
            yield position, self._read(_candidate, body)

    def _agree(self, key: str, asked: dict[str, Any]) -> None:
        """Store a fact, or hold it against what is stored."""
        if self._database.row("SELECT 1 FROM fact WHERE key = ?", (key,)) is None:
            self._database.write("INSERT INTO fact VALUES (?, ?)", (key, pack(asked)))
            return
        # As it would be stored, where a tuple is a list.
        found = settings.differences(_plain(pack(asked)), self._fact(key))
        if found:
            if self._database.row("SELECT 1 FROM exploration LIMIT 1") is None:
                # Nothing was made with the other settings: they were refused for a slip of the pen, it may be.
                self._database.write("UPDATE fact SET body = ? WHERE key = ?", (pack(asked), key))
                return
            raise ConfigError(
                f"{self.directory}: holds a synthesis with other {key}: {'; '.join(found)}; "
                "name another directory with -o, or use what is stored"
            )

    def _fact(self, key: str) -> Any:
        row = self._database.row("SELECT body FROM fact WHERE key = ?", (key,))
        if row is None:
            raise StoreError(f"{self.directory}: holds no synthesis yet; it was interrupted before it began")
        return self._read(_plain, row[0])

    def _read(self, unpack: Unpacker[Any], body: bytes) -> Any:
        try:
            return unpack(body)
        except BlobError as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, problem: str) -> StoreError:
        return StoreError(f"{self._database.path}: damaged: {problem}; name another directory with -o")
