"""What a dialect of tool calls is, and how call objects written as JSON are read in all of them.

A dialect finds calls that a model wrote into its text. It fires on markers that nothing else uses, or on names of tools
that the request offered, so that prose and JSON meant for the customer stay text. It never drops what it recognised: a
call whose arguments cannot be read is found as a malformed call with its text.

A model can write anything, so every dialect reads in time that grows in proportion to the text: no pattern here can
meet one stretch of text twice, and what is tried repeatedly is tried a bounded number of times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from turngap import jsonio
from turngap.data import ToolCall, ToolSpec
from turngap.data.arguments import parse_call
from turngap.models.dialects import literal

Tools = Mapping[str, ToolSpec]
"""The tools of the request by name."""

MOST_FOUND = 1_000
"""Stretches of calls that are looked for in one text; what stands behind them stays text."""
MOST_DIGITS = 4_000
"""Characters of a number; a longer one stays text, for Python refuses to read it."""
SEVERAL = "several_calls_in_one_envelope"
UNCLOSED = "unclosed_envelope"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Calls found in one stretch of text."""

    start: int
    end: int
    """`text[start:end]` is what the calls, with their envelope, were written as."""
    calls: tuple[ToolCall, ...]
    notes: tuple[str, ...] = ()
    """Tolerances that were needed to read the envelope."""


class Dialect(Protocol):
    """One way to write calls as text; each is a module of this package."""

    NAME: str
    """What `--tool-parser` and stored predictions call it."""

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Find the calls of a text, in order and without overlap. Never raises."""
        ...


_NAME_KEYS = ("name", "function", "tool", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")
_DECODER = json.JSONDecoder()
_NAME = re.compile(r"""["'](?:name|function|tool_name)["']\s*:\s*["']([^"']*)["']""")
_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args)["']\s*:\s*""")


class Unreadable(ValueError):
    """A value that is not a call object."""


def read_values(text: str, start: int) -> tuple[list[tuple[Any, str]], int]:
    """Read JSON values that stand one after the other (white space, commas or semicolons between).

    Returns:
        (value, its text) of each, and the position after the last one. Values are as the decoder gives them; whether
        they are strict JSON is decided when they become calls.
    """
    found: list[tuple[Any, str]] = []
    position = start
    while True:
        begin = _skip(text, position, separators=bool(found))
        if begin >= len(text) or text[begin] not in "{[":
            return found, position
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return found, position
        found.append((value, text[begin:end]))
        position = end


def _skip(text: str, position: int, *, separators: bool) -> int:
    while position < len(text) and (text[position].isspace() or (separators and text[position] in ",;")):
        position += 1
    return position


def name_of(value: Any) -> str | None:
    """The function name of a call object; None when it is not one."""
    while isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    return next((str(value[key]) for key in _NAME_KEYS if isinstance(value.get(key), str)), None)


def has_arguments(value: dict[str, Any]) -> bool:
    """Whether a call object spells arguments out."""
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    return any(key in inner for key in _ARGUMENT_KEYS)


def calls_of(value: Any, source: str, tools: Tools) -> list[ToolCall]:
    """Turn a decoded call object, or an array of them, into calls.

    Raises:
        Unreadable: something in it is not a call object.
    """
    if isinstance(value, list) or _is_bundle(value):
        items = list(_unpacked(value))
        return [_call_of(item, json.dumps(item, ensure_ascii=False), tools) for item in items]
    return [_call_of(value, source, tools)]


def _is_bundle(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("tool_calls"), list)


def _unpacked(value: Any) -> Iterator[Any]:
    """What arrays, and objects that hold ``tool_calls``, hold in the end, in order; without recursion or copies."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if _is_bundle(item):
            item = item["tool_calls"]
        if isinstance(item, list):
            waiting.extend(reversed(item))
        else:
            yield item


def _call_of(value: Any, source: str, tools: Tools) -> ToolCall:
    name = name_of(value)
    if name is None:
        raise Unreadable(source)
    try:
        jsonio.loads(source)
    except jsonio.JsonError:
        # A key that stands twice, NaN: the arguments' own text says it again, and the call stays as malformed.
        return broken_call(source, tools)
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    arguments = next((inner[key] for key in _ARGUMENT_KEYS if key in inner), None)
    return parse_call(name, arguments, tools.get(name))


def broken_call(source: str, tools: Tools) -> ToolCall:
    """Read what can be read of a call object that is not JSON: its name, and its arguments as text.

    Where the arguments alone are whole (only the braces around them are not), the call counts, with a note.
    """
    try:
        value = literal.read(source)
    except literal.NotLiteral:
        value = None
    if isinstance(value, dict) and (name := name_of(value)) is not None:
        arguments = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
        return parse_call(name, arguments, tools.get(name), notes=("python_literal",))
    named = _NAME.search(source)
    name = named.group(1) if named else ""
    begins = _ARGUMENTS.search(source)
    if begins is None:
        text = source.strip()
        return ToolCall(name=name, arguments=None, raw=text, error="no arguments could be read from the call")
    values, end = read_values(source, begins.end())
    if len(values) == 1 and not source[end:].strip(" \n\t}"):
        return parse_call(name, values[0][1], tools.get(name), notes=("unclosed_object",))
    text = source[begins.end() :].strip()
    return parse_call(name, text, tools.get(name))
