"""JSON is strict, keeps what it must, and lines end at line feeds only."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap import jsonio

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1', "column 8"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ("[Infinity]", "Infinity"),
        ("[1e400]", "too large"),
        ("", "column 1"),
        ("[" * 100_000, "deep"),
        ("[" * 300 + "]" * 300, "deep"),
        ('["\\u00e9",' + "[" * 700 + "]" * 701, "deep"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_the_place(text: str, words: str) -> None:
    """Duplicate keys, NaN, and bottomless nesting are no JSON here."""
    with pytest.raises(jsonio.JsonError, match=words):
        jsonio.loads(text)


def test_integers_keep_all_digits() -> None:
    """2^53 + 1 is not 2^53, and thirty digits stay thirty digits."""
    assert jsonio.loads("[9007199254740993, 123456789012345678901234567890]") == [
        9007199254740993,
        123456789012345678901234567890,
    ]


def test_lone_surrogates_become_storable() -> None:
    """A lone surrogate, which no file can hold, is replaced; a pair is a letter."""
    assert jsonio.loads('{"\\ud83d": "a\\ud83d", "b": "\\ud83d\\ude42"}') == {"\ufffd": "a\ufffd", "b": "🙂"}


def test_bytes_may_begin_with_a_mark_and_must_be_utf8() -> None:
    """A byte order mark is no content; other encodings are named."""
    assert jsonio.loads(b"\xef\xbb\xbf[1]") == [1]
    with pytest.raises(jsonio.JsonError, match="UTF-8"):
        jsonio.loads(b'["\xff"]')


def test_lines_end_at_line_feeds_only() -> None:
    """ING-17: U+2028 and U+0085 do not cut a record; blank lines and CR are no content; line numbers are the file's."""
    content = b'\xef\xbb\xbf{"a":1}\r\n\n{"a":"x\xe2\x80\xa8y\xc2\x85z"}\n{"a":3}'
    lines = list(jsonio.read_lines(io.BytesIO(content)))
    assert [number for number, _ in lines] == [1, 3, 4]
    assert [jsonio.loads(line)["a"] for _, line in lines] == [1, "x\u2028y\u0085z", 3]


@given(VALUES)
def test_what_is_written_reads_the_same(value: Any) -> None:
    """Encoding and strict reading are inverse for every JSON value that UTF-8 can hold."""
    assert jsonio.loads(jsonio.encode(value)) == value
    assert jsonio.loads(jsonio.dumps(value, indent=2)) == value


@given(st.dictionaries(st.text(), st.integers()))
def test_canonical_text_and_digest_ignore_key_order(value: dict[str, int]) -> None:
    """Equal values, equal text, equal digest."""
    turned = dict(reversed(list(value.items())))
    assert jsonio.canonical(value) == jsonio.canonical(turned)
    assert jsonio.digest(value) == jsonio.digest(turned)


def test_canonical_spells_equal_numbers_alike_and_true_otherwise() -> None:
    """5 and 5.0 are one number; true is none."""
    assert jsonio.canonical([5.0, 1e2]) == jsonio.canonical([5, 100])
    assert jsonio.canonical(True) != jsonio.canonical(1)


def test_atomic_writing_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The old file is replaced whole."""
    target = tmp_path / "metrics.json"
    jsonio.write_atomic(target, "old")
    jsonio.write_atomic(target, "new 🙂")
    assert target.read_text(encoding="utf-8") == "new 🙂"
    assert list(tmp_path.iterdir()) == [target]
    for folder in (tmp_path, Path(), Path(".."), Path("/")):
        with pytest.raises(IsADirectoryError) as raised:
            jsonio.write_atomic(folder, "new")
        assert raised.value.filename == str(folder)


@pytest.mark.parametrize(
    ("value", "where"),
    [({"parts": [{"size": "x"}]}, ".parts[0].size"), ({"parts": 3}, ".parts"), (3, "")],
)
def test_a_misfit_is_taken_apart(value: object, where: str) -> None:
    """What is wrong and its path, without the marks that msgspec puts around it."""
    part = msgspec.defstruct("Part", [("size", int)])
    whole = msgspec.defstruct("Whole", [("parts", list[part])])  # type: ignore[valid-type]
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, whole)
    problem, found = jsonio.misfit(caught.value)
    assert found == where
    assert problem.startswith("Expected `") and "$" not in problem
