r"""Markdown that shows text as text: cells of tables, inline text, fenced blocks, headings.

Whatever comes from data goes through one of these functions. Nothing in it is rendered: no emphasis, link, image, HTML
or mention comes to life, a table keeps its columns, and a fence cannot be closed from inside.

A cell that a spreadsheet would run as a formula (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return,
invisible characters in front of it not counted) gets an apostrophe in front, which is how spreadsheets mark text;
numbers stay as they are. To get the original back, take that one apostrophe away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from turngap import jsonio

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#!|~$])")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?")
_RUNS = "=+-@\t\r"
_MENTION = re.compile(r"@(?=\w)")
_SCHEME = re.compile(r"(?i)\b(https?|ftp|mailto|www)(?=[:.])")
_JOINER = "\u2060"  # WORD JOINER: seen by nobody, and enough to keep a name from being a mention or an address a link


def escape(text: str) -> str:
    """Text as inline Markdown: one line, nothing in it is markup."""
    line = " ".join(jsonio.clean(text).replace("\x00", "\ufffd").split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(r"\\\1", line)
    line = _MENTION.sub(f"@{_JOINER}", _SCHEME.sub(rf"\1{_JOINER}", line))
    # At the start of a line, these would begin a list, a rule or a heading.
    return re.sub(r"^(\d+)([.)])(?=\s|$)|^([-+=])", _escaped_start, line)


def code(text: str) -> str:
    """Text as inline code: one line, letter by letter, escapes and entities included."""
    line = " ".join(jsonio.clean(text).replace("\x00", "\ufffd").split())
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", line)), default=0))
    # A blank on both sides is taken off again; without it a backtick at an end would belong to the fence.
    room = " " if not line or line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{room}{line}{room}{fence}"


def escape_cell(text: str) -> str:
    """Text as a cell of a Markdown table; formulas are disarmed (see the module)."""
    return escape(disarm(text))


def disarm(text: str) -> str:
    """Put an apostrophe in front of what a spreadsheet would run; numbers and everything else stay as they are."""
    if _NUMBER.fullmatch(text):
        return text
    seen = next((char for char in text if char in _RUNS or not _is_invisible(char)), "")
    return f"'{text}" if seen and seen in _RUNS and text.strip() != "-" else text


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[bool] = ()) -> str:
    """A table from cells that are escaped already.

    Args:
        head: the column headings.
        rows: cells, as many as headings.
        numbers: which columns are set to the right.
    """
    right = [*numbers, *[False] * (len(head) - len(numbers))]
    lines = [_row(head), _row("---:" if flush else "---" for flush in right), *map(_row, rows)]
    return "\n".join(lines)


def fenced(text: str) -> str:
    """Text in a fence that is longer than any run of backticks in it."""
    text = jsonio.clean(text).replace("\x00", "\ufffd")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped_start(found: re.Match[str]) -> str:
    number, stop, sign = found.groups()
    return f"{number}\\{stop}" if number else f"\\{sign}"


def _is_invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cf", "Cc")
