"""Where a synthesis keeps what it made: ``synth.sqlite`` in its directory, one row for each exploration and candidate.

What is put is committed when the call returns, so a kill at any moment loses only work in flight, and the same command
goes on where it was. One process writes; any number may read.

Non-goals: deciding what is made next (`turngap.synth.pipeline`), and writing the files that people use
(`turngap.synth.export`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from turngap.config import SynthConfig
from turngap.runs.blob import Unpacker, pack
from turngap.runs.database import Kind
from turngap.synth.plan import Candidate, Exploration, Loss
from turngap.synth.workspace import Sort, Workspace, create_common_tables

DATABASE, LOCK = "synth.sqlite", "synth.lock"
"""The files of a synthesis that no other program needs."""

_exploration: Unpacker[Exploration | Loss] = Unpacker(Exploration | Loss)
_candidate: Unpacker[Candidate] = Unpacker(Candidate)
_text: Unpacker[str] = Unpacker(str)


def _create_tables(connection: sqlite3.Connection) -> None:
    """Format 1."""
    create_common_tables(connection)
    connection.execute("CREATE TABLE exploration (position INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    connection.execute(
        "CREATE TABLE candidate (position INTEGER NOT NULL, scenario TEXT NOT NULL, kept INTEGER NOT NULL,"
        " body BLOB NOT NULL, UNIQUE (position, scenario))"
    )


SYNTHESIS = Kind(noun="synthesis", application_id=0x7467736E, migrations=(_create_tables,))
"""``tgsn``."""


class SynthStore(Workspace):
    """One directory of a synthesis."""

    sort = Sort(
        database=DATABASE,
        lock=LOCK,
        kind=SYNTHESIS,
        held="a synthesis",
        none="no synthesis",
        remedy="turngap synth writes one",
        yet="no synthesis",
        other=", or use what is stored",
    )

    @classmethod
    def create(
        cls, directory: Path, config: SynthConfig, domain: dict[str, Any], files: Mapping[str, str] | None = None
    ) -> SynthStore:
        """Begin, or go on with what the directory holds; raises as `Workspace.begin`.

        Args:
            directory: made where it is missing.
            config: what is asked for.
            domain: the domain's identity.
            files: option -> digest of the file that it names, for those that decide what is made.
        """
        facts = {"settings": config.generation_identity(), "files": dict(files or {}), "domain": domain}
        return cls.begin(directory, config, facts)

    @property
    def config(self) -> SynthConfig:
        """What was asked for last."""
        return self._settings(SynthConfig)

    @property
    def domain(self) -> dict[str, Any]:
        """The domain's identity."""
        found: dict[str, Any] = self._fact("domain")
        return found

    def put_graph(self, text: str) -> None:
        """Commit the tool graph that walks go on, as `turngap.synth.graph.ToolGraph.json` writes it."""
        self.put_fact("graph", text)

    def graph(self) -> str | None:
        """The tool graph that walks go on; None where none was noted, or where nothing was made with it yet."""
        sql = "SELECT body FROM fact WHERE key = 'graph' AND EXISTS (SELECT 1 FROM exploration)"
        return self._one(sql, (), _text)

    def put_exploration(self, position: int, made: Exploration | Loss) -> None:
        """Commit what came of one exploration."""
        self._database.write("INSERT OR REPLACE INTO exploration VALUES (?, ?)", (position, pack(made)))

    def exploration(self, position: int) -> Exploration | Loss | None:
        """What came of one; None where it has not been made."""
        return self._one("SELECT body FROM exploration WHERE position = ?", (position,), _exploration)

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
        sql = "SELECT body FROM candidate WHERE position = ? AND scenario = ?"
        return self._one(sql, (position, scenario), _candidate)

    def candidates(self, scenario: str) -> Iterator[tuple[int, Candidate]]:
        """All of a scenario, in the order of their explorations."""
        sql = "SELECT position, body FROM candidate WHERE scenario = ? AND position > ? ORDER BY position LIMIT ?"
        for position, body in self._database.pages(sql, (scenario,)):
            yield position, self._read(_candidate, body)

    def _is_bound(self) -> bool:
        # With nothing made, other settings were refused for a slip of the pen, it may be.
        return self._database.row("SELECT 1 FROM exploration LIMIT 1") is not None
