"""The recorded user: says what was said in the recording, turn by turn, whatever the agent does.

`RecordedUser` serves replays. `RecordedSimulator` brings such users into live trials: ``recorded/FILE`` takes the
recorded runs of the same task (metadata ``task_id``, as tau2's and tau-bench's results have it), one a trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import Conversation, Message, Segment, SystemMessage, Termination, Usage, UserMessage, segments
from turngap.errors import DataError, UsageError
from turngap.models import ModelContext
from turngap.users.lapse import Lapse
from turngap.users.signals import parse
from turngap.users.simulator import Part


class RecordedUser:
    """Speaks the user turns of a recording in order. Deterministic, and deaf."""

    lapses: tuple[Lapse, ...] = ()
    usage = Usage()

    def __init__(self, turns: Sequence[Segment], *, leaves: bool = False) -> None:
        """Take the turns of a recording.

        Args:
            turns: in order.
            leaves: whether a recorded mark of the end ends the conversation, as in a live trial; in a replay it does
                not, since the recording goes on as it goes on.
        """
        self.left: Termination | None = None
        self._turns = iter(turns)
        self._leaves = leaves

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | SystemMessage, ...] | None:
        """Say the next recorded turn; `history` makes no difference."""
        del history
        turn = next(self._turns, None)
        if turn is None or self.left is not None:
            return None
        if self._leaves:
            self.left = next((parse(words.content)[1] for words in reversed(turn.spoken)), None)
        return turn.spoken


class RecordedSimulator:
    """Makes users that say what was said in recorded runs of their task."""

    def __init__(self, conversations: Iterable[Conversation], *, label: str = "recorded") -> None:
        """Sort recordings by task.

        Raises:
            DataError: none of them names its task.
        """
        self.label = label
        self._runs: dict[str, list[Conversation]] = {}
        for conversation in conversations:
            task = conversation.metadata.get("task_id")
            if task is not None:
                self._runs.setdefault(str(task), []).append(conversation)
        if not self._runs:
            raise DataError("no recorded run names its task (metadata task_id)", file=label.partition("/")[2])

    def identity(self) -> dict[str, Any]:
        """The digest of what is said."""
        said = {
            task: [[words.content for turn in segments(run) for words in turn.spoken] for run in runs]
            for task, runs in self._runs.items()
        }
        return {"user": "recorded", "sha256": jsonio.digest(said)}

    def user(self, part: Part) -> RecordedUser:
        """The user of one trial: of the recorded runs of the task, the one whose turn it is.

        Raises:
            DataError: no run of the task was recorded.
        """
        runs = self._runs.get(part.task.id)
        if not runs:
            raise DataError(f"no recorded run of task {part.task.id!r}", file=self.label.partition("/")[2])
        return RecordedUser(segments(runs[part.trial % len(runs)]), leaves=True)

    async def aclose(self) -> None:
        """Nothing to release."""


def build(config: ModelConfig, context: ModelContext) -> RecordedSimulator:
    """Build ``recorded/FILE``.

    Raises:
        UsageError: no file is named. DataError: it cannot be read, or names no tasks.
    """
    file = config.spec.partition("/")[2]
    if not file or context.load is None:
        raise UsageError(f"user {config.spec!r} names no file; write recorded/FILE with recorded runs of the tasks")
    return RecordedSimulator(context.load(Path(file)), label=config.spec)
