"""Text from data as a terminal may see it: characters that steer the terminal, or turn writing around, are shown.

An id, a name or a reply can hold escape sequences that move the cursor, or marks that reverse the order in which a line
reads. Everything that is printed for a person goes through here; JSON and files do not, which hold what is true.
"""

from __future__ import annotations

SHOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands for each such character."""

_KEPT = "\t\n"
_STEERING = (
    *range(0x20),  # C0, with ESC
    *range(0x7F, 0xA0),  # DEL and C1
    0x061C,
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),  # other line ends, and the embeddings of bidirectional text
    *range(0x2066, 0x206A),
)
_TABLE = {code: SHOWN for code in _STEERING if chr(code) not in _KEPT}
_ONE_LINE = {**_TABLE, ord("\n"): SHOWN, ord("\t"): " "}


def harmless(text: str) -> str:
    """The text with `SHOWN` for every character that steers; line breaks and tabs stay."""
    return text.translate(_TABLE)


def one_line(text: str) -> str:
    """The same for an id or a name: its line breaks are shown too, so that it stays within its line."""
    return text.translate(_ONE_LINE)
