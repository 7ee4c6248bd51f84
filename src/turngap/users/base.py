"""The seam of users: who speaks for the customer in a closed loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turngap.data import Message, Spoken, SystemMessage, Termination, UserMessage


class User(Protocol):
    """Someone whom the agent serves."""

    @property
    def left(self) -> Termination | None:
        """Why the last words spoken were the user's last; None while the conversation goes on.

        A recorded user never leaves: it just has nothing left to say.
        """
        ...

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | SystemMessage | Spoken, ...] | None:
        """Say the next thing, after the agent's turn is over.

        Args:
            history: what was said and done so far, as the agent knows it.

        Returns:
            The messages of one turn, a `Spoken` where the user did something with tools of their own before; an empty
            tuple when the agent is to speak first; None when there is nothing left to say and the conversation is over.

        Raises:
            UserFault: no usable words could be had; the episode ends and says nothing about the agent.
        """
        ...
