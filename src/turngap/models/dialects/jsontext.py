"""Calls as plain JSON: ``{"name": ..., "arguments": {...}}``, an array of these, fenced or bare (dialect ``json``).

Bare JSON counts when it fills the text or ends it, beginning on a line of its own; fenced JSON anywhere. The name must
be a tool's and arguments must be spelled out. An unknown name counts only where the whole text is an object of exactly
``name`` and ``arguments`` (an invented tool), or behind a marker such as ``[TOOL_CALLS]`` that nothing else uses.
"""

from __future__ import annotations

import re
from typing import Any

from turngap.data import ToolCall
from turngap.models.dialects.base import (
    SEVERAL,
    Found,
    Tools,
    Unreadable,
    broken_call,
    calls_of,
    has_arguments,
    name_of,
    read_values,
)

NAME = "json"

_MARKER = re.compile(r"\[TOOL_CALLS\]|<\|python_tag\|>(?=\s*[{\[])|<\|tool_call\|>")
_FENCE = re.compile(r"```[\w-]*+[ \t]*+\n?+(.*?)```", re.DOTALL)
_LINE = re.compile(r"^[ \t]*+(?=[{\[])", re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]{0,127}\Z")
_BEGINS = re.compile(
    r'\s*+\[?\s*+\{\s*+"(?:name|function|tool)"\s*:\s*"([^"]+)"\s*,\s*"(?:arguments|parameters|args)"\s*:'
)
_MOST_STARTS = 50


def find(text: str, tools: Tools) -> list[Found]:
    """Find calls behind a marker, else in fences, else bare."""
    if "{" not in text:
        return []
    return _marked(text, tools) or _fenced(text, tools) or _bare(text, tools)


def _marked(text: str, tools: Tools) -> list[Found]:
    marker = _MARKER.search(text)
    if marker is None:
        return []
    values, end = read_values(text, marker.end())
    try:
        calls = [call for value, source in values for call in calls_of(value, source, tools)]
    except Unreadable:
        calls = []
    if not calls:
        return [Found(start=marker.start(), end=len(text), calls=(broken_call(text[marker.end() :], tools),))]
    return [_found(marker.start(), end, calls)]


def _fenced(text: str, tools: Tools) -> list[Found]:
    found = []
    for fence in _FENCE.finditer(text):
        inner = fence.group(1)
        values, end = read_values(inner, 0)
        calls = _all_calls(values, tools) if not inner[end:].strip() else []
        if calls:
            found.append(_found(fence.start(), fence.end(), calls))
    return found


def _bare(text: str, tools: Tools) -> list[Found]:
    first = len(text) - len(text.lstrip())
    tried = end = 0
    for line in _LINE.finditer(text):
        # What stands inside values that were read already ends where they end, and failed with them.
        if line.end() < end:
            continue
        if tried == _MOST_STARTS:
            break
        tried += 1
        values, end = read_values(text, line.end())
        calls = _all_calls(values, tools, invented=line.start() <= first) if not text[end:].strip() else []
        if calls:
            return [_found(line.start(), len(text), calls)]
    # A whole text that begins exactly like a call of a known tool and breaks off is a malformed call.
    begins = _BEGINS.match(text)
    if begins and begins.group(1) in tools:
        values, _ = read_values(text, 0)
        if not values:
            return [_found(0, len(text), [broken_call(text, tools)])]
    return []


def _all_calls(values: list[tuple[Any, str]], tools: Tools, *, invented: bool = False) -> list[ToolCall]:
    items = [item for value, _ in values for item in _items(value)]
    if not items or not all(_is_call(item, tools, invented=invented) for item in items):
        return []
    try:
        return [call for value, text in values for call in calls_of(value, text, tools)]
    except Unreadable:
        return []


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return list(value["tool_calls"])
    return value if isinstance(value, list) else [value]


def _is_call(value: Any, tools: Tools, *, invented: bool) -> bool:
    name = name_of(value)
    if name is None or not has_arguments(value):
        return False
    if name in tools:
        return True
    exact = set(value) == {"name", "arguments"} and isinstance(value["arguments"], dict)
    return invented and bool(tools) and exact and _IDENTIFIER.match(name) is not None


def _found(start: int, end: int, calls: list[ToolCall]) -> Found:
    return Found(start=start, end=end, calls=tuple(calls), notes=(SEVERAL,) if len(calls) > 1 else ())
