"""Calls as Gemma models write them: ``call:name{key:<|"|>value<|"|>}``, and Python in a ``tool_code`` fence.

Quotes are the special pieces ``<|"|>`` or ``<escape>``, or ordinary ones; values may be nested objects and arrays. The
name must be a tool's, except inside the model's own call markers.
"""

from __future__ import annotations

import re
from typing import Any

from turngap.data import ToolCall
from turngap.data.arguments import parse_call
from turngap.models.dialects import python
from turngap.models.dialects.base import MOST_DIGITS, MOST_FOUND, SEVERAL, Found, Tools

NAME = "gemma"

_CALL = re.compile(r"\bcall:\s*+([\w.-]++)\s*+(?=\{)")
_MARKERS = ("<start_function_call>", "<|tool_call>")
_END = re.compile(r"\s*(<end_function_call>|<tool_call\|>|<\|tool_call\|>)")
_FENCE = re.compile(r"```tool_code[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_QUOTES = ('<|"|>', "<escape>", '"', "'")
_BARE = re.compile(r"[^,{}\[\]]*")
_KEY = re.compile(r"\s*([\w.$-]+)\s*:\s*")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\Z")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_DEEPEST = 50


class _Broken(ValueError):
    pass


def find(text: str, tools: Tools) -> list[Found]:
    """Find calls in both forms."""
    found: list[Found] = []
    position = 0
    while len(found) < MOST_FOUND and (match := _CALL.search(text, position)) is not None:
        start, marked = _beginning(text, match.start(), position)
        position = match.end()
        name = match.group(1)
        if name not in tools and not marked:
            continue
        try:
            arguments, end = _object(text, match.end(), 0)
            call = parse_call(name, arguments, tools.get(name))
        except _Broken as error:
            end = len(text)
            call = ToolCall(name=name, arguments=None, raw=text[match.end() :], error=str(error))
        closing = _END.match(text, end)
        position = closing.end() if closing else end
        found.append(Found(start=start, end=position, calls=(call,)))
    if not found:
        for fence in _FENCE.finditer(text):
            calls = python.read(fence.group(1), tools)
            if calls:
                notes = (SEVERAL,) if len(calls) > 1 else ()
                found.append(Found(start=fence.start(), end=fence.end(), calls=tuple(calls), notes=notes))
    return found


def _beginning(text: str, call: int, after: int) -> tuple[int, bool]:
    """Where a call begins, its marker included, and whether it has one; looks back no further than `after`."""
    end = call
    while end > after and text[end - 1].isspace():
        end -= 1
    for marker in _MARKERS:
        if text.endswith(marker, after, end):
            return end - len(marker), True
    return call, False


def _object(text: str, position: int, depth: int) -> tuple[dict[str, Any], int]:
    if depth > _DEEPEST:
        raise _Broken("nested too deeply")
    result: dict[str, Any] = {}
    position = _space(text, position + 1)
    while not text.startswith("}", position):
        quoted = _quoted(text, position)
        if quoted is not None:
            key, position = quoted
            colon = _space(text, position)
            if not text.startswith(":", colon):
                raise _Broken(f"no colon after key {key!r} at character {colon}")
            position = _space(text, colon + 1)
        elif match := _KEY.match(text, position):
            key, position = match.group(1), match.end()
        else:
            raise _Broken(f"no key at character {position}")
        if key in result:
            raise _Broken(f"key {key!r} stands twice in one object")
        result[key], position = _value(text, position, depth)
        position = _comma(text, position, "}")
    return result, position + 1


def _array(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise _Broken("nested too deeply")
    result: list[Any] = []
    position = _space(text, position + 1)
    while not text.startswith("]", position):
        value, position = _value(text, position, depth)
        result.append(value)
        position = _comma(text, position, "]")
    return result, position + 1


def _value(text: str, position: int, depth: int) -> tuple[Any, int]:
    position = _space(text, position)
    if text.startswith("{", position):
        return _object(text, position, depth + 1)
    if text.startswith("[", position):
        return _array(text, position, depth + 1)
    quoted = _quoted(text, position)
    if quoted is not None:
        return quoted
    match = _BARE.match(text, position)
    word = match.group().strip() if match else ""
    if match is None or not word:
        raise _Broken(f"no value at character {position}")
    if _NUMBER.match(word) and len(word) <= MOST_DIGITS:
        return (float(word) if re.search(r"[.eE]", word) else int(word)), match.end()
    return _WORDS.get(word.lower(), word), match.end()


def _quoted(text: str, position: int) -> tuple[str, int] | None:
    for quote in _QUOTES:
        if text.startswith(quote, position):
            begin = position + len(quote)
            end = text.find(quote, begin)
            if end < 0:
                raise _Broken(f"a text that begins at character {position} never ends")
            return text[begin:end], end + len(quote)
    return None


def _comma(text: str, position: int, closing: str) -> int:
    position = _space(text, position)
    if text.startswith(",", position):
        return _space(text, position + 1)
    if not text.startswith(closing, position):
        raise _Broken(f"neither a comma nor {closing!r} at character {position}")
    return position


def _space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
