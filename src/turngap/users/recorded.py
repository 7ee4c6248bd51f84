"""The recorded user: says what was said in the recording, turn by turn, whatever the agent does."""

from __future__ import annotations

from collections.abc import Sequence

from turngap.data import Message, Segment, SystemMessage, Termination, UserMessage


class RecordedUser:
    """Speaks the user turns of a recording in order. Deterministic, and deaf."""

    left: Termination | None = None

    def __init__(self, turns: Sequence[Segment]) -> None:
        self._turns = iter(turns)

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | SystemMessage, ...] | None:
        """Say the next recorded turn; `history` makes no difference."""
        del history
        turn = next(self._turns, None)
        return None if turn is None else turn.spoken
