"""Live progress of a command that trains, alone or among other stages: step, loss, validation, speed, time left.

A training may run in a thread of its own, which must not draw: `TrainingTerminal.watch` only notes what it is told, and
what was noted is counted and shown by the thread that draws, at its next `refresh`. Every other stage is shown as
`turngap.cli.progress` shows it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import IO

from turngap.cli.progress import Terminal
from turngap.training.moment import Moment


class TrainingTerminal(Terminal):
    """A `Terminal` that also shows trainings, one after the other."""

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock)
        self._told: deque[Moment] = deque()
        self._moment: Moment | None = None
        """Where the training is that is shown; None in any other stage."""

    def watch(self, moment: Moment) -> None:
        """A step is done: see `turngap.training.moment.Watch`. From any thread."""
        self._told.append(moment)

    def stage(self, name: str, total: int, done: int = 0, errored: int = 0) -> None:
        """See `Terminal.stage`."""
        self.close()
        self._moment = None
        super().stage(name, total, done, errored)

    def note(self, text: str) -> None:
        """See `Terminal.note`."""
        self._catch_up()
        super().note(text)

    def refresh(self) -> None:
        """See `Terminal.refresh`."""
        self._catch_up()
        super().refresh()

    def close(self) -> None:
        """See `Terminal.close`."""
        self._catch_up()
        super().close()

    @property
    def unfinished(self) -> bool:
        """See `Terminal.unfinished`: a training that has steps to keep, and more of them to do."""
        self._catch_up()
        return self._moment is not None and self._moment.step < self._moment.steps

    @property
    def where(self) -> str:
        """See `Terminal.where`."""
        self._catch_up()
        return super().where

    def facts(self) -> list[str]:
        """See `Terminal.facts`."""
        found = self._moment
        if found is None:
            return super().facts()
        facts = [f"loss {found.loss:.3f}"]
        if found.validation is not None:
            facts.append(f"validation {found.validation:.3f}")
        facts.append(f"{found.tokens_per_second:.0f} tokens/s")
        left, fresh = found.steps - self.done, max(self.done - self._taken_over, 1)
        return facts + self.ahead(found.seconds, found.seconds * left / fresh)

    def _catch_up(self) -> None:
        while self._told:
            moment = self._told.popleft()
            if self._moment is None or moment.step <= self._moment.step:
                super().close()  # the stage before, with facts of its own
                self._moment = moment
                super().stage("training", moment.steps, done=moment.step - 1)
            self._moment, self.done = moment, moment.step
