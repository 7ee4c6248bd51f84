"""The figures of runs for pages on many of them: read where they are written down, else summed up, and remembered.

A finished run has its figures in ``metrics.json``; they are taken from there when nothing was written into the run
after it. Any other run is summed up by a thread of its own, one run after the other, so that no page waits for a large
one; until then it has none. A run that is at work has the figures of its last scoring, if there was one.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from turngap.analysis.sums import sum_up
from turngap.data import Figure
from turngap.errors import TurngapError
from turngap.runs.store import DATABASE, METRICS
from turngap.web.shelf import Run


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


class Summed:
    """The figures of all runs of a viewer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sums")
        self._known: dict[str, tuple[str, Future[Figures]]] = {}

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
            before = self._known.get(run.id)
            if before is None or before[0] != stamp:
                before = self._known[run.id] = (stamp, self._pool.submit(_sum, run))
        try:
            return before[1].result(wait)
        except TimeoutError:
            return Figures(pending=True)

    def close(self) -> None:
        """Do not begin anything more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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
