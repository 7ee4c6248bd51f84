"""The run directory: everything that one evaluation asked for, asked, was answered and measured.

``run.sqlite`` holds it all, conversations included, so the directory alone suffices to resume, to re-score and to
audit; ``run.json`` and ``metrics.json`` are copies for readers. Every `put_` is committed when it returns, so a kill at
any moment loses only work in flight. What the model produced and what was measured lie apart: scores can be replaced at
will, predictions are only ever replaced when they were failures that are tried again.

A caller must know: one process writes (`create`, or `open` with ``write=True``); any number may read meanwhile. A store
belongs to the thread that opened it. Nothing here is ever loaded as a whole, except where a method returns a list.

Non-goals: deciding what has to be done or repeated (protocols), and summing up (analysis).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import msgspec

from turngap import config as settings
from turngap.config import EvalConfig, RolloutConfig
from turngap.data import Conversation, Failure, Prediction, Score, Trajectory, Verdict
from turngap.data.task import Task
from turngap.errors import StoreError
from turngap.models.base import CallCache
from turngap.runs.blob import BlobError, Unpacker, pack
from turngap.runs.cache import RunCalls
from turngap.runs.database import Database, open_for_reading, open_for_writing
from turngap.runs.intake import Intake
from turngap.runs.lock import WriterLock, is_held
from turngap.runs.manifest import Register, Settings, write_document
from turngap.runs.recent import Recent
from turngap.runs.schema import RUN
from turngap.runs.trials import Trials

DATABASE, MANIFEST, METRICS, LOCK = "run.sqlite", "run.json", "metrics.json", "run.lock"
"""The files of a run directory."""

State = Literal["started", "interrupted", "finished"]

T = TypeVar("T")

_prediction: Unpacker[Prediction | Failure] = Unpacker(Prediction | Failure)
_trajectory: Unpacker[Trajectory | Failure] = Unpacker(Trajectory | Failure)
_verdict: Unpacker[Verdict | Failure] = Unpacker(Verdict | Failure)
_conversation: Unpacker[Conversation] = Unpacker(Conversation)
_score: Unpacker[Score] = Unpacker(Score)
_plain: Unpacker[Any] = Unpacker(Any)

_WHOLE = -1  # stands for "no decision" in columns that have to be unique


def _has_content(database: Path) -> bool:
    """Whether a database holds anything. `run.json` is written after it, so beside that file an empty one is a loss."""
    try:
        return database.stat().st_size > 0
    except OSError:
        return False


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How far a kind of unit is."""

    good: int = 0
    """Units with a result."""
    errored: int = 0
    """Units whose latest attempt is a stored `Failure`."""


class RunStore:
    """One run directory."""

    directory: Path
    settings: Settings
    """As asked for by whoever opened the run; when read from the directory, base URLs lack user part and query."""
    calls: CallCache
    """The answers of servers, in the same database."""
    trials: Trials
    """Live tasks and their trials; empty for a run on conversations."""
    recent: Recent
    """What was written lately, for whoever follows a run that is still at work."""

    def __init__(self, directory: Path, database: Database, config: Settings | None) -> None:
        """Use `create` or `open`."""
        self.directory = directory
        self._place = directory.absolute()  # whoever is at work meanwhile may change the working directory
        self.calls = RunCalls(database)
        self.trials = Trials(database, directory)
        self.recent = Recent(database)
        self._database = database
        self._closing = ExitStack()
        self._register = Register(database, directory / MANIFEST)
        self.settings = config or self._register.manifest.settings

    @property
    def config(self) -> EvalConfig:
        """The settings of a run on conversations.

        Raises:
            StoreError: the run is of another kind.
        """
        if isinstance(self.settings, EvalConfig):
            return self.settings
        raise StoreError(
            f"{self.directory}: holds trials of live tasks (turngap rollout), and no recorded conversations"
        )

    @property
    def rollout(self) -> RolloutConfig:
        """The settings of a run on live tasks.

        Raises:
            StoreError: the run is of another kind.
        """
        if isinstance(self.settings, RolloutConfig):
            return self.settings
        raise StoreError(f"{self.directory}: holds recorded conversations (turngap eval), and no trials of live tasks")

    # ---- opening and closing

    @classmethod
    def create(cls, directory: str | Path, config: Settings) -> RunStore:
        """Begin a run in a new directory, or resume the one that is there.

        Settings that do not decide what the model produces (time-outs, concurrency, prices, judges, text, protocols)
        may differ from the stored ones; the stored ones follow when the data have been found equal
        (`add_conversations`).

        Raises:
            ConfigError: the stored run was made with other settings; every difference is named.
            StoreError: another process writes it, or the directory cannot be used.
        """
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{directory}: cannot be used as a run directory: {error.strerror}") from None
        if (directory / MANIFEST).exists() and not _has_content(directory / DATABASE):
            what = "an empty" if (directory / DATABASE).exists() else "no"
            raise StoreError(
                f"{directory}: has {MANIFEST} but {what} {DATABASE}: damaged; name another directory with -o"
            )
        with ExitStack() as closing:
            closing.callback(WriterLock(directory / LOCK).release)
            database = open_for_writing(directory / DATABASE, RUN)
            closing.callback(database.close)
            register = Register(database, directory / MANIFEST)
            register.begin(config)
            register.require_settings(config)
            register.note_versions()
            register.export()
            store = cls(directory, database, config)
            store._closing = closing.pop_all()
            return store

    @classmethod
    def open(cls, directory: str | Path, *, write: bool = False) -> RunStore:
        """Open an existing run: for reading, unless `write`.

        Raises:
            StoreError: no run, damaged, of a newer format, or (to write) in use by another process.
        """
        directory = Path(directory)
        if (
            (directory / MANIFEST).exists()
            and (directory / DATABASE).exists()
            and not _has_content(directory / DATABASE)
        ):
            raise StoreError(f"{directory}: has {MANIFEST} but an empty {DATABASE}: damaged")
        if not (directory / DATABASE).is_file():
            what = "is no directory" if directory.exists() else "does not exist"
            raise StoreError(f"{directory}: no run: {f'holds no {DATABASE}' if directory.is_dir() else what}")
        with ExitStack() as closing:
            if write:
                closing.callback(WriterLock(directory / LOCK).release)
            database = (open_for_writing if write else open_for_reading)(directory / DATABASE, RUN)
            closing.callback(database.close)
            store = cls(directory, database, None)
            store._closing = closing.pop_all()
            return store

    def close(self) -> None:
        """Close the files and give the lock back. Harmless when repeated."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def created(self) -> str:
        """When the run began: UTC, ISO 8601."""
        return self._register.manifest.created

    # ---- conversations

    def add_conversations(self, conversations: Iterable[Conversation]) -> int:
        """Take the data into a new run, or check that they are those of the stored one.

        They are stored in one transaction: after a kill half way there are none. Order and place in the file
        (`Conversation.source`) do not matter when they are compared.

        Returns:
            How many conversations the run has.

        Raises:
            ConfigError: the stored run has other conversations; names one, and the settings that may be the reason.
        """
        intake = Intake(self._database, self.directory)
        stored = self._register.manifest
        current = stored.asking(self.config)
        if stored.data_digest is None:
            with self._database.transaction():
                digest = intake.store(conversations)
                self._register.put(msgspec.structs.replace(current, data_digest=digest))
        else:
            ours, theirs = (msgspec.to_builtins(each.settings)["data"] for each in (current, stored))
            intake.compare(conversations, settings.differences(ours, theirs, "data"))
            self._register.put(current)
        self._register.export()
        return intake.count

    def add_tasks(self, tasks: Sequence[Task]) -> None:
        """Take live tasks into a new run, or check that they are those of the stored one, in any order.

        Raises:
            ConfigError: the stored run has other tasks; names one.
        """
        stored = self._register.manifest
        current = stored.asking(self.rollout)
        if stored.data_digest is None:
            with self._database.transaction():
                digest = self.trials.store_tasks(tasks)
                self._register.put(msgspec.structs.replace(current, data_digest=digest))
        else:
            self.trials.compare_tasks(tasks)
            self._register.put(current)
        self._register.export()

    def conversation_ids(self) -> list[str]:
        """All ids, in the order of the data when they were first read."""
        return [row[0] for row in self._database.rows("SELECT id FROM conversation ORDER BY position")]

    def conversation(self, conversation_id: str) -> Conversation:
        """One conversation.

        Raises:
            KeyError: the run has none of that id.
        """
        row = self._database.row("SELECT body FROM conversation WHERE id = ?", (conversation_id,))
        if row is None:
            raise KeyError(conversation_id)
        return self._read(_conversation, row[0])

    def conversations(self) -> Iterator[Conversation]:
        """All conversations in order, one at a time."""
        sql = "SELECT position, body FROM conversation WHERE position > ? ORDER BY position LIMIT ?"
        for _, body in self._database.pages(sql, size=1):
            yield self._read(_conversation, body)

    # ---- units

    def put_prediction(self, conversation: str, decision: int, result: Prediction | Failure) -> None:
        """Commit what came of one decision on gold history; replaces an earlier result."""
        self._database.write(
            "INSERT OR REPLACE INTO prediction VALUES (?, ?, ?, ?)",
            (conversation, decision, isinstance(result, Failure), pack(result)),
        )

    def predictions(self, conversation: str) -> dict[int, Prediction | Failure]:
        """What is stored for a conversation, by index of the decision, in order."""
        sql = "SELECT decision, body FROM prediction WHERE conversation = ? ORDER BY decision"
        return {decision: self._read(_prediction, body) for decision, body in self._database.rows(sql, (conversation,))}

    def predicted(self, conversation: str) -> set[int]:
        """Decisions of a conversation that have a prediction (not a failure); reads none of them."""
        sql = "SELECT decision FROM prediction WHERE conversation = ? AND NOT errored"
        return {row[0] for row in self._database.rows(sql, (conversation,))}

    def put_trajectory(self, conversation: str, result: Trajectory | Failure) -> None:
        """Commit what came of one closed loop; replaces an earlier result."""
        self._database.write(
            "INSERT OR REPLACE INTO trajectory VALUES (?, ?, ?)",
            (conversation, isinstance(result, Failure), pack(result)),
        )

    def trajectory(self, conversation: str) -> Trajectory | Failure | None:
        """What is stored for a conversation, or None."""
        row = self._database.row("SELECT body FROM trajectory WHERE conversation = ?", (conversation,))
        return None if row is None else self._read(_trajectory, row[0])

    def replayed(self) -> set[str]:
        """Conversations that have a trajectory (not a failure); reads none of them."""
        return {row[0] for row in self._database.rows("SELECT conversation FROM trajectory WHERE NOT errored")}

    def put_horizon(
        self, conversation: str, start: int, result: Trajectory | Failure, *, reach: int | None = None
    ) -> None:
        """Commit what came of one closed loop from a recorded decision on; replaces an earlier result.

        Args:
            conversation: id.
            start: index of the decision.
            result: what happened from there on.
            reach: the largest number of decisions that the result says something about; None for any number.
        """
        self._database.write(
            "INSERT OR REPLACE INTO horizon VALUES (?, ?, ?, ?, ?)",
            (conversation, start, reach, isinstance(result, Failure), pack(result)),
        )

    def horizon(self, conversation: str, reach: int) -> dict[int, Trajectory | Failure]:
        """Closed loops of a conversation that say something about `reach` decisions, by start; failures too."""
        sql = (
            "SELECT start, body FROM horizon WHERE conversation = ? AND (errored OR reach IS NULL OR reach >= ?)"
            " ORDER BY start"
        )
        return {start: self._read(_trajectory, body) for start, body in self._database.rows(sql, (conversation, reach))}

    def ran_from(self, conversation: str, reach: int) -> set[int]:
        """The starts of those that are no failures; reads none of them."""
        sql = "SELECT start FROM horizon WHERE conversation = ? AND NOT errored AND (reach IS NULL OR reach >= ?)"
        return {row[0] for row in self._database.rows(sql, (conversation, reach))}

    def put_verdict(
        self,
        judge: str,
        protocol: str,
        conversation: str,
        decision: int | None,
        result: Verdict | Failure,
        key: str,
    ) -> None:
        """Commit a verdict; replaces an earlier one of the same judge on the same unit.

        Args:
            judge: label of the judge.
            protocol: ``turn`` or ``workflow``.
            conversation: id.
            decision: index; None when the whole conversation was judged.
            result: the verdict, or why there is none.
            key: digest of what was judged and of the judge's identity: a stored verdict with another key is stale.
        """
        place = _WHOLE if decision is None else decision
        self._database.write(
            "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?)",
            (judge, protocol, conversation, place, key, isinstance(result, Failure), pack(result)),
        )

    def verdicts(self, judge: str, protocol: str, conversation: str) -> dict[int | None, tuple[str, Verdict | Failure]]:
        """What a judge said about a conversation: index of the decision (None: the whole) -> (key, verdict)."""
        sql = (
            "SELECT decision, key, body FROM verdict WHERE conversation = ? AND protocol = ? AND judge = ?"
            " ORDER BY decision"
        )
        return {
            None if place == _WHOLE else place: (key, self._read(_verdict, body))
            for place, key, body in self._database.rows(sql, (conversation, protocol, judge))
        }

    def judges(self) -> list[str]:
        """Labels of the judges that gave verdicts, sorted."""
        return [row[0] for row in self._database.rows("SELECT DISTINCT judge FROM verdict ORDER BY judge")]

    # ---- counts

    def count_predictions(self) -> Tally:
        """How many decisions have a prediction, and how many a failure."""
        return self._tally("SELECT count(*), sum(errored) FROM prediction")

    def count_trajectories(self) -> Tally:
        """How many conversations have a trajectory, and how many a failure."""
        return self._tally("SELECT count(*), sum(errored) FROM trajectory")

    def count_horizon(self, reach: int) -> Tally:
        """How many starts have a closed loop that says something about `reach` decisions, and how many a failure."""
        return self._tally(
            "SELECT count(*), sum(errored) FROM horizon WHERE errored OR reach IS NULL OR reach >= ?", (reach,)
        )

    # ---- scores

    def replace_scores(self, scorer: str, scores: Iterable[Score]) -> None:
        """Put these in the place of all scores of that scorer, in one transaction; at most one for each unit.

        Args:
            scorer: ``text``, ``strict``, ``replay``, ``turn:JUDGE`` or ``workflow:JUDGE``; ``reward`` for trials.
            scores: may be generated from this store on the way.
        """
        rows = (
            (scorer, score.conversation, _WHOLE if score.decision is None else score.decision, pack(score))
            for score in scores
        )
        with self._database.transaction():
            self._database.write("DELETE FROM score WHERE scorer = ?", (scorer,))
            self._database.write_many(
                "INSERT INTO score (scorer, conversation, decision, body) VALUES (?, ?, ?, ?)", rows
            )

    def scores(self, scorer: str | None = None) -> Iterator[tuple[str, Score]]:
        """Stream (scorer, score) in the order of writing, of one scorer or of all."""
        # The plus keeps SQLite from sorting all rows of the scorer anew for every page.
        chosen = "" if scorer is None else "+scorer = ? AND "
        sql = f"SELECT number, scorer, body FROM score WHERE {chosen}number > ? ORDER BY number LIMIT ?"  # noqa: S608 - constant text
        for _, name, body in self._database.pages(sql, () if scorer is None else (scorer,)):
            yield name, self._read(_score, body)

    def scores_of(self, conversation: str) -> dict[str, dict[int | None, Score]]:
        """All scores of one conversation (or task): scorer, alphabetically -> decision (None: the whole) -> score.

        Looks at no row of another conversation, however many there are.
        """
        sql = (
            "WITH RECURSIVE name(scorer) AS (SELECT min(scorer) FROM score UNION ALL SELECT"
            " (SELECT min(scorer) FROM score WHERE scorer > name.scorer) FROM name WHERE name.scorer IS NOT NULL)"
            " SELECT score.scorer, decision, body FROM name JOIN score ON score.scorer = name.scorer"
            " WHERE conversation = ? ORDER BY score.scorer, decision"
        )
        found: dict[str, dict[int | None, Score]] = {}
        for scorer, place, body in self._database.rows(sql, (conversation,)):
            found.setdefault(scorer, {})[None if place == _WHOLE else place] = self._read(_score, body)
        return found

    def scorers(self) -> list[str]:
        """Who has scores here, in the order of writing."""
        return [row[0] for row in self._database.rows("SELECT scorer FROM score GROUP BY scorer ORDER BY min(number)")]

    # ---- small facts

    def set_note(self, key: str, value: Any) -> None:
        """Commit a small fact (plain values or a Struct)."""
        self._database.write("INSERT OR REPLACE INTO note VALUES (?, ?)", (key, pack(value)))

    def note(self, key: str, default: Any = None) -> Any:
        """A small fact as plain values, or `default`."""
        row = self._database.row("SELECT body FROM note WHERE key = ?", (key,))
        return default if row is None else self._read(_plain, row[0])

    def state(self) -> State:
        """The note ``state``; a run that says ``started`` while nobody writes it was interrupted."""
        stored: State = self.note("state", "started")
        return "interrupted" if stored == "started" and not is_held(self._place / LOCK) else stored

    def write_metrics(self, document: dict[str, Any]) -> None:
        """Write ``metrics.json``: the old or the new one is there at any moment.

        Raises:
            StoreError: it cannot be written.
        """
        write_document(self._place / METRICS, document)

    def _read(self, unpack: Unpacker[T], body: bytes) -> T:
        try:
            return unpack(body)
        except BlobError as error:
            raise StoreError(f"{self._database.path}: a record is damaged: {error}") from None

    def _tally(self, sql: str, parameters: tuple[str | int, ...] = ()) -> Tally:
        total, errored = self._database.row(sql, parameters) or (0, 0)
        return Tally(good=total - (errored or 0), errored=errored or 0)
