"""The seam between a run and the person who watches it: progress, told in counts, never in transcripts.

An engine or a protocol says what happened; how that looks (bars, lines, nothing) is somebody else's business. Progress
is called from the event loop for every unit, so an implementation must return at once and never raise.
"""

from __future__ import annotations

from typing import Protocol

from turngap.data import Usage


class Progress(Protocol):
    """Whoever wants to know how far a run is."""

    def stage(self, name: str, total: int, done: int = 0, errored: int = 0) -> None:
        """A new stage begins.

        Args:
            name: what the stage is called, e.g. ``replay``; empty where none begins and only the one before is over.
            total: units in it, those of earlier commands on the same run included.
            done: units with a result, taken over from before.
            errored: units taken over as errored, not among `done`; they are about to be tried again.
        """
        ...

    def advance(self, *, errored: bool = False, usage: Usage | None = None) -> None:
        """One more unit of the stage is stored."""
        ...

    def waiting(self, seconds: float, reason: str) -> None:
        """Requests pause, e.g. ``(7.0, "429 Too Many Requests")``."""
        ...

    def note(self, text: str) -> None:
        """One line for the person, said once."""
        ...


class Quiet:
    """The double: shows nothing and remembers what it was told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int, int]] = []
        """(name, total, done, errored) of every stage as it began, in order."""
        self.done = 0
        """Units of the latest stage that are over, those taken over included."""
        self.errored = 0
        """Of `done`, how many ended errored."""
        self.usage = Usage()
        """Sum over all stages."""
        self.waits: list[tuple[float, str]] = []
        self.notes: list[str] = []

    def stage(self, name: str, total: int, done: int = 0, errored: int = 0) -> None:
        """See `Progress.stage`."""
        self.stages.append((name, total, done, errored))
        self.done, self.errored = done, 0

    def advance(self, *, errored: bool = False, usage: Usage | None = None) -> None:
        """See `Progress.advance`."""
        self.done += 1
        self.errored += errored
        if usage is not None:
            self.usage += usage

    def waiting(self, seconds: float, reason: str) -> None:
        """See `Progress.waiting`."""
        self.waits.append((seconds, reason))

    def note(self, text: str) -> None:
        """See `Progress.note`; the same line twice is kept once."""
        if text not in self.notes:
            self.notes.append(text)
