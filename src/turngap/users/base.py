"""The seam of users: who speaks for the customer in a closed loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turngap.data import Message, SystemMessage, UserMessage


class User(Protocol):
    """Someone whom the agent serves."""

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | SystemMessage, ...] | None:
        """Say the next thing, after the agent's turn is over.

        Returns:
            The messages of one turn; an empty tuple when the agent is to speak first; None when there is nothing left
            to say and the conversation is over.
        """
        ...
