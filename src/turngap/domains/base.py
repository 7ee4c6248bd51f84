"""The seam of worlds: what an agent's messages do, and what the agent gets back."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

import msgspec

from turngap.data import (
    AssistantMessage,
    CallVerdict,
    Category,
    Finish,
    Message,
    Repaired,
    ToolMessage,
)


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What would be right now, as far as the world knows."""

    decision: int | None = None
    """Index of the recorded decision; None where nothing is expected."""
    attempt: int = 1
    """1-based attempt at it."""
    reference: AssistantMessage | None = None
    """The recorded decision, with the calls that are still due."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one message of the agent led to."""

    results: tuple[ToolMessage, ...] = ()
    """One per call, in order."""
    verdicts: tuple[CallVerdict, ...] = ()
    """One per call, in order."""
    problem: tuple[Category, int | None, str] | None = None
    """An error that is now unresolved: category, recorded decision, detail."""


class World(Protocol):
    """One live instance of what the tools act on."""

    def turn_begins(self) -> None:
        """The user has spoken, or the agent is to open."""
        ...

    def turn_is_over(self) -> bool:
        """Whether nothing is left for the agent to do before the user speaks again."""
        ...

    def expected(self) -> Expectation:
        """What would be right now."""
        ...

    def answer(self, message: AssistantMessage, finish: Finish) -> Outcome | Awaitable[Outcome]:
        """Let a message of the agent happen: run its calls, or note that it spoke.

        Raises:
            DomainFault: the world's own code failed.
        """
        ...

    def repair(self) -> Repaired | None:
        """Do what the agent failed to do, so that the episode can go on; None where that is impossible."""
        ...

    def outgrown(self, history: Sequence[Message]) -> bool:
        """Whether `history` is longer than it need be, so that the agent's own talk is what overflows a context."""
        ...

    def close(self) -> tuple[Category, int | None, str] | None:
        """End the episode; names what is left undone, if anything."""
        ...
