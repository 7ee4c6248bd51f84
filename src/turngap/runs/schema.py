"""The tables of ``run.sqlite`` and how older files reach the present format.

A new format is a new function at the end of `RUN.migrations`; those before it never change again. Bodies are JSON
(see `blob`); columns beside them are only what queries need.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

from turngap.runs.blob import Unpacker, pack
from turngap.runs.cache import create_call_table
from turngap.runs.database import Kind

_TABLES = """
CREATE TABLE fact (
    key TEXT PRIMARY KEY, body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE note (
    key TEXT PRIMARY KEY, body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE conversation (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, body BLOB NOT NULL
);
CREATE TABLE prediction (
    conversation TEXT NOT NULL, decision INTEGER NOT NULL, errored INTEGER NOT NULL, body BLOB NOT NULL,
    UNIQUE (conversation, decision)
);
CREATE TABLE trajectory (
    conversation TEXT NOT NULL UNIQUE, errored INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE TABLE verdict (
    judge TEXT NOT NULL, protocol TEXT NOT NULL, conversation TEXT NOT NULL, decision INTEGER NOT NULL,
    key TEXT NOT NULL, errored INTEGER NOT NULL, body BLOB NOT NULL,
    UNIQUE (conversation, protocol, judge, decision)
);
CREATE TABLE score (
    number INTEGER PRIMARY KEY, scorer TEXT NOT NULL, conversation TEXT NOT NULL, decision INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (scorer, conversation, decision)
);
"""
# `fact` is what the run is (config, versions, data digest), `note` what happened to it (state, warnings). `decision` is
# -1 for a whole conversation, since SQLite does not hold NULLs to be unique.


def create_run_tables(connection: sqlite3.Connection) -> None:
    """Format 1."""
    # Not `executescript`, which would commit the transaction that the migration runs in.
    for table in _TABLES.split(";"):
        connection.execute(table)
    create_call_table(connection)


def create_horizon_table(connection: sqlite3.Connection, *, temporary: bool = False) -> None:
    """Format 2: closed loops that start at a recorded decision.

    `reach` is the largest number of decisions that the body says something about, NULL for any number.
    """
    connection.execute(
        f"CREATE {'TEMP ' if temporary else ''}TABLE horizon (conversation TEXT NOT NULL, start INTEGER NOT NULL,"
        " reach INTEGER, errored INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (conversation, start))"
    )


def count_attempts(connection: sqlite3.Connection, *, temporary: bool = False) -> None:
    """Format 3: the manifest's ``replay.retries`` (attempts after the first) became ``replay.attempts`` (all)."""
    if temporary:
        # A temporary table hides the stored one of the same name.
        connection.execute("CREATE TEMP TABLE fact AS SELECT key, body FROM main.fact")
    unpack: Unpacker[Any] = Unpacker(Any)
    for key, body in connection.execute("SELECT key, body FROM fact WHERE key = 'manifest'").fetchall():
        manifest = unpack(body)
        replay = manifest["config"].get("replay", {})
        if "retries" in replay:
            replay["attempts"] = replay.pop("retries") + 1
            connection.execute("UPDATE fact SET body = ? WHERE key = ?", (pack(manifest), key))


def _read_format_1(connection: sqlite3.Connection) -> None:
    # It has no closed loops that start at a decision: for a reader that is an empty table.
    create_horizon_table(connection, temporary=True)
    count_attempts(connection, temporary=True)


RUN = Kind(
    noun="run",
    application_id=0x74676170,
    migrations=(create_run_tables, create_horizon_table, count_attempts),
    bridges={1: _read_format_1, 2: partial(count_attempts, temporary=True)},
)
"""``tgap``."""
