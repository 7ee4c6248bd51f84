"""The seam to whatever generates tokens: what goes in, what comes out, and how several answers are under way."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One answer that is wanted."""

    prompt: tuple[int, ...]
    most: int
    """Tokens of the answer, its end included."""
    temperature: float = 0.0
    seed: int = 0
    """Of the dice, where the temperature is not 0; the same whatever else is in the batch."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    tokens: tuple[int, ...]
    """Without the mark that ended it."""
    ended: bool
    """Whether the model ended it; else it was cut at `Ask.most`."""
    generated: int
    """Tokens that were generated, the mark included."""
    reused: int
    """Tokens of the prompt that were known already."""


class Generates(Protocol):
    """Something that generates several answers at once, one token after the other; for one thread."""

    @property
    def free(self) -> int:
        """How many more can be begun now."""
        ...

    @property
    def busy(self) -> bool:
        """Whether an answer is under way."""
        ...

    def begin(self, ask: Ask) -> int:
        """Read a prompt; its answer comes out of `step` some time, under the number that is returned."""
        ...

    def step(self) -> list[tuple[int, Answer]]:
        """One more token for every answer under way; those that are complete are returned and under way no more."""
        ...

    def drop(self, number: int) -> None:
        """Give an answer up; what is unknown is ignored."""
        ...
