"""Messages and tool calls: immutable values compared by content.

Call ids are not part of them: a conversation pairs results with calls by position (see `conversation`), and whoever
writes a wire format makes ids up. What a model emitted as arguments is kept verbatim where it was not plain JSON.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the agent may call."""

    name: str
    """The function name, as the recording has it."""
    description: str = ""
    """What the tool does, for the model."""
    parameters: dict[str, Any] = {}
    """JSON Schema of the arguments, of type object; empty when the source declared none."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call that an assistant message makes."""

    name: str
    """The function name as emitted; empty when there was none."""
    arguments: dict[str, Any] | None
    """The arguments; None when they are malformed (no JSON object could be read)."""
    raw: str | None = None
    """The arguments as emitted, kept when they were malformed or needed a repair; None for plain JSON."""
    error: str | None = None
    """Why `arguments` is None: the parse position or the wrong type."""
    notes: tuple[str, ...] = ()
    """Repairs that were needed: double_encoded, python_literal, empty_arguments, from_reasoning, ..."""


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag="user", tag_field="role"):
    """What the customer said."""

    content: str


class SystemMessage(msgspec.Struct, frozen=True, kw_only=True, tag="system", tag_field="role"):
    """An instruction in the middle of a conversation; the leading one is the conversation's policy."""

    content: str


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True, tag="assistant", tag_field="role"):
    """One decision of the agent: text, or tool calls with optional text beside them."""

    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    """Private reasoning, where it was recorded; never shown to users or judges."""

    @property
    def kind(self) -> str:
        """``"tool"`` with at least one call, else ``"text"``."""
        return "tool" if self.calls else "text"


class ToolMessage(msgspec.Struct, frozen=True, kw_only=True, tag="tool", tag_field="role"):
    """The result of one call."""

    content: str
    name: str = ""
    """The function that was called."""
    error: bool = False
    """Whether the tool reported an error."""
    absent: bool = False
    """The recording holds no result for this call; `content` is then a neutral stand-in."""


Message = UserMessage | SystemMessage | AssistantMessage | ToolMessage

ABSENT_RESULT = '{"error": "no result was recorded for this call"}'
"""What a model sees as the result of a call whose result the recording lacks."""
