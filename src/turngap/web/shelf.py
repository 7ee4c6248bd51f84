"""The runs that a viewer may show, by ids of its own: the only place where a name from outside becomes a folder.

The folders come from the command line. An address holds ``r1``, ``r2``, ... and nothing else of them, so there is no
path in an address that could be followed anywhere. Stores are opened for each request and read only; a run may be
written meanwhile.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from turngap.config import RolloutConfig
from turngap.errors import StoreError, UsageError
from turngap.runs.store import DATABASE, METRICS, RunStore

Kind = Literal["eval", "rollout"]

_STAMPED = (DATABASE, f"{DATABASE}-wal", METRICS)


class Unknown(UsageError):
    """An address names a run, conversation, task or page that is not here."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run on the shelf."""

    id: str
    """``r1``, ``r2``, ... in the order of the command line; what addresses hold."""
    label: str
    """What people read: the folder's name, with as many of the folders above as tell it from others."""
    path: Path
    """Absolute. Never shown to a browser beyond `label`."""
    kind: Kind
    created: str
    """When the run began: UTC, ISO 8601."""

    @contextmanager
    def store(self) -> Iterator[RunStore]:
        """The run opened for reading, in this thread and for this block.

        Raises:
            StoreError: it cannot be read (any more).
        """
        with RunStore.open(self.path) as store:
            yield store

    def stamp(self) -> str:
        """A text that changes when anything was written into the run; caches go by it."""
        return ".".join(_stamp(self.path / name) for name in _STAMPED)

    @property
    def digest(self) -> str:
        """A name for what is kept about this run elsewhere: of its place, not of its content."""
        return hashlib.sha256(str(self.path).encode("utf-8", "surrogateescape")).hexdigest()[:32]


class Shelf:
    """The runs of one viewer, in the order in which they were named."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    """Folders that were found and cannot be shown, one line each."""

    def __init__(self, runs: Sequence[Run], notes: Sequence[str] = ()) -> None:
        self.runs, self.notes = tuple(runs), tuple(notes)
        self._by_id = {run.id: run for run in runs}

    @classmethod
    def open(cls, paths: Sequence[Path]) -> Shelf:
        """Look at the named folders: each is a run, or holds runs one level down.

        A run that is named twice stands once.

        Raises:
            UsageError: no folder is named, or one holds no run.
            StoreError: a run that was named itself cannot be read.
        """
        if not paths:
            raise UsageError("name at least one run directory, or a directory that holds some")
        found: dict[Path, tuple[Kind, str]] = {}
        notes: list[str] = []
        for path in paths:
            for folder, named in _runs_in(path):
                if (place := folder.resolve()) in found:
                    continue
                try:
                    found[place] = _look(folder)
                except StoreError as error:
                    if named:
                        raise
                    notes.append(str(error))
        if not found:
            raise UsageError(f"none of the runs can be read: {notes[0]}")
        labels = _labels(list(found))
        runs = [
            Run(id=f"r{at}", label=labels[place], path=place, kind=kind, created=created)
            for at, (place, (kind, created)) in enumerate(found.items(), start=1)
        ]
        return cls(runs, notes)

    def get(self, run_id: str) -> Run:
        """The run of an id.

        Raises:
            Unknown: there is none.
        """
        run = self._by_id.get(run_id)
        if run is None:
            raise Unknown(f"no run {run_id[:20]!r} here; there are {', '.join(self._by_id)}")
        return run


def _runs_in(path: Path) -> list[tuple[Path, bool]]:
    """Folders with a run, and whether the person named that very folder."""
    try:
        if (path / DATABASE).is_file():
            return [(path, True)]
        inside = [child for child in sorted(path.iterdir()) if (child / DATABASE).is_file()]
    except OSError as error:
        raise UsageError(f"{path}: no run: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the name
        raise UsageError(f"{str(path)!r}: no run: {error}") from None
    if not inside:
        raise UsageError(f"{path}: no run: neither this directory nor those in it hold a {DATABASE}")
    return [(child, False) for child in inside]


def _look(folder: Path) -> tuple[Kind, str]:
    with RunStore.open(folder) as store:
        return "rollout" if isinstance(store.settings, RolloutConfig) else "eval", store.created


def _labels(places: Sequence[Path]) -> dict[Path, str]:
    """For each folder the end of its path that no other one has."""
    labels: dict[Path, str] = {}
    depth = 1
    left = list(places)
    while left:
        ends = {place: "/".join(place.parts[-depth:]) for place in left}
        counts = Counter(ends.values())
        alone = [place for place in left if counts[ends[place]] == 1 or depth >= len(place.parts)]
        labels |= {place: ends[place] for place in alone}
        left = [place for place in left if place not in labels]
        depth += 1
    return labels


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    if not found.st_size:
        return "-"  # an empty log comes and goes with whoever reads the run
    return f"{found.st_mtime_ns:x}:{found.st_size:x}"
