"""Cells of spreadsheets: disarmed against formulas and restored (SEC-09)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.report.cell import LONGEST, cell, disarm, restore


@pytest.mark.parametrize(
    "text",
    [
        '=HYPERLINK("http://example.org","click")',
        "-Infinity",
        "\u200b=1+1",
        "+1",
        "@SUM(A1)",
        "\t=1",
        "\tplain",
        "\r=1",
        "  =1",
        "\ufeff-2",
        "＝1+1",
    ],
)
def test_sec_09_formulas_are_disarmed(text: str) -> None:
    """SEC-09: what a spreadsheet would run begins with an apostrophe."""
    assert disarm(text) == f"'{text}"
    assert restore(disarm(text)) == text


@pytest.mark.parametrize("text", ["", "BK-1042", "a=b", "it's", "2 May", "(-1)", "#W123"])
def test_plain_text_stays_as_it_is(text: str) -> None:
    """Text that nothing runs is not touched."""
    assert disarm(text) == text


def test_sec_09_numbers_stay_numbers() -> None:
    """SEC-09: a negative number is no formula."""
    assert cell(-0.05) == -0.05
    assert cell("-0.05") == "'-0.05"


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    """Disarming loses nothing, apostrophes in front included, and what is disarmed is safe."""
    assert restore(disarm(text)) == text
    assert disarm(text)[:1] not in set("=+-@\t\r\n")


def test_long_text_is_cut_in_the_middle() -> None:
    """A cell never exceeds what spreadsheets hold, and says that something is left out."""
    found = cell("a" * 40_000 + "the end")
    assert isinstance(found, str)
    assert len(found) <= LONGEST
    assert found.endswith("the end")
    assert "left out" in found


def test_controls_are_removed() -> None:
    """Control characters other than line breaks and tabs do not reach a cell."""
    assert cell("a\x00b\x1bc\nd") == "abc\nd"
