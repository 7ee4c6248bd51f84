"""What was written to a run lately: for whoever follows one that is still at work, without reading it all again.

A `Position` says how far the tables had been written at some moment; whatever is written later, or written anew, stands
behind it. Scores are replaced as a whole and may then stand where earlier ones stood, so of them there are only counts.
"""

from __future__ import annotations

import msgspec

from turngap.runs.database import Database
from turngap.runs.trials import MAIN


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """How far the tables of a run have been written. The default is their beginning."""

    predictions: int = 0
    trajectories: int = 0
    trials: int = 0
    rewards: int = 0


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """The score rows of one scorer."""

    scorer: str
    count: int
    last: int
    """Number of the latest row."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one judge under one protocol."""

    protocol: str
    judge: str
    count: int
    errored: int
    """Those of them that are failures."""


class Recent:
    """The end of each table of an open run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def position(self) -> Position:
        """Where the tables end now."""
        return Position(
            predictions=self._last("prediction"),
            trajectories=self._last("trajectory"),
            trials=self._last("trial"),
            rewards=self._last("reward"),
        )

    def conversations(self, since: Position) -> set[str]:
        """The conversations with a prediction or trajectory behind a position."""
        sql = (
            "SELECT conversation FROM prediction WHERE rowid > ?"
            " UNION SELECT conversation FROM trajectory WHERE rowid > ?"
        )
        return {row[0] for row in self._database.rows(sql, (since.predictions, since.trajectories))}

    def trials(self, since: Position) -> set[tuple[str, int]]:
        """Task and number of the run's own trials that took place, or were graded, behind a position."""
        sql = (
            "SELECT task, trial FROM trial WHERE player = ? AND rowid > ?"
            " UNION SELECT task, trial FROM reward WHERE player = ? AND rowid > ?"
        )
        found = self._database.rows(sql, (MAIN, since.trials, MAIN, since.rewards))
        return {(task, trial) for task, trial in found}

    def scores(self) -> tuple[Scored, ...]:
        """How many score rows there are, by scorer."""
        sql = "SELECT scorer, count(*), max(number) FROM score GROUP BY scorer ORDER BY scorer"
        return tuple(Scored(scorer=name, count=count, last=last) for name, count, last in self._database.rows(sql))

    def verdicts(self) -> tuple[Judged, ...]:
        """How many verdicts there are, by protocol and judge."""
        sql = "SELECT protocol, judge, count(*), sum(errored) FROM verdict GROUP BY protocol, judge"
        return tuple(
            Judged(protocol=protocol, judge=judge, count=count, errored=errored)
            for protocol, judge, count, errored in self._database.rows(sql)
        )

    def _last(self, table: str) -> int:
        row = self._database.row(f"SELECT max(rowid) FROM {table}")  # noqa: S608 - a name of this module
        return (row[0] if row else None) or 0
