"""Calls as tags: ``<function=name><parameter=key>value</parameter></function>`` (Qwen Coder, Llama and others).

A value is text between tags, so the tool's schema decides what it is: a number only where the schema says number and
the text is one, text everywhere else. What does not fit stays the text it was; no call is ever dropped. A function tag
around a JSON object is read too. The tags are unmistakable, so names need not be known.
"""

from __future__ import annotations

import re
from typing import Any

from turngap import jsonio
from turngap.data import ToolCall
from turngap.data.arguments import parse_call
from turngap.models.dialects.base import MOST_DIGITS, MOST_FOUND, UNCLOSED, Found, Tools

NAME = "xml"

_NAME = r"(?:=|\s++name=)\s*+[\"']?+([^<>\"'\s](?:[^<>\"'\n]{0,250}[^<>\"'\s])?)[\"']?\s*+>"
_OPEN = re.compile(rf"(?:<tool_call>\s*+)?+<function{_NAME}")
_CLOSE = re.compile(r"</function>(?:\s*+</tool_call>)?+")
_PARAMETER = re.compile(rf"<parameter{_NAME}")
_INTEGER = re.compile(r"[+-]?\d+(\.0*)?\Z")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")


def find(text: str, tools: Tools) -> list[Found]:
    """Find every function tag."""
    found: list[Found] = []
    position = 0
    while len(found) < MOST_FOUND and (opening := _OPEN.search(text, position)) is not None:
        following = _OPEN.search(text, opening.end())
        limit = following.start() if following else len(text)
        closing = _CLOSE.search(text, opening.end(), limit)
        body = text[opening.end() : closing.start() if closing else limit]
        position = closing.end() if closing else limit
        name = opening.group(1)
        call = _call(name, body, tools)
        notes = () if closing else (UNCLOSED,)
        found.append(Found(start=opening.start(), end=position, calls=(call,), notes=notes))
    return found


def _call(name: str, body: str, tools: Tools) -> ToolCall:
    spec = tools.get(name)
    if body.lstrip().startswith("{"):
        return parse_call(name, body.strip(), spec)
    properties: Any = spec.parameters.get("properties") if spec else None
    arguments: dict[str, Any] = {}
    tags = list(_PARAMETER.finditer(body))
    for index, tag in enumerate(tags):
        limit = tags[index + 1].start() if index + 1 < len(tags) else len(body)
        end = body.rfind("</parameter>", tag.end(), limit)
        key = tag.group(1)
        if key in arguments:
            return ToolCall(name=name, arguments=None, raw=body, error=f"parameter {key!r} is given twice")
        if end < 0 and limit == len(body):
            return ToolCall(name=name, arguments=None, raw=body, error=f"parameter {key!r} never ends")
        value = body[tag.end() : end if end >= 0 else limit]
        arguments[key] = typed(_unwrap(value), properties.get(key) if isinstance(properties, dict) else None)
    if not tags and body.strip():
        return ToolCall(name=name, arguments=None, raw=body, error="neither parameters nor a JSON object in the tag")
    return parse_call(name, arguments or None, spec)


def _unwrap(value: str) -> str:
    # One line break after the opening tag and one before the closing tag belong to the layout.
    end = "\r\n" if value.startswith("\r\n") else "\n"
    return value.removeprefix(end).removesuffix(end)


def typed(text: str, schema: Any) -> Any:
    """Read a text as the type that a property's schema declares; anything that does not fit stays the text it is."""
    kinds = _kinds(schema)
    word = text.strip()
    if not kinds or "string" in kinds:
        return text
    if "null" in kinds and word.lower() in ("null", "none"):
        return None
    if len(word) > MOST_DIGITS and not kinds & {"object", "array"}:
        return text
    if "integer" in kinds and _INTEGER.match(word):
        return int(word.partition(".")[0])
    if "number" in kinds and _NUMBER.match(word):
        return float(word) if re.search(r"[.eE]", word) else int(word)
    if "boolean" in kinds and word.lower() in ("true", "false"):
        return word.lower() == "true"
    if kinds & {"object", "array"}:
        try:
            value = jsonio.loads(word)
        except jsonio.JsonError:
            return text
        if isinstance(value, dict | list):
            return value
    return text


def _kinds(schema: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    kinds = schema.get("type")
    found = {kinds} if isinstance(kinds, str) else {kind for kind in kinds or () if isinstance(kind, str)}
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _kinds(choice)
    return found
