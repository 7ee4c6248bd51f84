"""Calls written as Python: ``[get_booking(booking_id="BK-1")]``, or bare; one or several; alone or ending a text.

The text is parsed, never run; argument values must be literals (true, false and null are understood too). At least one
name must be a tool's; a list that begins like a call of a known tool and does not parse is a malformed call.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from turngap.data import ToolCall, ToolSpec
from turngap.data.arguments import parse_call
from turngap.models.dialects import literal
from turngap.models.dialects.base import SEVERAL, Found, Tools

NAME = "python"

_LONGEST = 20_000
_MOST_STARTS = 16
_START = re.compile(r"^[ \t]*+(\[\s*+)?+([A-Za-z_][\w.]*+)\s*+\(", re.MULTILINE)


def find(text: str, tools: Tools) -> list[Found]:
    """Find calls that fill a text, or end it, beginning on a line of their own."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    tried = 0
    for match in _START.finditer(text):
        if match.group(2) not in tools:
            continue
        start = match.start()
        broken = match.group(1) is not None and start <= first
        if last - start > _LONGEST and not broken:
            continue
        if tried == _MOST_STARTS:
            break
        tried += 1
        source = text[start:last].strip()
        calls = read(source, tools)
        if not calls and broken:
            calls = [_broken(source, match.group(2))]
        if calls:
            notes = (SEVERAL,) if len(calls) > 1 else ()
            return [Found(start=start, end=len(text), calls=tuple(calls), notes=notes)]
    return []


def read(source: str, tools: Tools) -> list[ToolCall]:
    """Read a source that consists of calls and nothing else; empty when it does not, or when no name is a tool's."""
    if len(source) > _LONGEST or "(" not in source:
        return []
    try:
        nodes = [node for statement in literal.parse(source) for node in _calls_in(statement)]
        if not nodes or None in nodes:
            return []
        calls = [_call(node, tools) for node in nodes if node is not None]
    except RecursionError:  # a name of a thousand parts, a sum of a thousand terms
        return []
    return calls if any(call.name in tools for call in calls) else []


def _calls_in(statement: ast.stmt) -> list[ast.Call | None]:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if isinstance(value, ast.List | ast.Tuple):
        return [_unwrap(item) for item in value.elts] or [None]
    return [_unwrap(value)]


def _unwrap(node: ast.expr | None) -> ast.Call | None:
    if not isinstance(node, ast.Call):
        return None
    # Models that were shown a notebook print what they call.
    if _dotted(node.func) == "print" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        return node.args[0]
    return node


def _call(node: ast.Call, tools: Tools) -> ToolCall:
    full = _dotted(node.func)
    name = full if full in tools or full.rpartition(".")[2] not in tools else full.rpartition(".")[2]
    spec = tools.get(name)
    try:
        arguments = _arguments(node, spec)
    except literal.NotLiteral as error:
        return ToolCall(name=name, arguments=None, raw=ast.unparse(node), error=str(error))
    return parse_call(name, arguments, spec, notes=("positional_arguments",) if node.args else ())


def _arguments(node: ast.Call, spec: ToolSpec | None) -> dict[str, Any]:
    known = list(spec.parameters.get("properties", {})) if spec else []
    if len(node.args) > len(known):
        raise literal.NotLiteral("more positional arguments than the tool has parameters")
    arguments = {key: literal.value_of(value) for key, value in zip(known, node.args, strict=False)}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise literal.NotLiteral("an argument that is given twice, or unpacked")
        arguments[keyword.arg] = literal.value_of(keyword.value)
    return arguments


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _broken(source: str, name: str) -> ToolCall:
    return ToolCall(name=name, arguments=None, raw=source, error="not a complete list of calls")
