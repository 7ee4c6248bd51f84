"""Cutting files into records."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.errors import DataError
from turngap.formats.records import json_list, open_file, read_records, top_keys

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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"a": 1}]\n [{"a": 2}]', "list.json:2: more text behind the list"),
        ('[{"a": 1}] {"messages": broken', "list.json:1: more text behind the list"),
        ('[{"a": 1}]\n\n]', "list.json:3: more text behind the list"),
        ('[{"a": 1},\n, {"a": 2}]', "list.json:2: [1]: a , where record 2 of the list should be"),
        ('[, {"a": 1}]', "list.json:1: [0]: a , where record 1 of the list should be"),
        ('[{"a": 1},\n]', "list.json:2: [1]: a ] where record 2 of the list should be"),
        ('[{"a": 1}}', "list.json:1: a } that closes nothing"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_nothing_of_a_list_is_passed_over_in_silence(tmp_path: Path, text: str, problem: str, chunk: int) -> None:
    """Text behind the list, a comma too many and a stray brace are errors with their place; sound records are read."""
    path = tmp_path / "list.json"
    path.write_text(text, encoding="utf-8")
    found = list(json_list(path, chunk=chunk))
    assert next(raw[1] for raw in found if not isinstance(raw, DataError)) == {"a": 1}
    errors = [str(raw).removeprefix(f"{tmp_path}/") for raw in found if isinstance(raw, DataError)]
    assert len(errors) == 1
    assert errors[0].startswith(problem)


def test_white_space_behind_a_list_is_nothing(tmp_path: Path) -> None:
    """An empty list and blank ends are in order."""
    path = tmp_path / "list.json"
    path.write_text(" [ ] \n\r\t ", encoding="utf-8")
    assert list(json_list(path, chunk=1)) == []


@pytest.mark.parametrize(
    ("last", "cut"),
    [
        (b'{"a": [1, 2', True),
        (b'{"a": "no end', True),
        (b'{"a": "\\u00', True),
        (b'{"a": tru', True),
        (b'{"a": -', True),
        (b'{"a"', True),
        ('{"a": "\u00e9'.encode()[:-1], True),
        (b'{"a": 1} {"a": 2}', False),
        (b'{"a": nope}', False),
        (b'{"a": 1, "a": 2}', False),
        (b'{"a": "\xff"}', False),
        (b'{"a": 1}}', False),
    ],
)
def test_only_what_ends_too_early_seems_cut_off(tmp_path: Path, last: bytes, cut: bool) -> None:
    """A broken last line without a line break is said to be cut off where it is the beginning of JSON, and only there."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n' + last)
    error = list(read_records(path))[-1]
    assert isinstance(error, DataError)
    assert ("cut off" in str(error)) is cut


def test_a_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    """A pipe, which cannot be read twice and may never end, is no data file."""
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    with pytest.raises(DataError, match="no regular file"):
        read_records(path)
    with pytest.raises(DataError, match="no regular file"):
        open_file(Path(os.devnull))
