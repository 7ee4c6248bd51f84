"""Keeps indexes of runs up to date in threads of their own, while pages already show what is there.

A thread looks at its run every two seconds as long as somebody asks for the list; a look at a run that has not changed
costs a few calls of the file system.
What a pass (`turngap.web.harvest`) has committed is published at once when there was nothing before, and then more
rarely the longer publishing takes. Two viewers on one run share the file: the first one writes it, the other follows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from turngap.config import PROTOCOLS
from turngap.errors import StoreError
from turngap.runs.lock import WriterLock
from turngap.web.harvest import LIVE, Harvest, Progress, Stopped
from turngap.web.index import Index
from turngap.web.shelf import Run

_INTERVAL = 2.0  # seconds between two looks
_PAUSE = 0.001  # seconds that others get between two batches
_RARELY = 10  # publishing takes at most one in so many seconds, ...
_SOON = 0.5  # ... and happens at most so often
_REST = 30.0  # seconds after which a run that nobody asks for is no longer looked at
_BLINK = 0.02  # seconds between two looks of whoever waits
_STOPPED = "indexing has stopped; start turngap view again, and please report this"


def folder(environment: Mapping[str, str]) -> Path:
    """Where indexes are kept: ``view`` in TURNGAP_CACHE, else in the user's cache folder."""
    named = environment.get("TURNGAP_CACHE")
    if named:
        return Path(named) / "view"
    users = environment.get("XDG_CACHE_HOME")
    return (Path(users) if users else Path.home() / ".cache") / "turngap" / "view"


class Indexer:
    """The index of one run and the thread that writes it."""

    index: Index

    def __init__(self, run: Run, place: Path) -> None:
        """Nothing happens before `start`.

        Args:
            run: the run.
            place: the folder of indexes.
        """
        self._run = run
        self._place = place
        self.index = Index(place / f"{run.digest}.sqlite", PROTOCOLS if run.kind == "eval" else LIVE)
        self._progress = Progress()
        self._ended = threading.Event()
        self._first = threading.Event()
        self._thread: threading.Thread | None = None
        self._resting = False
        self._stamp: object = None
        self._next = 0.0
        self._began = self._asked = 0.0

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        alive = self._thread is None or self._thread.is_alive()
        return self._progress if alive or self._resting or self._ended.is_set() else Progress(problem=_STOPPED)

    def start(self) -> None:
        """Begin, or go on, keeping the index up to date until `stop`, or until nobody has called this for a while."""
        self._asked = time.monotonic()
        if self._thread is None or not self._thread.is_alive():
            self._resting = False
            self._began = self._asked
            self._thread = threading.Thread(target=self._work, name=f"index of {self._run.id}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the batch that is under way."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def wait(self, seconds: float) -> None:
        """Wait for the first rows, and soon after the start for all of a small run, but no longer than that."""
        self._first.wait(seconds)
        while not self.progress.complete and not self.progress.problem and time.monotonic() < self._began + seconds:
            time.sleep(_BLINK)

    def finish(self, seconds: float) -> None:
        """Wait until everything that is stored is in the index, or it cannot go on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.progress.complete and not self.progress.problem:
            time.sleep(_BLINK)

    def _work(self) -> None:
        lock: WriterLock | None = None
        try:
            while not self._ended.is_set():
                try:
                    lock = lock or self._locked()
                    self._look(writes=lock is not None)
                except StoreError as error:
                    self._progress = msgspec.structs.replace(self._progress, problem=str(error))
                except Stopped:
                    return
                self._first.set()
                self._ended.wait(_INTERVAL)
                if time.monotonic() > self._asked + _REST:
                    self._resting = True
                    return
        finally:
            self._first.set()
            if lock is not None:
                lock.release()

    def _locked(self) -> WriterLock | None:
        """The right to write the index; None while another viewer has it."""
        try:
            self._place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self._place}: cannot be made: {error.strerror}") from None
        try:
            return WriterLock(self._place / f"{self._run.digest}.lock")
        except StoreError:
            return None

    def _look(self, *, writes: bool) -> None:
        if not writes:
            kept = self.index.stamp()
            if kept != self._stamp:
                self.index.reload()
                self._stamp, self._progress = kept, Progress(stage="done")
            return
        stamp = self._run.stamp()
        if stamp == self._stamp and self._progress.complete:
            return
        with self.index.writing() as writer, self._run.store() as store:
            if not self.index.columns.count:
                self._publish()
            harvest = Harvest(writer, store, self.index.protocols, self._told)
            harvest.all(stamp)
            if harvest.changed:
                self._publish()
        self._stamp, self._progress = stamp, Progress(stage="done")

    def _told(self, progress: Progress) -> None:
        self._progress = progress
        if self._ended.is_set():
            raise Stopped
        if not self.index.columns.count or time.monotonic() >= self._next:
            self._publish()
        time.sleep(_PAUSE)

    def _publish(self) -> None:
        began = time.monotonic()
        self.index.reload()
        now = time.monotonic()
        self._next = now + max(_SOON, _RARELY * (now - began))
        if self.index.columns.count:
            self._first.set()


class Indexes:
    """The indexes of a viewer, each begun when it is first asked for."""

    def __init__(self, place: Path) -> None:
        """`place` is the folder of indexes."""
        self._place = place
        self._indexers: dict[str, Indexer] = {}
        self._lock = threading.Lock()

    def of(self, run: Run) -> Indexer:
        """The index of a run, with its thread at work."""
        with self._lock:
            indexer = self._indexers.get(run.id)
            if indexer is None:
                indexer = self._indexers[run.id] = Indexer(run, self._place)
            indexer.start()
            return indexer

    def known(self, run: Run) -> Indexer | None:
        """The index of a run, where somebody has asked for it already."""
        return self._indexers.get(run.id)

    def close(self) -> None:
        """End all threads."""
        with self._lock:
            for indexer in self._indexers.values():
                indexer.stop()
            self._indexers.clear()
