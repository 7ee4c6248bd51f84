"""The figures of runs for pages on many of them: read where they are written down, else summed up, and remembered.

A finished run has its figures in ``metrics.json``; they are taken from there when nothing was written into the run
after it. Any other run is summed up by a thread of its own, one run after the other, so that no page waits for a large
one; until then it has none. A run that is at work has the figures of its last scoring, if there was one.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from turngap.analysis.sums import sum_up
from turngap.data import Figure
from turngap.errors import TurngapError
from turngap.runs.store import DATABASE, METRICS
from turngap.web.shelf import Run

_FAILED = "summing up failed; please report this"


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says in numbers, as far as pages on many runs need it."""

    metrics: dict[str, Figure] = {}
    protocols: tuple[str, ...] = ()
    judges: dict[str, tuple[str, ...]] = {}
    n: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    pending: bool = False
    """Whether they are still being summed up."""
    problem: str = ""
    """Why there are none, in one line."""


class _Sum:
    """One run that is being summed up, or has been."""

    def __init__(self, run: Run, stamp: str, turn: threading.Lock) -> None:
        """Begins as soon as it has its turn."""
        self.stamp = stamp
        self.figures = Figures(problem=_FAILED)
        self.done = threading.Event()
        # Not of a pool: those are waited for when the process ends.
        threading.Thread(target=self._work, args=(run, turn), name=f"sums of {run.id}", daemon=True).start()

    def _work(self, run: Run, turn: threading.Lock) -> None:
        try:
            with turn:
                self.figures = _sum(run)
        finally:
            self.done.set()


class Summed:
    """The figures of all runs of a viewer."""

    def __init__(self) -> None:
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._known: dict[str, _Sum] = {}

    def of(self, run: Run, *, running: bool, wait: float = 0.0) -> Figures:
        """The figures of a run as it is now.

        Args:
            run: the run.
            running: whether it is at work: then nothing is summed up.
            wait: seconds that the answer may take.
        """
        written = _written(run, anyhow=running)
        if written is not None or running:
            return written or Figures()
        stamp = run.stamp()
        with self._lock:
            known = self._known.get(run.id)
            if known is None or known.stamp != stamp:
                known = self._known[run.id] = _Sum(run, stamp, self._turn)
        return known.figures if known.done.wait(wait) else Figures(pending=True)


def _written(run: Run, *, anyhow: bool) -> Figures | None:
    """What ``metrics.json`` says, if it speaks for all that is stored, or for something `anyhow`."""
    path = run.path / METRICS
    try:
        if not anyhow and not _is_latest(path):
            return None
        return msgspec.json.decode(path.read_bytes(), type=Figures)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _is_latest(path: Path) -> bool:
    written = path.stat().st_mtime_ns
    database = path.with_name(DATABASE)
    log = database.with_name(f"{DATABASE}-wal")
    late = log.stat().st_size > 0 if log.exists() else False
    return not late and database.stat().st_mtime_ns <= written


def _sum(run: Run) -> Figures:
    try:
        with run.store() as store:
            found = sum_up(store)
            return msgspec.convert(msgspec.to_builtins(found), Figures)
    except TurngapError as error:
        return Figures(problem=str(error))
