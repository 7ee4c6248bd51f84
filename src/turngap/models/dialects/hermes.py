"""Calls as JSON objects between ``<tool_call>`` and ``</tool_call>`` (Hermes, Qwen and many others).

One envelope should hold one object; several objects, an array, a Python literal or a Python call inside are tolerated
and noted, and so is an end tag that never comes. An envelope is unmistakable: whatever stands in it is a call, if need
be a malformed one. Envelopes around ``<function=...>`` belong to the `xml` dialect.
"""

from __future__ import annotations

import re

from turngap.data import ToolCall
from turngap.models.dialects import python
from turngap.models.dialects.base import (
    MOST_FOUND,
    SEVERAL,
    UNCLOSED,
    Found,
    Tools,
    Unreadable,
    broken_call,
    calls_of,
    read_values,
)

NAME = "hermes"

_OPEN = re.compile(r"<(tool_calls?|function_call)>\s*+")
_FENCE = re.compile(r"```\w*")


def find(text: str, tools: Tools) -> list[Found]:
    """Find every envelope."""
    found: list[Found] = []
    position = 0
    while len(found) < MOST_FOUND and (opening := _OPEN.search(text, position)) is not None:
        start, body = opening.start(), opening.end()
        if text.startswith("<function", body):
            position = body
            continue
        one = _envelope(text, start, body, f"</{opening.group(1)}>", tools)
        found.append(one)
        position = max(one.end, body)
    return found


def _unfenced(text: str) -> str:
    text = text.strip()
    if opening := _FENCE.match(text):
        text = text[opening.end() :]
    return text.removesuffix("```").strip()


def _envelope(text: str, start: int, body: int, closing: str, tools: Tools) -> Found:
    # JSON is read before the end tag is looked for, since a string in it may hold the tag.
    values, end = read_values(text, body)
    following = _OPEN.search(text, end)
    limit = following.start() if following else len(text)
    close = text.find(closing, end, limit)
    closed = close >= 0
    limit = close if closed else limit
    rest = text[end:limit].strip()
    notes: list[str] = [] if closed else [UNCLOSED]
    calls: list[ToolCall] = []
    try:
        for value, source in values:
            calls.extend(calls_of(value, source, tools))
    except Unreadable:
        calls = [broken_call(text[body:limit], tools)]
    else:
        if not calls:
            inner = _unfenced(text[body:limit])
            calls = python.read(inner, tools) or [broken_call(inner, tools)]
        elif rest.startswith(("{", "[")):
            # A further object that is cut or broken is one more call.
            calls.append(broken_call(rest, tools))
        elif rest and not closed:
            # Text after an unclosed envelope is the model speaking on.
            limit = end
        elif rest:
            notes.append("text_in_envelope")
    if len(calls) > 1:
        notes.append(SEVERAL)
    return Found(start=start, end=limit + len(closing) if closed else limit, calls=tuple(calls), notes=tuple(notes))
