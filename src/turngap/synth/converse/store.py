"""Where conversations in the making are kept: ``converse.sqlite`` in their directory, one row for each finished stage.

A scenario, a talk and each judge's opinion are rows of their own, committed when the call returns, so a kill at any
moment loses only work in flight, and other judges can be asked about the same conversations. An opinion is kept under
the judge's identity. One process writes; any number may read.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from turngap.config import ConverseConfig
from turngap.data import Failure, Trajectory
from turngap.runs.blob import Unpacker, pack
from turngap.runs.database import Kind
from turngap.synth.converse.review import Opinion
from turngap.synth.converse.situation import Lost, Situation
from turngap.synth.workspace import Sort, Workspace, create_common_tables

DATABASE, LOCK = "converse.sqlite", "converse.lock"
"""The files that no other program needs."""

_situation: Unpacker[Situation | Lost] = Unpacker(Situation | Lost)
_talk: Unpacker[Trajectory | Lost] = Unpacker(Trajectory | Lost)
_opinion: Unpacker[Opinion | Failure] = Unpacker(Opinion | Failure)


def _create_tables(connection: sqlite3.Connection) -> None:
    """Format 1."""
    create_common_tables(connection)
    connection.execute("CREATE TABLE situation (id TEXT PRIMARY KEY, body BLOB NOT NULL)")
    connection.execute("CREATE TABLE talk (id TEXT PRIMARY KEY, body BLOB NOT NULL)")
    connection.execute(
        "CREATE TABLE opinion (id TEXT NOT NULL, judge TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (id, judge))"
    )


CONVERSATIONS = Kind(noun="set of conversations", application_id=0x74676376, migrations=(_create_tables,))
"""``tgcv``."""


class ConverseStore(Workspace):
    """One directory of conversations."""

    sort = Sort(
        database=DATABASE,
        lock=LOCK,
        kind=CONVERSATIONS,
        held="conversations",
        none="no conversations",
        remedy="turngap converse writes them",
        yet="no conversation",
    )

    @classmethod
    def create(cls, directory: Path, config: ConverseConfig, place: dict[str, Any]) -> ConverseStore:
        """Begin, or go on with what the directory holds; raises as `Workspace.begin`.

        Args:
            directory: made where it is missing.
            config: what is asked for.
            place: the desk's identity.
        """
        return cls.begin(directory, config, {"settings": config.generation_identity(), "place": place})

    @property
    def config(self) -> ConverseConfig:
        """What was asked for last."""
        return self._settings(ConverseConfig)

    def set_ids(self, ids: tuple[str, ...]) -> None:
        """Commit which conversations were asked for last, in order."""
        self.put_fact("ids", ids)

    def ids(self) -> tuple[str, ...]:
        """The conversations that were asked for last, in order."""
        return tuple(self._fact("ids"))

    def set_judges(self, judges: tuple[tuple[str, str], ...]) -> None:
        """Commit who judges: (label, key of the identity), in order."""
        self.put_fact("judges", judges)

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
