"""The seam of simulated users: a `Simulator` makes the user of one trial.

A simulator is built once a run and serves any number of trials at once; a `LiveUser` belongs to one trial. What a user
is given is a `Part`: the task, and the tools in its own hands where the domain has such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from turngap.data import (
    Message,
    Spoken,
    SystemMessage,
    Task,
    Termination,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from turngap.users.lapse import Lapse


class Hands(Protocol):
    """The tools that a user has, such as a phone. They act on the same world as the agent's."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the user can do."""
        ...

    async def use(self, call: ToolCall) -> ToolMessage:
        """Do it; an error of the tool is a result.

        Raises:
            DomainFault: the tool crashed.
        """
        ...


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What the user of one trial is given."""

    task: Task
    trial: int = 0
    seed: int | None = None
    """Of the trial, for users that draw."""
    hands: Any = None
    """The user's own tools (`Hands`); None where the domain gives it none."""
    writes: frozenset[str] | None = None
    """Names of the domain's writing tools; None to tell them by their names."""


class LiveUser(Protocol):
    """A user who leaves when they have what they came for, and of whom it is known what went wrong."""

    @property
    def left(self) -> Termination | None:
        """Why the last words were the last; see `turngap.users.base.User`."""
        ...

    @property
    def lapses(self) -> tuple[Lapse, ...]:
        """What the user itself noticed that it did wrong, in order; `turngap.users.faults` finds the rest."""
        ...

    @property
    def usage(self) -> Usage:
        """Tokens and money that the user cost so far."""
        ...

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | SystemMessage | Spoken, ...] | None:
        """Say the next thing; see `turngap.users.base.User`."""
        ...


class Simulator(Protocol):
    """Makes users. Safe to use from many tasks of one event loop."""

    label: str
    """How tables name it."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change what its users say, as plain values without secrets."""
        ...

    def user(self, part: Part) -> LiveUser:
        """The user of one trial.

        Raises:
            DataError: the task gives such a user nothing to act on.
        """
        ...

    async def aclose(self) -> None:
        """Release connections and memory."""
        ...
