"""What a task does to a world before the conversation begins, in the form that task files have.

``initialization_data`` holds JSON that is laid over the database (``agent_data``, then ``user_data``);
``initialization_actions`` names tools of either side to call, which have to succeed; ``message_history`` is what was
said before, whose calls are made again so that the world is in the state that the history tells of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from turngap.data import ToolCall
from turngap.data.task import Side
from turngap.errors import DataFault


class _Action(msgspec.Struct, frozen=True):
    func_name: str
    arguments: dict[str, Any] = {}
    env_type: Literal["assistant", "user"] = "assistant"


class _Call(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | None = None
    requestor: Literal["assistant", "user"] = "assistant"


class _Message(msgspec.Struct, frozen=True):
    tool_calls: list[_Call] | None = None


class _Data(msgspec.Struct, frozen=True):
    agent_data: dict[str, Any] | None = None
    user_data: dict[str, Any] | None = None


class Beginning(msgspec.Struct, frozen=True):
    """An initial state, read."""

    initialization_data: _Data | None = None
    initialization_actions: list[_Action] | None = None
    message_history: list[_Message] | None = None

    def patches(self) -> Iterator[Mapping[str, Any]]:
        """What is laid over the database, in order."""
        if self.initialization_data is not None:
            yield self.initialization_data.agent_data or {}
            yield self.initialization_data.user_data or {}

    def calls(self) -> Iterator[tuple[ToolCall, Side, bool]]:
        """The calls to make, in order: call, whose, and whether it has to succeed."""
        for action in self.initialization_actions or ():
            yield ToolCall(name=action.func_name, arguments=action.arguments), action.env_type, True
        for message in self.message_history or ():
            for call in message.tool_calls or ():
                yield ToolCall(name=call.name, arguments=call.arguments), call.requestor, False


def read(initial_state: Mapping[str, Any], domain: str) -> Beginning:
    """Read the initial state of a task.

    Raises:
        DataFault: it is not of that form; the field is named.
    """
    unknown = sorted(initial_state.keys() - set(Beginning.__struct_fields__))
    if unknown:
        known = ", ".join(Beginning.__struct_fields__)
        raise DataFault(f"domain {domain!r}: initial state: unknown field {unknown[0]!r}; known: {known}")
    try:
        return msgspec.convert(initial_state, Beginning)
    except msgspec.ValidationError as error:
        raise DataFault(f"domain {domain!r}: initial state: {error}") from None
