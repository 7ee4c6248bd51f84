"""Cutting files into records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.errors import DataError
from turngap.formats.records import json_list, read_records, top_keys

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from('a"\\[]{},:'), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_a_list_streams_to_its_elements(
    tmp_path_factory: Any, value: list[Any], indent: int | None, ascii_only: bool
) -> None:
    """Streaming a list yields the elements that loading it whole yields."""
    path = tmp_path_factory.mktemp("list") / "list.json"
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    found = list(json_list(path))
    assert [raw[1] for raw in found if not isinstance(raw, DataError)] == value
    assert [raw[0].record for raw in found if not isinstance(raw, DataError)] == list(range(len(value)))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks_may_end_anywhere(tmp_path: Path, size: int) -> None:
    """A list reads the same however small the pieces are in which it comes."""
    value = [{'a\\"]': ["x\\", "}"]}, "\\\\", [[]], {"k": "\u2028"}]
    path = tmp_path / "list.json"
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    assert [raw[1] for raw in json_list(path, chunk=size) if not isinstance(raw, DataError)] == value


def test_a_bad_element_does_not_hide_the_next(tmp_path: Path) -> None:
    """An element that is no JSON is named with its line; those behind it are read."""
    path = tmp_path / "list.json"
    path.write_text('[\n {"a": 1},\n {"a": 1,\n  "a": 2},\n {"a": nope},\n {"a": 3}\n]', encoding="utf-8")
    found = list(json_list(path))
    assert [raw[1] for raw in found if not isinstance(raw, DataError)] == [{"a": 1}, {"a": 3}]
    errors = [str(raw) for raw in found if isinstance(raw, DataError)]
    assert "list.json:3: [1]" in errors[0]
    assert "twice" in errors[0]
    assert "list.json:5: [2]" in errors[1]
    assert "line 5, column 8" in errors[1]


def test_a_list_that_is_cut_off(tmp_path: Path) -> None:
    """A truncated list yields its whole elements and one error."""
    path = tmp_path / "list.json"
    path.write_text('[{"a": 1}, {"a": [2', encoding="utf-8")
    found = list(json_list(path))
    assert len(found) == 2
    assert isinstance(found[1], DataError)
    assert "cut off" in str(found[1])


def test_top_keys_of_a_beginning() -> None:
    """Keys of the first object show even when the text breaks off."""
    assert top_keys(b'{"a": {"x": 1}, "b": [1, {"y": 2}], "c": "unfin') == (False, frozenset("abc"))
    assert top_keys(b'[{"a": "{\\"z\\": 1}", "b": 2}, {"q": 1}]') == (True, frozenset("ab"))


def test_documents_and_lines(tmp_path: Path) -> None:
    """An object over several lines is one record; objects on lines are many, whatever the file's name."""
    path = tmp_path / "log.json"
    path.write_text('{"a":\n 1}\n', encoding="utf-8")
    assert len(list(read_records(path))) == 1
    path.write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    assert len(list(read_records(path))) == 2
