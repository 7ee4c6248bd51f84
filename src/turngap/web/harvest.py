"""One pass over a run for its index: what is new in it, what scores say, what detectors find.

Units come first (words, tools, categories): those that were never read, then those that were written again since the
last pass. Then what stored scores say of them, which is read anew whenever it may have changed; before there are
scores, a replay or a graded trial speaks for itself. Last the detectors on failed replays, which take longest. Every
batch is committed, and a pass that was interrupted is taken up where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from turngap.analysis import scorer
from turngap.analysis.trial import REWARD
from turngap.data import Cause, Score
from turngap.runs.recent import Position, Scored
from turngap.runs.store import RunStore
from turngap.web import entry
from turngap.web.entry import ERRORED, FAILED, NONE, PASSED, SPOILED, Entry
from turngap.web.index import Writer

T = TypeVar("T")

LIVE = ("rollout",)
"""The protocols of a run of trials."""
_BATCH = 64
_SCORES = 2_000  # rows between two words to whoever watches
_TRIALS = 1_000  # more than a task can have: a trial's key is its task's place times this, and its number
_RANK = {letter: at for at, letter in enumerate((NONE, PASSED, ERRORED, SPOILED, FAILED))}
"""Of several decisions, a conversation gets what stands last here."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the index is."""

    stage: str = "units"
    """``units``, ``results``, ``findings``; ``done`` when there is nothing left to do."""
    done: int = 0
    total: int = 0
    problem: str = ""
    """Why it cannot go on, in one line; it tries again by itself."""

    @property
    def complete(self) -> bool:
        """Whether everything that is stored is in the index."""
        return self.stage == "done"


class Stopped(Exception):
    """Raised by whoever watches a pass, to end it between two batches."""


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What of a run is in the index."""

    created: str
    """The run, so that another one in the same folder is not taken for it."""
    units: int = 0
    """Conversations that were read; 0 for a run of trials."""
    position: Position = Position()


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """Of which scores the index knows."""

    stamp: str = ""
    """The run's files then; empty where the run was still at work."""
    scores: tuple[Scored, ...] = ()


class Harvest:
    """One pass."""

    def __init__(
        self, writer: Writer, store: RunStore, protocols: tuple[str, ...], told: Callable[[Progress], None]
    ) -> None:
        """`told` hears of every batch that was committed, and may raise `Stopped`."""
        self._writer, self._store, self._protocols, self._told = writer, store, protocols, told
        self.changed = False
        """Whether anything was written."""

    def all(self, stamp: str) -> None:
        """Do everything that is left to do.

        Args:
            stamp: of the run's files, taken before it was opened.

        Raises:
            StoreError: the run or the index cannot be used.
        """
        running = self._store.state() == "started"
        seen = self._fact("seen", _Seen)
        if seen is None or seen.created != self._store.created:
            self._writer.clear()
            self.changed = True
            seen = _Seen(created=self._store.created)
        if self._protocols == LIVE:
            self._trials(seen)
        else:
            self._conversations(seen)
        self._scores(stamp, running=running)
        if self._protocols != LIVE:
            self._findings()

    # ---- units

    def _conversations(self, seen: _Seen) -> None:
        now = self._store.recent.position()
        names = self._store.conversation_ids()
        before = seen.position if seen.units else now  # what was never read needs no second look
        again = self._store.recent.conversations(before) if before != now else set()
        fresh = range(seen.units, len(names))
        old = [at for at, name in enumerate(names[: seen.units]) if name in again]
        total = len(names) if fresh else len(old)
        done = seen.units if fresh else 0
        empty = NONE * len(self._protocols)
        at_replay = self._protocols.index("replay")

        def rows(places: Iterable[int]) -> Iterator[tuple[int, Entry, str]]:
            for place in places:
                one = entry.of_conversation(self._store, names[place])
                yield place, one, empty[:at_replay] + one.outcome + empty[at_replay + 1 :]

        for places in _batches(fresh):
            done += len(places)
            kept = _Seen(created=seen.created, units=done, position=before)
            self._put(rows(places), kept, Progress(done=done, total=total))
        done = 0
        for places in _batches(old):
            done += len(places)
            kept = _Seen(created=seen.created, units=len(names), position=before)
            self._put(rows(places), kept, Progress(done=done, total=len(old)))
        if before != now:
            self._put((), _Seen(created=seen.created, units=len(names), position=now), None)

    def _trials(self, seen: _Seen) -> None:
        now = self._store.recent.position()
        if now == seen.position:
            return
        wanted = self._store.rollout.trials
        touched: dict[str, set[int]] = {}
        for task, trial in self._store.recent.trials(seen.position):
            if trial < wanted:
                touched.setdefault(task, set()).add(trial)
        total, done = sum(map(len, touched.values())), 0
        for place, name in enumerate(self._store.trials.task_ids()):
            if name in touched:
                done += len(touched[name])
                self._put(self._of_task(place, name, touched[name]), seen, Progress(done=done, total=total))
        self._put((), _Seen(created=seen.created, position=now), None)

    def _of_task(self, place: int, name: str, trials: set[int]) -> Iterator[tuple[int, Entry, str]]:
        task = self._store.trials.task(name)
        rewards = self._store.trials.rewards(name)
        for stored in self._store.trials.of(name):
            if stored.trial in trials:
                _, reward = rewards.get(stored.trial, ("", None))
                one = entry.of_trial(task, stored.trial, stored.result, reward)
                yield place * _TRIALS + stored.trial, one, one.outcome

    def _put(self, rows: Iterable[tuple[int, Entry, str]], seen: _Seen, progress: Progress | None) -> None:
        self._writer.put(rows, {"seen": seen})
        self.changed = True
        if progress is not None:
            self._told(progress)

    # ---- scores

    def _scores(self, stamp: str, *, running: bool) -> None:
        """Read the scores, unless they are those that the index knows.

        They may be replaced by others of the same number, so at a run that has ended every change of its files counts.
        """
        known = self._fact("known", _Known) or _Known()
        scores = self._store.recent.scores()
        if scores == known.scores and (running or stamp == known.stamp):
            return
        counts = {one.scorer: one.count for one in scores}
        live = self._protocols == LIVE
        speaking = {name: REWARD if live else scorer.headline(self._store, name) for name in self._protocols}
        total = sum(counts.get(name, 0) for name in speaking.values())
        keys = self._keys()
        before = self._writer.results()
        after = {number: list(letters) for number, letters in before.items()}
        done = 0
        for at, (protocol, name) in enumerate(speaking.items()):
            if name not in counts:
                continue
            found = self._worst(name, keys, done, total)
            done += counts[name]
            itself = protocol in ("replay", *LIVE)  # says how it ended without any score
            for number, letters in after.items():
                letters[at] = found.get(number, letters[at] if itself else NONE)
        changed = [(number, joined) for number, one in after.items() if (joined := "".join(one)) != before[number]]
        self._writer.put_results(changed, {"known": _Known(stamp="" if running else stamp, scores=scores)})
        self.changed = self.changed or bool(changed)

    def _keys(self) -> Mapping[tuple[str, int | None], int]:
        """Key by item and, for trials, number of the trial."""
        if self._protocols != LIVE:
            return {(name, None): at for at, name in enumerate(self._store.conversation_ids())}
        return {
            (name, trial): at * _TRIALS + trial
            for at, name in enumerate(self._store.trials.task_ids())
            for trial in range(self._store.rollout.trials)
        }

    def _worst(self, name: str, keys: Mapping[tuple[str, int | None], int], done: int, total: int) -> dict[int, str]:
        """What a scorer says of every unit."""
        live = self._protocols == LIVE
        found: dict[int, str] = {}
        for count, (_, score) in enumerate(self._store.scores(name), start=1):
            number = keys.get((score.conversation, score.decision if live else None))
            if number is not None:
                letter = _letter(score)
                if _RANK[letter] > _RANK[found.get(number, NONE)]:
                    found[number] = letter
            if not count % _SCORES:
                self._told(Progress(stage="results", done=done + count, total=total))
        return found

    # ---- findings

    def _findings(self) -> None:
        left = self._writer.unseen(FAILED, self._protocols.index("replay"))
        done = 0
        for some in _batches(left):
            self._writer.put_found([(number, entry.findings(self._store, name)) for number, name in some])
            self.changed = True
            done += len(some)
            self._told(Progress(stage="findings", done=done, total=len(left)))

    def _fact(self, key: str, kind: type[T]) -> T | None:
        body = self._writer.fact(key)
        return None if body is None else msgspec.json.decode(body, type=kind)


def _letter(score: Score) -> str:
    if score.success:
        return PASSED
    if score.cause is Cause.USER:
        return SPOILED
    return ERRORED if score.errored else FAILED


def _batches(units: Sequence[T]) -> Iterator[Sequence[T]]:
    return (units[at : at + _BATCH] for at in range(0, len(units), _BATCH))
