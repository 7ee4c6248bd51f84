"""Dialects of tool calls in text, one module each: how models write calls where the server has no parser for them."""

from __future__ import annotations

from turngap.errors import UsageError
from turngap.models.dialects import gemma, hermes, jsontext, python, xml
from turngap.models.dialects.base import Dialect, Found, Tools

ALL: tuple[Dialect, ...] = (hermes, xml, gemma, jsontext, python)
"""In the order in which ``auto`` tries them: unmistakable markers first. The first that finds calls is taken."""

NAMES = ("auto", "none", *(dialect.NAME for dialect in ALL))
"""What `--tool-parser` accepts."""


def chosen(parser: str) -> tuple[Dialect, ...]:
    """The dialects that a `--tool-parser` value stands for.

    Raises:
        UsageError: unknown name; the known ones are listed.
    """
    if parser == "auto":
        return ALL
    if parser == "none":
        return ()
    found = tuple(dialect for dialect in ALL if parser == dialect.NAME)
    if not found:
        raise UsageError(f"unknown --tool-parser {parser!r}; known: {', '.join(NAMES)}")
    return found


__all__ = ["ALL", "NAMES", "Dialect", "Found", "Tools", "chosen"]
