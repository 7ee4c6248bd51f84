"""Chat-completions recordings: one ``{"messages": [...], "tools"?: [...]}`` per line, in a list, or as a whole file.

Reads what logs and training files of this shape really hold: arguments as JSON text or objects, content null, text or
parts, legacy ``function_call`` and role ``function``, missing or repeated ids, several calls in one message, reasoning
fields, developer and system roles, and content parts of the kind ``{"type": "text"|"reasoning"|"tool_call", "value"}``.
Extra top-level keys are read where they mean something here: ``id``, ``goal``, ``reward``, ``compare_args``,
``metadata``, ``start`` (the first assistant message that is evaluated); `turngap.formats.writer` writes the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, Message
from turngap.errors import DataError
from turngap.formats.assemble import WireCall, WireMessage, assemble
from turngap.formats.base import Findings, GivenTools, Record, convert_each
from turngap.formats.content import text_of
from turngap.formats.records import LINES, read_records, top_keys
from turngap.formats.toolspec import read_tools

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_ID_KEYS = ("id", "conversation_id", "dialogue_id", "session_id")
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


class OpenAI:
    """Reader of chat-completions recordings."""

    name = "openai"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether one of the first lines, or the first element of the list, is an object with ``messages``."""
        lines = [head] if head[:1] == b"[" or path.suffix not in LINES else head.split(b"\n")[:20]
        return any(self._is_ours(top_keys(line.lstrip())[1]) for line in lines)

    @staticmethod
    def _is_ours(keys: frozenset[str]) -> bool:
        return "messages" in keys and not {"termination_reason", "ticks", "traj", "turns"} & keys

    def members(self, path: Path) -> Iterable[Path]:
        """No further files."""
        del path
        return ()

    def read(self, path: Path, given: GivenTools) -> Iterator[Record | DataError]:
        """Yield the conversations of a file."""
        return convert_each(read_records(path), lambda value, findings: conversation(value, given, findings))


def conversation(value: Any, given: GivenTools, findings: Findings) -> Conversation:
    """One record as a conversation.

    Raises:
        DataError: no object, no messages, an unknown role, or a message or call that is none.
    """
    if not isinstance(value, dict):
        raise findings.place.error("a record should be an object with messages")
    if "messages" not in value:
        raise findings.place.error("no messages in this record", "messages")
    wires = read_messages(value["messages"], "messages", findings)
    declared = read_tools(value.get("tools", value.get("functions")), "tools", findings)
    tools = declared or given.specs
    assembled = assemble(wires, tools, findings)
    if not tools and any(wire.calls for wire in wires):
        findings.note("no_tools", "calls without tool specifications")
    goal, metadata = value.get("goal"), value.get("metadata")
    return Conversation(
        id=_identity(value),
        policy=assembled.policy,
        tools=tools,
        messages=assembled.messages,
        goal=goal if isinstance(goal, str) else None,
        reward=read_reward(value.get("reward"), "reward", findings),
        compare_args=_compare_args(value.get("compare_args"), findings),
        metadata=metadata if isinstance(metadata, dict) else {},
        source=findings.place.source(),
        start=_start(value.get("start", 0), assembled.messages, findings),
    )


def read_messages(value: Any, at: str, findings: Findings) -> list[WireMessage]:
    """The messages of a record.

    Raises:
        DataError: not a list, empty, or one of them cannot be read.
    """
    if not isinstance(value, list):
        raise findings.place.error("messages should be a list", at)
    if not value:
        raise findings.place.error("the list of messages is empty", at)
    wires: list[WireMessage] = []
    for index, message in enumerate(value):
        wires.extend(_message(message, f"{at}[{index}]", findings))
    return wires


def read_reward(value: Any, at: str, findings: Findings) -> float | None:
    """A recording's own verdict as a number, or None."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if value is not None:
        findings.note("reward", f"{value!r}"[:60], at)
    return None


def content_id(value: Any) -> str:
    """An identity made of content, for records that carry none."""
    return jsonio.digest(value)[:12]


def _identity(value: dict[str, Any]) -> str:
    for key in _ID_KEYS:
        found = value.get(key)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found).strip():
            return str(found)
    return content_id(value["messages"])


def _start(value: Any, messages: Sequence[Message], findings: Findings) -> int:
    made = sum(isinstance(message, AssistantMessage) for message in messages)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < max(made, 1):
        raise findings.place.error(
            f"start is the index, from 0, of one of the {made} assistant messages; not {value!r}", "start"
        )
    return value


def _compare_args(value: Any, findings: Findings) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in value.values()
    ):
        raise findings.place.error("compare_args should map tool names to lists of argument names", "compare_args")
    return {tool: tuple(names) for tool, names in value.items()}


def _message(message: Any, at: str, findings: Findings) -> list[WireMessage]:
    place = findings.place
    if not isinstance(message, dict):
        raise place.error("a message should be an object with a role", at)
    role = message.get("role")
    kind = _ROLES.get(role) if isinstance(role, str) else None
    if kind is None:
        raise place.error(f"unknown role {role!r}; known: {', '.join(_ROLES)}", f"{at}.role")
    content = message.get("content")
    if kind == "tool":
        return _results(message, content, at, findings)
    if kind != "assistant":
        return [WireMessage(role=kind, content=text_of(content, f"{at}.content", findings), at=at)]
    reasoning = next((message[key] for key in _REASONING_KEYS if isinstance(message.get(key), str)), None)
    calls = [*_tool_calls(message.get("tool_calls"), at, findings), *_legacy_call(message, at, findings)]
    if isinstance(content, list):
        content, thoughts, typed = _typed_parts(content, f"{at}.content", findings)
        reasoning = "\n".join(thoughts) if thoughts else reasoning
        calls += typed
    text = text_of(content, f"{at}.content", findings)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal and not text:
        findings.note("refusal", refusal[:60], f"{at}.refusal")
        text = refusal
    return [WireMessage(role=kind, content=text, calls=tuple(calls), reasoning=reasoning or None, at=at)]


def _tool_calls(value: Any, at: str, findings: Findings) -> list[WireCall]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise findings.place.error("tool_calls should be a list", f"{at}.tool_calls")
    return [_call(item, f"{at}.tool_calls[{index}]", findings) for index, item in enumerate(value)]


def _call(item: Any, at: str, findings: Findings) -> WireCall:
    function = item.get("function", item) if isinstance(item, dict) else None
    if not isinstance(function, dict):
        raise findings.place.error("a tool call should be an object with a function", at)
    name, call_id = function.get("name"), item.get("id")
    return WireCall(
        name=name if isinstance(name, str) else "",
        arguments=function.get("arguments"),
        id=str(call_id) if call_id is not None and call_id != "" else None,
        at=at,
    )


def _legacy_call(message: dict[str, Any], at: str, findings: Findings) -> list[WireCall]:
    call = message.get("function_call")
    return [] if call is None else [_call(call, f"{at}.function_call", findings)]


def _typed_parts(parts: list[Any], at: str, findings: Findings) -> tuple[list[Any], list[str], list[WireCall]]:
    """Take reasoning and calls out of an assistant message's parts."""
    rest: list[Any] = []
    thoughts: list[str] = []
    calls: list[WireCall] = []
    for index, part in enumerate(parts):
        kind = part.get("type") if isinstance(part, dict) else None
        value = (
            next((part[key] for key in ("value", "text", "thinking") if isinstance(part.get(key), str)), None)
            if kind
            else None
        )
        if kind in ("reasoning", "thinking") and value is not None:
            thoughts.append(value)
        elif kind == "tool_call" and "value" in part:
            calls.append(_typed_call(part["value"], f"{at}[{index}]", findings))
        else:
            rest.append(part)
    return rest, thoughts, calls


def _typed_call(value: Any, at: str, findings: Findings) -> WireCall:
    if isinstance(value, str):
        try:
            value = jsonio.loads(value)
        except jsonio.JsonError:
            # What cannot be read stays a call with its text, as a malformed one.
            return WireCall(name="", arguments=value, at=at)
    return _call(value, at, findings)


def _results(message: dict[str, Any], content: Any, at: str, findings: Findings) -> list[WireMessage]:
    """A tool message as one result, or as the results of a whole batch where its text part is a list of them."""
    batch = _batch(content)
    if batch is not None:
        return [_result(item, item.get("content"), f"{at}.content[{i}]", findings) for i, item in enumerate(batch)]
    return [_result(message, content, at, findings)]


def _batch(content: Any) -> list[dict[str, Any]] | None:
    if not (isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict)):
        return None
    value = content[0].get("value")
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return None
    try:
        items = jsonio.loads(value)
    except jsonio.JsonError:
        return None
    fits = isinstance(items, list) and all(
        isinstance(item, dict) and "content" in item and ("tool_call_id" in item or "name" in item) for item in items
    )
    return items if fits and items else None


def _result(message: dict[str, Any], content: Any, at: str, findings: Findings) -> WireMessage:
    name, call_id = message.get("name"), message.get("tool_call_id")
    return WireMessage(
        role="tool",
        content=text_of(content, f"{at}.content", findings, is_result=True),
        call_id=str(call_id) if call_id is not None and call_id != "" else None,
        name=name if isinstance(name, str) else "",
        error=bool(message.get("error")),
        absent=message.get("absent") is True,
        at=at,
    )
