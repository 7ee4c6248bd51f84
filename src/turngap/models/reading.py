"""From a server's message to an `AssistantMessage`: text, calls and reasoning, however they were delivered.

`read` is pure, so stored raw output can be read again with another parser (`turngap score --tool-parser`) and gives
what the run would have given. Its rules:

* Native ``tool_calls`` (or a legacy ``function_call``) are taken as they are, all of them.
* Without native calls the text dialects are tried on the text that remains when reasoning is taken out.
* A call inside reasoning counts only when there is neither text nor a call elsewhere and the reasoning ends with the
  complete call: the model forgot to close its thoughts. It is noted as ``from_reasoning``. A call that the model merely
  considered and went on after does not count.
* A text that looks like a call but was not read as one is noted as ``unparsed_call``.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Finish, ToolCall, ToolSpec
from turngap.data.arguments import parse_call
from turngap.models import dialects, reasoning
from turngap.models.dialects.base import UNCLOSED
from turngap.models.names import Names

VERSION = 1
"""Raised when `read` or a dialect would read an old answer differently."""

NATIVE = "native"
UNPARSED = "unparsed_call"
FROM_REASONING = "from_reasoning"

_DECODER = msgspec.json.Decoder(dict[str, Any])
_FINISH = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.FILTER,
    "safety": Finish.FILTER,
    "refusal": Finish.FILTER,
}
_LOOKS_LIKE_CALL = re.compile(
    r"<\|?tool[_▁]?calls?|<function[=_ ]|<｜tool|\[TOOL_CALLS\]|<\|python_tag\|>|<arg_key>|\"tool_calls\"\s*:"
    r"|to=functions\.|<invoke |\"arguments\"\s*:\s*\{|\"parameters\"\s*:\s*\{|\bcall:\w+\{|```tool_code"
)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a raw message says."""

    message: AssistantMessage
    dialect: str
    """``native``, or the text dialect in which calls were found."""
    notes: tuple[str, ...] = ()


class ToolView:
    """One set of tools as readers need it; build it once per set."""

    __slots__ = ("by_name", "names", "pattern")

    def __init__(self, tools: tuple[ToolSpec, ...]) -> None:
        self.names = Names(tool.name for tool in tools)
        self.by_name = {tool.name: tool for tool in tools}
        # Models see the names on the wire; both are understood in text.
        self.by_name.update({self.names.outward(tool.name): tool for tool in tools})
        alternatives = "|".join(re.escape(name) for name in sorted(self.by_name, key=len, reverse=True))
        self.pattern = re.compile(rf"(?<![\w.-])({alternatives})\s*[({{]") if alternatives else None
        """A tool's name with a parenthesis or brace after it."""


def reparse(raw: str, tools: tuple[ToolSpec, ...], tool_parser: str) -> Reading:
    """Read a stored raw message again.

    Args:
        raw: `Prediction.raw`.
        tools: the tools of the request.
        tool_parser: ``auto``, ``none`` or a dialect's name.

    Raises:
        UsageError: unknown parser. JsonError: `raw` is not a message (a baseline's is empty).
    """
    try:
        message = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        raise jsonio.JsonError("the stored raw output is not a message object") from None
    return read(message, ToolView(tools), dialects.chosen(tool_parser))


def finish_of(reason: str | None) -> Finish:
    """What a server's finish_reason means; an unknown or missing one counts as a stop."""
    return _FINISH.get((reason or "").lower(), Finish.STOP)


def read(message: dict[str, Any], view: ToolView, parsers: tuple[dialects.Dialect, ...]) -> Reading:
    """Read one message, as the module docstring says. Never raises: what cannot be read stays as text or malformed."""
    notes: list[str] = []
    content, thoughts_in_parts = _text_of(message.get("content"), notes)
    if not content and isinstance(refusal := message.get("refusal"), str) and refusal:
        content = refusal
        notes.append("refusal")
    calls = _native_calls(message, view, notes)
    said, thoughts_in_text = reasoning.split(content)
    thoughts = "\n\n".join(filter(None, (reasoning.field_of(message), thoughts_in_parts, thoughts_in_text)))
    dialect = NATIVE
    if not calls:
        said, calls, dialect = _text_calls(said, thoughts, view, parsers, notes)
    return Reading(
        message=AssistantMessage(content=jsonio.clean(said), calls=calls, reasoning=jsonio.clean(thoughts) or None),
        dialect=dialect,
        notes=tuple(dict.fromkeys(notes)),
    )


def _text_of(content: Any, notes: list[str]) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return "", ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        value = (
            next((part[key] for key in ("text", "refusal", "thinking", "reasoning") if part.get(key)), "")
            if kind
            else ""
        )
        if isinstance(value, str) and value:
            (thoughts if kind in ("thinking", "reasoning") else texts).append(value)
        elif value or kind is None:
            notes.append("content_part_ignored")
    return "".join(texts), "\n\n".join(thoughts)


def _native_calls(message: dict[str, Any], view: ToolView, notes: list[str]) -> tuple[ToolCall, ...]:
    found = message.get("tool_calls")
    entries = list(found) if isinstance(found, list) else []
    if not entries and isinstance(legacy := message.get("function_call"), dict):
        notes.append("function_call")
        entries = [{"function": legacy}]
    return tuple(_native_call(entry, view) for entry in entries)


def _native_call(entry: Any, view: ToolView) -> ToolCall:
    function = entry.get("function") or entry.get("custom") or entry if isinstance(entry, dict) else {}
    function = function if isinstance(function, dict) else {}
    name = function.get("name")
    name = view.names.inward(name.strip()) if isinstance(name, str) else ""
    arguments = function.get("arguments", function.get("input"))
    return parse_call(name, arguments, view.by_name.get(name))


def _text_calls(
    said: str, thoughts: str, view: ToolView, parsers: tuple[dialects.Dialect, ...], notes: list[str]
) -> tuple[str, tuple[ToolCall, ...], str]:
    for parser in parsers:
        found = parser.find(said, view.by_name)
        if found:
            notes.extend(note for one in found for note in one.notes)
            return _without(said, found), _inward(found, view), parser.NAME
    if thoughts and not said.strip():
        for parser in parsers:
            found = _trailing(parser.find(thoughts, view.by_name), thoughts)
            if found:
                notes.extend((FROM_REASONING, *(note for one in found for note in one.notes)))
                return "", _inward(found, view, FROM_REASONING), parser.NAME
    if _LOOKS_LIKE_CALL.search(said) or (view.pattern is not None and view.pattern.search(said)):
        notes.append(UNPARSED)
    return said, (), NATIVE


def _trailing(found: list[dialects.Found], text: str) -> list[dialects.Found]:
    """The complete calls that end a text with nothing but white space between them."""
    kept: list[dialects.Found] = []
    end = len(text)
    for one in reversed(found):
        whole = UNCLOSED not in one.notes and all(call.error is None for call in one.calls)
        if text[one.end : end].strip() or not whole:
            break
        kept.append(one)
        end = one.start
    return kept[::-1]


def _without(text: str, found: list[dialects.Found]) -> str:
    pieces, position = [], 0
    for one in found:
        pieces.append(text[position : one.start].strip())
        position = one.end
    pieces.append(text[position:].strip())
    return "\n".join(filter(None, pieces))


def _inward(found: list[dialects.Found], view: ToolView, *notes: str) -> tuple[ToolCall, ...]:
    return tuple(
        msgspec.structs.replace(call, name=view.names.inward(call.name), notes=(*call.notes, *notes))
        for one in found
        for call in one.calls
    )
