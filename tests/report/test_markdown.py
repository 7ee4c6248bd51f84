"""Markdown: whatever comes from data is shown as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.report.markdown import code, disarm, escape, escape_cell, fenced, table


def test_sec_07_markup_is_text() -> None:
    """SEC-07: images, links, HTML and formulas of a message are shown, not rendered."""
    assert escape("<img src=x onerror=alert(1)>") == "&lt;img src=x onerror=alert\\(1\\)&gt;"
    assert escape("[x](javascript:alert(1))") == "\\[x\\]\\(javascript:alert\\(1\\)\\)"
    assert escape("$\\href{a}{b}$").startswith("\\$\\\\href\\{")
    assert escape("@someone, see https://example.org") == "@\u2060someone, see https\u2060://example.org"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("new:qwen3?hidden=64&layers=2", "`new:qwen3?hidden=64&layers=2`"),
        ("a\nb_c &amp; <b>", "`a b_c &amp; <b>`"),
        ("`x` and ``y``", "``` `x` and ``y`` ```"),
        ("", "`  `"),
    ],
)
def test_code_is_letter_by_letter(text: str, shown: str) -> None:
    """Nothing in it is markup, an escape or an entity, so it is also readable as it stands in the file."""
    assert code(text) == shown


@pytest.mark.parametrize(
    "text", ['=HYPERLINK("http://example.org")', "\u200b=1+1", "\t=1", "-Infinity", "@SUM(A1)", "+1-1"]
)
def test_sec_09_formulas_are_disarmed(text: str) -> None:
    """SEC-09: a cell that a spreadsheet would run gets an apostrophe, and gives the text back without it."""
    assert disarm(text) == "'" + text
    assert escape_cell(text).startswith("'")


@pytest.mark.parametrize("text", ["-0.05", "12", "+3.5%", "-", "a=b", "plain", ""])
def test_sec_09_numbers_and_plain_text_stay(text: str) -> None:
    """SEC-09: numbers stay numbers, and what no spreadsheet runs stays as it is."""
    assert disarm(text) == text


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_sec_09_a_table_keeps_its_columns(cells: list[str]) -> None:
    """SEC-09: pipes and line ends of any text neither add a column nor a row."""
    lines = table(["a", "b"], [[escape_cell(cell) for cell in cells]]).split("\n")
    assert len(lines) == 3
    assert len([at for at, char in enumerate(lines[2]) if char == "|" and not _is_escaped(lines[2], at)]) == 3


@given(st.text(alphabet="`ab\n"))
def test_a_fence_is_not_closed_from_inside(text: str) -> None:
    """However many backticks a text has, its fence has more."""
    first, *_, last = fenced(text).split("\n")
    assert first == last + "text"
    assert last not in text


def test_what_begins_a_block_does_not() -> None:
    """A text that begins like a list, a rule or a heading is a text."""
    assert [escape(text) for text in ("- x", "1. x", "# x", "--- x")] == ["\\- x", "1\\. x", "\\# x", "\\--- x"]


def _is_escaped(line: str, at: int) -> bool:
    slashes = len(line[:at]) - len(line[:at].rstrip("\\"))
    return slashes % 2 == 1
