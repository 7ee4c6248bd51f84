"""The search index of one run: a file of its own in turngap's cache folder, never in the run directory.

It holds one row a unit (`turngap.web.entry`) and the words of all messages in SQLite's full-text index. Filters are
answered from memory (`turngap.web.columns`), words and shown rows from the file. The index can be deleted at any time:
it is made again from the run, and so is one that is damaged or of another format.

One thread writes (`turngap.web.indexing`); any number read, each call with a connection of its own.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import StoreError
from turngap.runs.database import Database, Kind, open_for_reading, open_for_writing
from turngap.web.columns import NUMBERS, Bits, Columns, Raw
from turngap.web.entry import Entry

BEGIN_MARK, END_MARK = "\x02", "\x03"
"""Around found words in what `Index.shown` gives."""
_AROUND = 14  # words of a found passage
_KEPT = 16  # answers to searches that are remembered
_UNWRITTEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_IDEOGRAPHS = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
_INVISIBLE = "\u200b"

_UNIT = """
CREATE TABLE unit (
    number INTEGER PRIMARY KEY, item TEXT NOT NULL, trial INTEGER NOT NULL, title TEXT NOT NULL, scenario TEXT NOT NULL,
    detail TEXT NOT NULL, length INTEGER NOT NULL, first_error INTEGER, steps INTEGER NOT NULL, seconds REAL NOT NULL,
    tokens INTEGER NOT NULL, results BLOB NOT NULL, terms BLOB NOT NULL, found BLOB,
    UNIQUE (item, trial)
)
"""
_TABLES = (
    "CREATE TABLE fact (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE term (number INTEGER PRIMARY KEY, facet TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (facet, value))",
    _UNIT,
    "CREATE VIRTUAL TABLE words USING fts5(recorded, own, tokenize='unicode61 remove_diacritics 2')",
)
# `results` has a letter for each protocol; `terms` the numbers of the unit's terms, `found` of those that detectors
# add, NULL where they have not looked yet.
_SHOWN = "item, trial, title, scenario, detail, length, first_error, steps, seconds, tokens, results"
_TERMS = "SELECT number, facet, value FROM term"
_COLUMNS = f"SELECT number, results, terms, ifnull(found, x''), {', '.join(NUMBERS)} FROM unit ORDER BY number"  # noqa: S608 - names


def _create(connection: sqlite3.Connection) -> None:
    for table in _TABLES:
        connection.execute(table)


INDEX = Kind(noun="search index", application_id=0x74677669, migrations=(_create,))
"""``tgvi``."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list."""

    item: str
    trial: int | None
    title: str
    scenario: str
    detail: str
    length: int
    first_error: int | None
    steps: int
    seconds: float
    tokens: int
    results: str
    """One letter for each protocol of the run."""
    found: tuple[str, bool] | None = None
    """Where words were looked for: the passage around them with marks, and whether the model said it itself."""


class Index:
    """One file."""

    def __init__(self, path: Path, protocols: tuple[str, ...]) -> None:
        """`protocols` are those that can say something of the run's units, in the order of tables."""
        self.path = path
        self.protocols = protocols
        self._columns = Columns(0, protocols, Raw([], [], [], {name: [] for name in NUMBERS}), {})
        self._answers: OrderedDict[tuple[int, str], Bits] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def columns(self) -> Columns:
        """The latest published moment."""
        return self._columns

    def reload(self) -> None:
        """Let readers see what is in the file now."""
        database = open_for_reading(self.path, INDEX)
        try:
            rows = database.rows(_COLUMNS)
            names = {number: (facet, value) for number, facet, value in database.rows(_TERMS)}
        finally:
            database.close()
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * (4 + len(NUMBERS))
        numbers, results, terms, found, *values = columns
        both = [one + other for one, other in zip(terms, found, strict=True)]
        raw = Raw(numbers, results, both, dict(zip(NUMBERS, values, strict=True)))
        self._columns = Columns(self._columns.version + 1, self.protocols, raw, names)

    def stamp(self) -> tuple[int, ...]:
        """Something that changes with the file."""
        found: list[int] = []
        for end in ("", "-wal"):
            try:
                stat = self.path.with_name(self.path.name + end).stat()
            except OSError:
                continue
            found += (stat.st_mtime_ns, stat.st_size)
        return tuple(found)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open the file for the one thread that writes; one that cannot be used is made anew.

        Raises:
            StoreError: no file can be made there.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path.parent}: cannot be made: {error.strerror}") from None
        try:
            database = open_for_writing(self.path, INDEX)
        except StoreError:
            self._remove()
            database = open_for_writing(self.path, INDEX)
        try:
            yield Writer(database)
        finally:
            database.close()

    def search(self, columns: Columns, expression: str) -> Bits:
        """The units that hold words.

        Args:
            columns: the moment that is asked about.
            expression: see `turngap.web.query.expression`.
        """
        key = (columns.version, expression)
        with self._lock:
            known = self._answers.get(key)
        if known is not None:
            return known
        rows = self._read("SELECT rowid FROM words WHERE words MATCH ?", (expression,))
        found = columns.among([row[0] for row in rows])
        with self._lock:
            self._answers[key] = found
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return found

    def by_id(self) -> list[int]:
        """Keys of all units in the order of their ids."""
        return [row[0] for row in self._read("SELECT number FROM unit ORDER BY item, trial")]

    def number_of(self, item: str, trial: int) -> int | None:
        """The key of a unit."""
        rows = self._read("SELECT number FROM unit WHERE item = ? AND trial = ?", (item, trial))
        return rows[0][0] if rows else None

    def shown(self, numbers: Sequence[int], expression: str = "") -> list[Shown]:
        """The rows with these keys, in that order; with the passages that an expression finds."""
        marks = ",".join("?" * len(numbers))
        sql = f"SELECT number, {_SHOWN} FROM unit WHERE number IN ({marks})"  # noqa: S608 - names and question marks
        rows = {row[0]: row[1:] for row in self._read(sql, numbers)}
        passages = self._passages(numbers, expression) if expression else {}
        return [_row(rows[number], passages.get(number)) for number in numbers if number in rows]

    def _passages(self, numbers: Sequence[int], expression: str) -> dict[int, tuple[str, bool]]:
        """Of each column the best passage; what the model said itself only where the recording holds nothing."""
        marks = ",".join("?" * len(numbers))
        parts = ", ".join(f"snippet(words, {at}, ?, ?, '…', {_AROUND})" for at in (0, 1))
        # One pass over what matches between the outermost rows. Without the plus it would be one for each row, and each
        # would put together anew what a beginning stands for.
        sql = (
            f"SELECT rowid, {parts} FROM words"  # noqa: S608 - numbers and question marks
            f" WHERE words MATCH ? AND rowid BETWEEN ? AND ? AND +rowid IN ({marks})"
        )
        given = (*(BEGIN_MARK, END_MARK) * 2, expression, min(numbers), max(numbers), *numbers)
        found = {}
        for number, recorded, own in self._read(sql, given):
            held = BEGIN_MARK in (recorded or "")
            found[number] = (recorded if held else own or "", not held)
        return found

    def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        database = open_for_reading(self.path, INDEX)
        try:
            return database.rows(sql, parameters)
        finally:
            database.close()

    def _remove(self) -> None:
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)


class Writer:
    """The index as its one writer has it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        rows = database.rows(_TERMS)
        self._terms = {(facet, value): number for number, facet, value in rows}

    def fact(self, key: str) -> bytes | None:
        """A small fact."""
        row = self._database.row("SELECT body FROM fact WHERE key = ?", (key,))
        return None if row is None else row[0]

    def set_fact(self, key: str, value: Any) -> None:
        """Keep a small fact, as JSON."""
        self._database.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", (key, jsonio.encode(value)))

    def put(self, entries: Iterable[tuple[int, Entry, str]], facts: Mapping[str, Any]) -> None:
        """Write units with their keys and results, and facts, in one transaction; earlier ones are replaced."""
        with self._database.transaction():
            for number, entry, results in entries:
                pairs = [("tool", name) for name in entry.tools]
                pairs += [("category", name) for name in entry.categories]
                pairs += [("scenario", entry.scenario)] if entry.scenario else []
                self._database.write(
                    "INSERT OR REPLACE INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                    (
                        number,
                        entry.item,
                        entry.trial,
                        *map(_safe, (entry.title, entry.scenario, entry.detail)),
                        entry.length,
                        entry.first_error,
                        entry.steps,
                        entry.seconds,
                        entry.tokens,
                        results.encode(),
                        self._numbered(pairs),
                    ),
                )
                self._database.write(
                    "INSERT OR REPLACE INTO words (rowid, recorded, own) VALUES (?, ?, ?)",
                    (number, split(_safe(entry.recorded)), split(_safe(entry.own))),
                )
            for key, value in facts.items():
                self.set_fact(key, value)

    def put_found(self, found: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Write what detectors found in units, by key."""
        with self._database.transaction():
            for number, names in found:
                body = self._numbered([("category", name) for name in names])
                self._database.write("UPDATE unit SET found = ? WHERE number = ?", (body, number))

    def put_results(self, changed: Iterable[tuple[int, str]], facts: Mapping[str, Any]) -> None:
        """Write what protocols say of units, by key, and facts, in one transaction."""
        with self._database.transaction():
            self._database.write_many(
                "UPDATE unit SET results = ? WHERE number = ?",
                ((results.encode(), number) for number, results in changed),
            )
            for key, value in facts.items():
                self.set_fact(key, value)

    def results(self) -> dict[int, str]:
        """What protocols say of every unit, by key."""
        return {number: body.decode() for number, body in self._database.rows("SELECT number, results FROM unit")}

    def unseen(self, letters: str, at: int) -> list[tuple[int, str]]:
        """Key and item of the units that no detector has looked at, with one of these letters for a protocol."""
        sql = "SELECT number, item FROM unit WHERE found IS NULL AND instr(?, substr(CAST(results AS TEXT), ?, 1)) > 0"
        return [(number, item) for number, item in self._database.rows(sql, (letters, at + 1))]

    def clear(self) -> None:
        """Forget everything: the run is another one now."""
        with self._database.transaction():
            for table in ("unit", "words", "fact"):
                self._database.write(f"DELETE FROM {table}")  # noqa: S608 - names of this function

    def _numbered(self, pairs: Sequence[tuple[str, str]]) -> bytes:
        numbers = []
        for facet, value in pairs:
            pair = (facet, _safe(value))
            number = self._terms.get(pair)
            if number is None:
                number = len(self._terms) + 1
                self._database.write("INSERT INTO term VALUES (?, ?, ?)", (number, *pair))
                self._terms[pair] = number
            numbers.append(number.to_bytes(4, "little"))
        return b"".join(numbers)


def split(text: str) -> str:
    """Text as words: signs of scripts that put no space between words are words of their own."""
    return _IDEOGRAPHS.sub(rf"{_INVISIBLE}\1{_INVISIBLE}", text)


def _safe(text: str) -> str:
    """Text without what SQLite cannot hold, and without the signs that mark found words."""
    return _UNWRITTEN.sub(" ", jsonio.clean(text))


def _row(columns: tuple[Any, ...], found: tuple[str, bool] | None) -> Shown:
    item, trial, title, scenario, detail, length, first_error, steps, seconds, tokens, results = columns
    return Shown(
        item=item,
        trial=None if trial < 0 else trial,
        title=title,
        scenario=scenario,
        detail=detail,
        length=length,
        first_error=first_error,
        steps=steps,
        seconds=seconds,
        tokens=tokens,
        results=results.decode(),
        found=found,
    )
