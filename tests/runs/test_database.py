"""SQLite underneath: stamps, migrations, transactions, streaming, one line for every error."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from turngap.errors import StoreError
from turngap.runs.database import Database, Kind, explain, open_for_reading, open_for_writing


def _first(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE bird (number INTEGER PRIMARY KEY, name TEXT)")
    connection.execute("INSERT INTO bird VALUES (0, 'heron')")


def _second(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE bird ADD COLUMN legs INTEGER NOT NULL DEFAULT 2")


def _broken(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM bird")
    connection.execute("nonsense")


ONE = Kind(noun="aviary", application_id=77, migrations=(_first,))
TWO = Kind(noun="aviary", application_id=77, migrations=(_first, _second))
BROKEN = Kind(noun="aviary", application_id=77, migrations=(_first, _broken))


def test_migrations_run_once_in_order(tmp_path: Path) -> None:
    """A file of format 1 becomes format 2 when it is opened for writing, and keeps its rows."""
    path = tmp_path / "a.sqlite"
    open_for_writing(path, ONE).close()
    with pytest.raises(StoreError, match="aviary of format 1; open it once for writing"):
        open_for_reading(path, TWO)
    for _ in range(2):
        database = open_for_writing(path, TWO)
        assert database.rows("SELECT * FROM bird") == [(0, "heron", 2)]
        database.close()
    with pytest.raises(StoreError, match="format 2, made by a newer turngap"):
        open_for_writing(path, ONE)


def test_failed_migration_changes_nothing(tmp_path: Path) -> None:
    """A migration that fails leaves the file in its old format with its rows."""
    path = tmp_path / "a.sqlite"
    open_for_writing(path, ONE).close()
    with pytest.raises(StoreError, match="syntax error"):
        open_for_writing(path, BROKEN)
    database = open_for_reading(path, ONE)
    assert database.rows("SELECT * FROM bird") == [(0, "heron")]
    database.close()


def _write_and_fail(database: Database) -> None:
    with database.transaction():
        database.write("INSERT INTO bird VALUES (1, 'wren')")
        raise ZeroDivisionError


def test_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    """An exception inside takes everything back; the database works on."""
    database = open_for_writing(tmp_path / "a.sqlite", ONE)
    with pytest.raises(ZeroDivisionError):
        _write_and_fail(database)
    with database.transaction():
        database.write_many("INSERT INTO bird VALUES (?, ?)", ((number, "gull") for number in (2, 3)))
    assert database.rows("SELECT number FROM bird") == [(0,), (2,), (3,)]
    database.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_pages(tmp_path: Path, size: int) -> None:
    """Streaming by pages of any size yields every row once, in order, also rows added on the way."""
    database = open_for_writing(tmp_path / "a.sqlite", ONE)
    database.write_many("INSERT INTO bird VALUES (?, 'gull')", ((number,) for number in range(1, 20, 3)))
    sql = "SELECT number FROM bird WHERE number > ? ORDER BY number LIMIT ?"
    numbers = [row[0] for row in database.pages(sql, size=size)]
    assert numbers == [0, *range(1, 20, 3)]
    database.close()


def test_path_with_odd_letters(tmp_path: Path) -> None:
    """Question marks, hashes, per cent signs and spaces in a path are part of the path."""
    folder = tmp_path / "50% of #1? größer"
    folder.mkdir()
    open_for_writing(folder / "a.sqlite", ONE).close()
    open_for_reading(folder / "a.sqlite", ONE).close()
    assert [path.name for path in folder.iterdir()] == ["a.sqlite"]


def test_every_error_is_one_line(tmp_path: Path) -> None:
    """Whatever SQLite says becomes one line that begins with the path."""
    database = open_for_writing(tmp_path / "a.sqlite", ONE)
    for attempt in (
        lambda: database.write("nonsense"),
        lambda: database.row("nonsense"),
        lambda: database.rows("nonsense"),
        lambda: database.write_many("INSERT INTO bird VALUES (?, 'x')", [(0,)]),
    ):
        with pytest.raises(StoreError, match=r"a\.sqlite: ") as caught:
            attempt()
        assert "\n" not in str(caught.value)
    database.close()


def test_busy(tmp_path: Path) -> None:
    """A file that another connection keeps locked is said to be locked."""
    path = tmp_path / "a.sqlite"
    first = open_for_writing(path, ONE)
    second = open_for_writing(path, ONE, busy=0.05)
    with first.transaction(), pytest.raises(StoreError, match="another process keeps it locked"):
        second.write("INSERT INTO bird VALUES (1, 'wren')")
    first.close()
    second.close()


def test_turning_on_wal_waits_for_others(tmp_path: Path) -> None:
    """Somebody who looks at the new file for a moment does not keep it from being opened, only for too long."""
    path = tmp_path / "a.sqlite"
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    with pytest.raises(StoreError, match="another process keeps it locked"):
        open_for_writing(path, ONE, busy=0.1)
    leaving = threading.Timer(0.3, reader.execute, ["ROLLBACK"])
    leaving.start()
    open_for_writing(path, ONE, busy=20).close()
    leaving.join()
    reader.close()


def test_several_may_make_a_file_at_once(tmp_path: Path) -> None:
    """Whoever comes first makes the file; nobody sees it half made, and nobody is refused."""
    for number in range(15):
        path, start = tmp_path / f"{number}.sqlite", threading.Barrier(6)

        def make(path: Path = path, start: threading.Barrier = start) -> tuple[int, str]:
            start.wait(20)
            database = open_for_writing(path, TWO, busy=20)
            row = database.row("SELECT legs, name FROM bird")
            database.close()
            assert row is not None
            return row

        with ThreadPoolExecutor(6) as crew:
            assert {made.result(30) for made in [crew.submit(make) for _ in range(6)]} == {(2, "heron")}


def test_unknown_error_keeps_its_text() -> None:
    """An error without a code of SQLite is passed on with its text."""
    assert str(explain(sqlite3.ProgrammingError("closed"), Path("a"))) == "a: closed"
