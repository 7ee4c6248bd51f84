"""Plain text in columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turngap.report.columns import columns, width, wrapped

_WORD = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)
_CELL = st.lists(_WORD, max_size=12).map(" ".join)


def test_numbers_stand_to_the_right_and_names_to_the_left() -> None:
    """Cells of a column begin or end in one place, and the last one is broken between words."""
    rows = [("name", "calls", ""), ("get_booking", "12", "a remark that is so long that it does not fit")]
    assert list(columns(rows, right=(1,), within=46)) == [
        "name         calls",
        "get_booking     12  a remark that is so long",
        "                    that it does not fit",
    ]
    assert list(columns([("a", "1"), ("b", "100")], right=(1,))) == ["a    1", "b  100"]
    assert list(columns([])) == []


def test_a_long_name_makes_the_line_longer() -> None:
    """What cannot be broken between words is never cut."""
    name = "x" * 100
    assert list(columns([(name, "1")], right=(1,), within=80)) == [f"{name}  1"]
    assert wrapped(f"see {name} there", 40) == ["see", name, "there"]
    assert wrapped("well-known path/to/some-file.json", 24) == ["well-known", "path/to/some-file.json"]


@given(st.lists(st.tuples(_WORD, _WORD, _CELL), min_size=1, max_size=6), st.integers(30, 120))
def test_every_word_is_there_whole_and_no_line_ends_in_white_space(
    rows: list[tuple[str, str, str]], within: int
) -> None:
    """Whatever the width, each row keeps all its words in order, and lines carry no filling."""
    lines = list(columns(rows, right=(1,), within=within))
    assert " ".join(lines).split() == [word for row in rows for cell in row for word in cell.split()]
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_pipe_is_80_columns_wide() -> None:
    """Without a terminal the width does not depend on where the command runs."""
    assert width() == 80
