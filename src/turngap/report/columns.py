"""Plain text in columns: nothing is ever cut, no line ends in white space, and nothing is imported for it.

For reports on data that are printed without figures. A name or a path that is longer than the terminal is wide makes
its line longer; only running text is broken, between words.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence

_GAP = "  "
_LEAST = 24
"""Columns that running text gets at least, whatever stands before it."""
_PIPED = 80


def width() -> int:
    """Columns of the terminal; 80 where standard output is none."""
    return shutil.get_terminal_size((_PIPED, 24)).columns if sys.stdout.isatty() else _PIPED


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), within: int = _PIPED) -> Iterator[str]:
    """Lines that show a table.

    Args:
        rows: cells; each row has as many. Line breaks in the last cell are kept.
        right: columns that stand to the right, such as numbers.
        within: columns to stay within, where words allow it; the last cell is broken for that.
    """
    if not rows:
        return
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    taken = sum(widths) + len(_GAP) * len(widths)
    last = len(widths)
    room = max(_LEAST, within - taken)
    span = max((min(len(line), room) for row in rows for line in row[last].splitlines()), default=0)
    for row in rows:
        cells = [
            cell.rjust(wide) if at in right else cell.ljust(wide)
            for at, (cell, wide) in enumerate(zip(row, widths, strict=False))
        ]
        for number, line in enumerate(wrapped(row[last], room) or [""]):
            head = cells if number == 0 else [" " * wide for wide in widths]
            yield _GAP.join([*head, line.rjust(span) if last in right else line]).rstrip()


def wrapped(text: str, within: int, indent: str = "") -> list[str]:
    """The lines of a text, broken between words alone; `indent` stands before all lines but the first."""
    return [
        piece
        for line in text.splitlines()
        for piece in textwrap.wrap(
            line, max(within, _LEAST), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        or [""]
    ]
