"""The file of the index: words, passages, and that it is made anew where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from turngap.web.entry import Entry
from turngap.web.index import BEGIN_MARK, END_MARK, Index
from turngap.web.query import expression

PROTOCOLS = ("turn", "replay")


def entry(item: str, recorded: str = "", own: str = "", **other: object) -> Entry:
    """A unit with these words."""
    return Entry(item=item, recorded=recorded, own=own, **other)  # type: ignore[arg-type]


def filled(path: Path, *entries: Entry) -> Index:
    """A published index of units that all passed."""
    index = Index(path / "index.sqlite", PROTOCOLS)
    with index.writing() as writer:
        writer.put(((at, one, "pp") for at, one in enumerate(entries)), {"about": {"n": len(entries)}})
    index.reload()
    return index


def found(index: Index, text: str, within: str = "") -> list[int]:
    """Keys of the units that hold words."""
    columns = index.columns
    return columns.window(index.search(columns, expression(text, within)), columns.sorted_by(""), 0, 100)


def test_words_are_found_whatever_their_case_accents_and_script(tmp_path: Path) -> None:
    """Letters with and without accents meet, ids are found with their signs, and scripts without spaces sign by sign."""
    index = filled(
        tmp_path,
        entry("a", "Wo ist Björn GRÜSSE?"),
        entry("b", own="order #LF-1042 of user_7"),
        entry("c", "航班明天取消了"),
        entry("d", "naïve 🚢 ship"),
    )
    assert found(index, "bjorn") == found(index, "Grüsse") == [0]
    assert found(index, "LF-1042") == found(index, "user_7") == found(index, '"#LF-1042 of"') == [1]
    assert found(index, "明天") == found(index, "取消") == [2]
    assert found(index, "天明") == []
    assert found(index, "NAIVE ship") == [3]
    assert found(index, "shi*") == [3]
    assert found(index, "shi") == []


def test_where_words_stand_can_be_asked_for(tmp_path: Path) -> None:
    """Words of the recording and words of the model are told apart; unless asked, both are looked through."""
    index = filled(tmp_path, entry("a", "refund", "exchange"), entry("b", "exchange", "refund"))
    assert found(index, "refund") == [0, 1]
    assert found(index, "refund", "recorded") == [0]
    assert found(index, "refund", "own") == [1]
    assert found(index, "refund exchange") == [0, 1]
    assert found(index, "refund exchange", "own") == []


def test_rows_come_in_the_order_asked_for_with_the_passage_that_was_found(tmp_path: Path) -> None:
    """A passage has marks around the words and says whose they are; the recording's come first."""
    long = "word " * 200
    index = filled(tmp_path, entry("a", f"{long}refund {long}"), entry("b", "nothing", "a refund"), entry("c"))
    rows = index.shown([1, 0, 7], expression("refund"))
    assert [row.item for row in rows] == ["b", "a"]
    assert rows[0].found == (f"a {BEGIN_MARK}refund{END_MARK}", True)
    assert rows[1].found is not None
    passage, own = rows[1].found
    assert f"{BEGIN_MARK}refund{END_MARK}" in passage
    assert len(passage) < 150
    assert own is False
    assert index.shown([2])[0].found is None


def test_texts_that_no_table_holds_are_written_all_the_same(tmp_path: Path) -> None:
    """VIEW-04: lone surrogates, NUL and the signs that mark words in passages become harmless, the words around stay."""
    hostile = f"before \ud83d \x00 after {BEGIN_MARK}fake{END_MARK}"
    index = filled(tmp_path, entry("a\x00\u202e", hostile, title=hostile, tools=("to\ud83dol\x00",), scenario=hostile))
    assert found(index, "before after fake") == [0]
    (row,) = index.shown([0], expression("after"))
    assert row.item == "a\x00\u202e"
    assert row.found is not None
    assert row.found[0].count(BEGIN_MARK) == 1
    row.title.encode()
    assert [name for facet, name in index.columns.sets if facet == "tool"] == ["to\ufffdol "]


def test_a_unit_that_is_written_again_replaces_itself(tmp_path: Path) -> None:
    """Its old words and terms are gone, also what detectors had found."""
    index = filled(tmp_path, entry("a", "old words", tools=("look",)))
    with index.writing() as writer:
        writer.put_found([(0, ["loop"])])
        index.reload()
        assert ("category", "loop") in index.columns.sets
        writer.put([(0, entry("a", "new words", tools=("move",)), "pf")], {})
        assert writer.unseen("f", 1) == [(0, "a")]
    index.reload()
    assert found(index, "old") == []
    assert found(index, "new") == [0]
    assert set(index.columns.sets) == {("tool", "move"), ("turn", "passed"), ("replay", "failed")}


@pytest.mark.parametrize(
    "content", [b"no database at all, and long enough to be read as one" * 20, b"SQLite format 3\0junk"]
)
def test_an_index_that_cannot_be_used_is_made_anew(tmp_path: Path, content: bytes) -> None:
    """It holds nothing that is not in the run."""
    (tmp_path / "index.sqlite").write_bytes(content)
    index = filled(tmp_path, entry("a", "words"))
    assert found(index, "words") == [0]


def test_the_stamp_changes_with_what_is_written(tmp_path: Path) -> None:
    """A second viewer that only follows sees that there is more."""
    index = filled(tmp_path, entry("a"))
    before = index.stamp()
    with index.writing() as writer:
        writer.put([(1, entry("b"), "pp")], {})
    assert index.stamp() != before
    assert index.number_of("b", -1) == 1
    assert index.number_of("c", -1) is None


def test_answers_to_searches_belong_to_one_moment(tmp_path: Path) -> None:
    """The same search finds more when there is more."""
    index = filled(tmp_path, entry("a", "ship"))
    assert found(index, "ship") == found(index, "ship") == [0]
    with index.writing() as writer:
        writer.put([(5, entry("b", "ship"), "pp")], {})
    assert found(index, "ship") == [0]
    index.reload()
    assert found(index, "ship") == [0, 5]
