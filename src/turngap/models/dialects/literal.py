"""Python literals, read from the syntax tree and never run: true, false and null count too, doubled keys do not."""

from __future__ import annotations

import ast
import warnings
from typing import Any

from turngap.data.arguments import LONGEST_LITERAL

_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}


class NotLiteral(ValueError):
    """A value that would have to be computed, or that JSON cannot hold."""


def parse(source: str) -> list[ast.stmt]:
    """The statements of a source; empty when it is not Python, or longer than `LONGEST_LITERAL`."""
    source = source.strip()
    if len(source) > LONGEST_LITERAL:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(source).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []


def read(source: str) -> Any:
    """The value of a source that is one literal.

    Raises:
        NotLiteral: it is not.
    """
    body = parse(source)
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise NotLiteral("not one literal")
    try:
        return value_of(body[0].value)
    except RecursionError:
        raise NotLiteral("nested too deeply") from None


def value_of(node: ast.expr) -> Any:
    """The value of one node.

    Raises:
        NotLiteral: it is not a literal, or a key stands twice in it.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = value_of(node.operand)
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            return -inner
    if isinstance(node, ast.List | ast.Tuple):
        return [value_of(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [value_of(key) if key else None for key in node.keys]
        if all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys):
            return dict(zip(keys, map(value_of, node.values), strict=True))
    raise NotLiteral(f"{ast.unparse(node)!r} is not a literal")
