"""Live tasks, their trials and rewards inside a run directory: the part of the store that only rollouts use.

A trial is named by its task, its number, and by who played the user: the run's own user (`MAIN`) or the second one of
an audit (`AUDIT`). One row a trial, so no trial can be there twice; the failures of earlier tries stay beside the
latest result, since a trial that was tried again is not quite like one that was not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from turngap import jsonio
from turngap.data import Failure, Trajectory
from turngap.data.reward import Reward
from turngap.data.task import Task
from turngap.errors import ConfigError, StoreError
from turngap.runs.blob import BlobError, Unpacker, pack
from turngap.runs.database import Database

Player = Literal["main", "audit"]
"""Who played the user."""
MAIN: Player = "main"
AUDIT: Player = "audit"

T = TypeVar("T")

_NAMED = 3  # ids that a message lists

_task: Unpacker[Task] = Unpacker(Task)
_trajectory: Unpacker[Trajectory | Failure] = Unpacker(Trajectory | Failure)
_reward: Unpacker[Reward | Failure] = Unpacker(Reward | Failure)
_failure: Unpacker[Failure] = Unpacker(Failure)
_failures: Unpacker[tuple[Failure, ...]] = Unpacker(tuple[Failure, ...])


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of one trial."""

    task: str
    trial: int
    """0-based."""
    result: Trajectory | Failure
    before: tuple[Failure, ...] = ()
    """Why earlier tries at this trial could not be measured, in order."""


class Trials:
    """The tables ``task`` and ``trial`` of an open run."""

    def __init__(self, database: Database, directory: Path) -> None:
        self._database = database
        self._directory = directory

    # ---- tasks

    def store_tasks(self, tasks: Iterable[Task]) -> str:
        """Store tasks in their order, inside the caller's transaction; returns the digest of the set."""
        for position, task in enumerate(tasks):
            row = (position, task.id, task_digest(task), pack(task))
            self._database.write("INSERT INTO task VALUES (?, ?, ?, ?)", row)
        return self.tasks_digest()

    def tasks_digest(self) -> str:
        """Identity of the set of tasks, whatever their order."""
        total = hashlib.sha256()
        for key, digest in self._database.rows("SELECT id, digest FROM task ORDER BY id"):
            total.update(f"{key}\0{digest}\n".encode())
        return total.hexdigest()

    def compare_tasks(self, tasks: Iterable[Task]) -> None:
        """Check that these are exactly the stored ones, in any order.

        Raises:
            ConfigError: names a task that differs.
        """
        stored = dict(self._database.rows("SELECT id, digest FROM task"))
        seen: set[str] = set()
        for task in tasks:
            if task.id not in stored:
                raise self._refusal(f"task {task.id!r} is not among those of the run")
            if stored[task.id] != task_digest(task):
                raise self._refusal(f"task {task.id!r} has changed")
            seen.add(task.id)
        missing = sorted(stored.keys() - seen)
        if missing:
            named = ", ".join(map(repr, missing[:_NAMED])) + (", ..." if len(missing) > _NAMED else "")
            raise self._refusal(f"{len(missing)} task(s) of the run are missing: {named}")

    def task_ids(self) -> list[str]:
        """All ids, in the order of the task file."""
        return [row[0] for row in self._database.rows("SELECT id FROM task ORDER BY position")]

    def task(self, task_id: str) -> Task:
        """One task.

        Raises:
            KeyError: the run has none of that id.
        """
        row = self._database.row("SELECT body FROM task WHERE id = ?", (task_id,))
        if row is None:
            raise KeyError(task_id)
        return self._read(_task, row[0])

    def tasks(self) -> Iterator[Task]:
        """All tasks in order, one at a time."""
        sql = "SELECT position, body FROM task WHERE position > ? ORDER BY position LIMIT ?"
        for _, body in self._database.pages(sql, size=1):
            yield self._read(_task, body)

    # ---- trials

    def put(self, task: str, trial: int, result: Trajectory | Failure, *, player: Player = MAIN) -> None:
        """Commit what came of one trial. It takes the place of an earlier failure, which is kept in `Trial.before`."""
        row = self._database.row(
            "SELECT errored, before, body FROM trial WHERE player = ? AND task = ? AND trial = ?", (player, task, trial)
        )
        before: tuple[Failure, ...] = ()
        if row is not None:
            errored, earlier, body = row
            before = self._read(_failures, earlier)
            if errored:
                before = (*before, self._read(_failure, body))
        self._database.write(
            "INSERT OR REPLACE INTO trial VALUES (?, ?, ?, ?, ?, ?)",
            (player, task, trial, isinstance(result, Failure), pack(before), pack(result)),
        )

    def get(self, task: str, trial: int, *, player: Player = MAIN) -> Trial | None:
        """What is stored of one trial, or None."""
        return next((one for one in self.of(task, player=player) if one.trial == trial), None)

    def of(self, task: str, *, player: Player = MAIN) -> list[Trial]:
        """The stored trials of a task, in order."""
        sql = "SELECT trial, before, body FROM trial WHERE player = ? AND task = ? ORDER BY trial"
        return [
            Trial(task=task, trial=trial, result=self._read(_trajectory, body), before=self._read(_failures, before))
            for trial, before, body in self._database.rows(sql, (player, task))
        ]

    def tries(self, task: str, *, player: Player = MAIN) -> dict[int, int]:
        """Trial -> how often it was begun; reads no trajectory."""
        sql = "SELECT trial, before FROM trial WHERE player = ? AND task = ? ORDER BY trial"
        return {trial: 1 + len(self._read(_failures, body)) for trial, body in self._database.rows(sql, (player, task))}

    def measured(self, *, player: Player = MAIN) -> set[tuple[str, int]]:
        """Task and number of the trials that have a trajectory; reads none of them."""
        sql = "SELECT task, trial FROM trial WHERE player = ? AND NOT errored"
        return {(task, trial) for task, trial in self._database.rows(sql, (player,))}

    def failures(self, *, player: Player = MAIN) -> dict[tuple[str, int], Failure]:
        """The trials that could not be measured."""
        sql = "SELECT task, trial, body FROM trial WHERE player = ? AND errored ORDER BY task, trial"
        return {(task, trial): self._read(_failure, body) for task, trial, body in self._database.rows(sql, (player,))}

    # ---- rewards

    def put_reward(self, task: str, trial: int, result: Reward | Failure, key: str, *, player: Player = MAIN) -> None:
        """Commit what a trial is worth; replaces an earlier reward.

        Args:
            task: id.
            trial: number.
            result: the reward, or why there is none.
            key: digest of what was graded and by whom: a stored reward with another key is stale.
            player: who played the user.
        """
        self._database.write(
            "INSERT OR REPLACE INTO reward VALUES (?, ?, ?, ?, ?, ?)",
            (player, task, trial, key, isinstance(result, Failure), pack(result)),
        )

    def rewards(self, task: str, *, player: Player = MAIN) -> dict[int, tuple[str, Reward | Failure]]:
        """Trial -> (key, reward) of a task, in order."""
        sql = "SELECT trial, key, body FROM reward WHERE player = ? AND task = ? ORDER BY trial"
        return {
            trial: (key, self._read(_reward, body)) for trial, key, body in self._database.rows(sql, (player, task))
        }

    def _read(self, unpack: Unpacker[T], body: bytes) -> T:
        try:
            return unpack(body)
        except BlobError as error:
            raise StoreError(f"{self._database.path}: a record is damaged: {error}") from None

    def _refusal(self, problem: str) -> ConfigError:
        return ConfigError(
            f"{self._directory}: the tasks differ from those of the stored run: {problem}; "
            "name another directory with -o, or use the stored tasks"
        )


def task_digest(task: Task) -> str:
    """Identity of a task by content."""
    return jsonio.digest(task.raw or task)
