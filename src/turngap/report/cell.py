"""Text in cells of tables that spreadsheet programs open: disarmed against formulas, and back.

A spreadsheet runs a cell that begins with = + - @ (or a full-width form, or behind blanks and invisible signs) as a
formula, however it is quoted. Such text gets an apostrophe in front, and so does text that begins with an apostrophe,
so that `restore` gives every text back. Numbers are no text: they stay numbers, negative ones too.
"""

from __future__ import annotations

import unicodedata

_FORMULA = frozenset("=+-@＝＋－＠")
_BLANK = ("C", "Z")
"""Unicode categories of controls, format signs and spaces."""
LONGEST = 32_000
"""Characters that a cell of the common spreadsheet programs can hold, with some room."""
_CUT = "\n[... left out here: too long for a cell; the JSONL form has all ...]\n"


def disarm(text: str) -> str:
    """The text as a cell that no spreadsheet runs."""
    return f"'{text}" if text.startswith("'") or _runs(text) else text


def restore(cell: str) -> str:
    """The text of a cell that `disarm` made."""
    rest = cell[1:]
    return rest if cell.startswith("'") and (rest.startswith("'") or _runs(rest)) else cell


def cell(value: str | float) -> str | float:
    """A value as a cell: text without controls, cut in the middle where too long, and disarmed; numbers as they are."""
    if not isinstance(value, str):
        return value
    plain = "".join(sign for sign in value if sign in "\n\t" or unicodedata.category(sign) != "Cc")
    if len(plain) > LONGEST:
        half = (LONGEST - len(_CUT)) // 2
        plain = plain[:half] + _CUT + plain[-half:]
    return disarm(plain)


def _runs(text: str) -> bool:
    if text[:1] in ("\t", "\r", "\n"):
        return True
    first = next((sign for sign in text if unicodedata.category(sign)[0] not in _BLANK), "")
    return first in _FORMULA
