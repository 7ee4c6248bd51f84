"""What a training tells whoever watches it, what comes of it, and how it is asked to stop, in whatever engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """How far a training is."""

    step: int
    steps: int
    epoch: float
    loss: float
    """Mean negative log-likelihood of the step's learnt tokens, in nats."""
    validation: float | None
    """The latest, on the validation set."""
    learning_rate: float
    tokens_per_second: float
    """Tokens of sequences, learnt or not, since this process began."""
    seconds: float
    """Since this process began."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    model: Any
    """With its adapters, if there are any."""
    steps: int
    loss: float | None
    """Of the last step; None where this process had none left to do."""
    validation: float | None
    """The best."""
    tokens: int
    """Tokens of all sequences that were run, validation not counted."""
    seconds: float
    """Of training, over all processes that worked on it."""
    stopped: str = ""
    """Why it ended before its last step; empty where it did not."""


class Halted(Exception):
    """A training stopped because it was asked to; a checkpoint holds all that was done.

    `step` is the last step that is done, `steps` how many there are.
    """

    def __init__(self, step: int, steps: int) -> None:
        super().__init__(step, steps)
        self.step, self.steps = step, steps

    def __str__(self) -> str:
        return f"step {self.step} of {self.steps} done"


Watch = Callable[[Moment], None]
"""Is told of every step, right after it."""
Halt = Callable[[], bool]
"""Is asked again and again whether to stop; then the training ends with `Halted`, at a place to go on from."""


def nobody(_moment: Moment) -> None:
    """Watch nothing."""


def never() -> bool:
    """Go on to the end."""
    return False
