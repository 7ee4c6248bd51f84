"""The noun of training: one next-action example, a history and the decision that should follow it.

Values only: nothing here knows of tokens, templates or files.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Message, ToolSpec

Split = Literal["train", "validation", "evaluation"]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What all examples of one conversation, often of a whole data set, share."""

    policy: str
    tools: tuple[ToolSpec, ...]


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One decision to learn, in its context."""

    id: str
    """``CONVERSATION#DECISION``; what a mix draws again stands again under the same id."""
    conversation: str
    """Id of the conversation (or trial) it is from: what a split goes by."""
    decision: int
    """Index of the decision there."""
    setting: Setting
    context: tuple[Message, ...]
    """Everything before the decision; obeys the invariants of `turngap.data.conversation`."""
    target: AssistantMessage
    """The decision; with its reasoning where that is to be learnt."""
    task: str = ""
    """The task it solves, where it comes from a trial: what contamination is checked by."""
    source: str = ""
    """The file or run it comes from."""

    @property
    def kind(self) -> str:
        """``"text"`` or ``"tool"``."""
        return self.target.kind

    def digest(self) -> str:
        """Equal for examples that ask the same and want the same, wherever they come from."""
        return jsonio.digest((self.setting, self.context, self.target))
