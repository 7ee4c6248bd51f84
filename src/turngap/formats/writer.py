"""Conversations as chat-completions JSONL: one valid record per line that reads back as the same conversation.

Call ids are made up (they are not part of a conversation), arguments are JSON text, malformed ones stay as they were.
What chat-completions has no place for stands in extra keys that the reader understands: ``id``, ``goal``, ``reward``,
``compare_args``, ``metadata`` and ``start`` of a record; ``reasoning_content`` of a message; ``error`` and ``absent``
of a result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turngap.data import AssistantMessage, Conversation, SystemMessage, ToolCall, ToolMessage, ToolSpec
from turngap.errors import UsageError


def write_openai(conversations: Iterable[Conversation], path: Path) -> int:
    """Write a file line by line; it appears under its name only when complete. Returns the number of records.

    Raises:
        UsageError: the file cannot be written (no such folder, no right, no space).
    """
    if path.is_dir():  # also where it is called ``.`` or ``/``, which have no names to make another from
        raise UsageError(f"{path}: cannot be written: Is a directory")
    temporary = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            for conversation in conversations:
                stream.write(_text(record_of(conversation)) + "\n")
                count += 1
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return count


def record_of(conversation: Conversation) -> dict[str, Any]:
    """One conversation as a record of chat-completions."""
    record: dict[str, Any] = {"id": conversation.id, "messages": list(_messages(conversation))}
    if conversation.tools:
        record["tools"] = [{"type": "function", "function": _function(spec)} for spec in conversation.tools]
    extra = {
        "goal": conversation.goal,
        "reward": conversation.reward,
        "compare_args": {tool: list(names) for tool, names in conversation.compare_args.items()} or None,
        "metadata": conversation.metadata or None,
        "start": conversation.start or None,
    }
    return record | {key: value for key, value in extra.items() if value is not None}


def _text(value: Any) -> str:
    # The standard encoder keeps integers of any size.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _function(spec: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name}
    if spec.description:
        function["description"] = spec.description
    if spec.parameters:
        function["parameters"] = spec.parameters
    return function


def _messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    if conversation.policy:
        yield {"role": "system", "content": conversation.policy}
    made = 0
    waiting: list[str] = []
    for message in conversation.messages:
        if isinstance(message, AssistantMessage):
            waiting = [f"call_{made + index}" for index in range(1, len(message.calls) + 1)]
            made += len(waiting)
            yield _assistant(message, waiting)
        elif isinstance(message, ToolMessage):
            yield _result(message, waiting.pop(0))
        else:
            role = "system" if isinstance(message, SystemMessage) else "user"
            yield {"role": role, "content": message.content}


def _assistant(message: AssistantMessage, ids: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": message.content or (None if message.calls else "")}
    if message.reasoning:
        made["reasoning_content"] = message.reasoning
    if message.calls:
        made["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for call_id, call in zip(ids, message.calls, strict=True)
        ]
    return made


def _arguments(call: ToolCall) -> str:
    return call.raw if call.raw is not None else _text(call.arguments)


def _result(message: ToolMessage, call_id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "tool", "tool_call_id": call_id, "content": message.content}
    if message.name:
        made["name"] = message.name
    if message.error:
        made["error"] = True
    if message.absent:
        made["absent"] = True
    return made
