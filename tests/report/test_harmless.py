"""What steers a terminal is shown, not obeyed."""

from __future__ import annotations

import pytest
from rich.text import Text

from turngap.report.harmless import SHOWN, harmless, one_line
from turngap.report.table import console


@pytest.mark.parametrize(
    "code", [0x00, 0x07, 0x0D, 0x1B, 0x7F, 0x85, 0x9B, 0x061C, 0x200F, 0x2028, 0x202E, 0x2066, 0x2069]
)
def test_a_steering_character_is_shown(code: int) -> None:
    """C0, C1, other line ends and controls of the writing direction each become one visible character."""
    assert harmless(f"a{chr(code)}b") == one_line(f"a{chr(code)}b") == f"a{SHOWN}b"


def test_other_text_stays() -> None:
    """Letters of every writing, joiners and emoji are what they were; line breaks stay except within a name."""
    text = "Zürich שלום 日本 a\u200db 🚤\n\tend"
    assert harmless(text) == text
    assert one_line("a\nb\tc") == f"a{SHOWN}b c"


def test_a_console_prints_nothing_that_steers(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a table or sentence holds, the console shows it."""
    console().print(Text("id \x1b[2J\x9b31m\u202etxt"), "plain \x1b]0;title", sep="\n")
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x9b" not in out and "\u202e" not in out
    assert f"id {SHOWN}[2J{SHOWN}31m{SHOWN}txt" in out
