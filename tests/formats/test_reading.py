"""Walking a data set: bad records, filters, samples, unique ids."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from turngap.config import DataConfig
from turngap.errors import BadRecords, DataError, UsageError
from turngap.formats import read


def record(text: str, **more: Any) -> str:
    """One line with a user text and an answer."""
    return json.dumps(
        {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}], **more},
        ensure_ascii=False,
    )


def write(path: Path, *lines: str, end: str = "\n") -> str:
    """Write lines to a file."""
    path.write_bytes(end.join([*lines, ""]).encode())
    return str(path)


def test_ing_17_bytes_around_records(tmp_path: Path) -> None:
    """ING-17: a byte order mark, CRLF, blank lines and a missing last newline change nothing."""
    plain = write(tmp_path / "plain.jsonl", record("one"), record("two"))
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join([record("one"), record("two")]).encode())
    assert [c.id for c in read(DataConfig(paths=(plain,)))] == [c.id for c in read(DataConfig(paths=(str(odd),)))]


def test_ing_17_unicode_line_ends_inside_text(tmp_path: Path) -> None:
    """ING-17: U+2028 and U+0085 inside a string do not end a record."""
    path = write(tmp_path / "log.jsonl", record("a\u2028b\u0085c"))
    (conversation,) = read(DataConfig(paths=(path,)))
    assert conversation.messages[0].content == "a\u2028b\u0085c"


def ten_lines(folder: Path) -> str:
    """A file of ten lines, three of them bad."""
    lines = [record(str(number)) for number in range(10)]
    lines[3], lines[6], lines[8] = "not JSON", '{"text": 1}', '{"messages": []}'
    return write(folder / "ten.jsonl", *lines)


def test_ing_19_bad_records_are_named(tmp_path: Path) -> None:
    """ING-19: without --skip-bad each bad record is named by file and line."""
    with pytest.raises(BadRecords) as caught:
        list(read(DataConfig(paths=(ten_lines(tmp_path),))))
    text = str(caught.value)
    assert [f"ten.jsonl:{line}:" in text for line in (4, 7, 9)] == [True] * 3
    assert len(text.splitlines()) == 4
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_ing_19_skip_bad_counts(tmp_path: Path) -> None:
    """ING-19: with --skip-bad n read and n skipped add up to the lines of the file."""
    found = read(DataConfig(paths=(ten_lines(tmp_path),), skip_bad=True))
    assert len(list(found)) == found.n_read == 7
    assert found.n_skipped == 3
    assert len(list(found)) == 7, "a reading can be walked again"


@pytest.mark.parametrize(
    ("lines", "end", "needle"),
    [
        ([record("x"), record("y")[:-9]], "", "log.jsonl:2: not valid JSON: .* cut off"),
        ([record("x"), '{"messages": [], "messages": []}'], "\n", "log.jsonl:2: .*twice"),
        ([record("x"), '{"reward": NaN, "messages": []}'], "\n", "log.jsonl:2: .*NaN"),
    ],
)
def test_bad_lines(tmp_path: Path, lines: list[str], end: str, needle: str) -> None:
    """A truncated last line, a duplicate key and NaN are one clear line each."""
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    with pytest.raises(DataError, match=needle):
        list(read(DataConfig(paths=(str(path),))))


def test_not_utf_8(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are named with their line."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(record("x").encode() + b"\n" + record("Z\u00fcrich").encode("latin-1") + b"\n")
    with pytest.raises(DataError, match=r"log\.jsonl:2: not valid JSON: not UTF-8"):
        list(read(DataConfig(paths=(str(path),))))


def test_only_successful(tmp_path: Path) -> None:
    """Only rewards within 1e-6 of 1 stay; what carries no mark in a marked file does not."""
    rewards = [{"reward": 1}, {"reward": 0.5}, {"reward": 1 - 1e-9}, {"reward": 0.0}, {}, {"reward": True}]
    path = write(tmp_path / "log.jsonl", *(record(str(i), **reward) for i, reward in enumerate(rewards)))
    found = read(DataConfig(paths=(path,), only_successful=True))
    assert [c.messages[0].content for c in found] == ["0", "2", "5"]
    assert (found.n_read, found.n_unsuccessful) == (3, 3)


def test_only_successful_without_marks(tmp_path: Path) -> None:
    """A file that marks nothing is kept whole, with one note."""
    path = write(tmp_path / "log.jsonl", record("a"), record("b"))
    found = read(DataConfig(paths=(path,), only_successful=True))
    assert len(list(found)) == 2
    assert len(found.notes) == 1


def test_limit_and_sample(tmp_path: Path) -> None:
    """A limit takes the first; a sample is seeded, uniform in reach, and keeps the order of the file."""
    path = write(tmp_path / "log.jsonl", *(record(str(i), id=f"{i:03d}") for i in range(100)))
    first = [c.id for c in read(DataConfig(paths=(path,), limit=5))]
    assert first == ["000", "001", "002", "003", "004"]
    config = DataConfig(paths=(path,), limit=20, sample=True)
    drawn = [[c.id for c in read(config, seed=seed)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(drawn[0])
    assert len(set(drawn[0])) == 20
    assert max(drawn[0]) > "060"


def test_run_02_names_of_conversations_that_share_an_id_do_not_depend_on_their_order(tmp_path: Path) -> None:
    """RUN-02: each of them is named by its content, copies are numbered, and every other id stays as it is."""
    lines = [record("one", id="a"), record("two", id="a"), record("three", id="b"), record("two", id="a")]
    seen = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        found = read(DataConfig(paths=(write(tmp_path / "log.jsonl", *(lines[i] for i in order)),)))
        seen.append({c.id: c.messages for c in found})
        assert {c.id: c.messages for c in found} == seen[-1]
        assert found.oddity_counts["repeated_id"] == 3
    assert seen[0] == seen[1] == seen[2]
    names = sorted(seen[0])
    assert len(names) == 4
    assert names[-1] == "b"
    assert all(re.fullmatch(r"a#[0-9a-f]{8}(\.2)?", name) for name in names[:3])


def test_a_second_walk_meets_the_same(tmp_path: Path) -> None:
    """Bad records that one walk left out do not keep the next one from the others."""
    found = read(DataConfig(paths=(write(tmp_path / "log.jsonl", "nope", record("one", id="a")),), skip_bad=True))
    for _ in range(2):
        assert [c.id for c in found] == ["a"]
        assert found.n_skipped == 1


def test_run_02_a_name_by_content_is_never_one_that_the_data_have(tmp_path: Path) -> None:
    """RUN-02: where an id looks like such a name, the name takes more digits of the digest."""
    lines = [record("one", id="a"), record("two", id="a")]
    (first, second) = [c.id for c in read(DataConfig(paths=(write(tmp_path / "log.jsonl", *lines),)))]
    lines.append(record("three", id=first))
    found = [c.id for c in read(DataConfig(paths=(write(tmp_path / "log.jsonl", *lines),)))]
    assert found[1:] == [second, first]
    assert found[0].startswith(first)
    assert len(found[0]) == len(first) + 1


def test_many_oddities_are_counted_but_not_all_kept(tmp_path: Path) -> None:
    """Counts are exact, kept places are bounded."""
    lines = [
        json.dumps({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": str(i)}]})
        for i in range(50)
    ]
    found = read(DataConfig(paths=(write(tmp_path / "log.jsonl", *lines),)))
    list(found)
    assert found.oddity_counts["orphan_result"] == 50
    assert len([o for o in found.oddities if o.kind == "orphan_result"]) == 20


def test_wrong_use(tmp_path: Path) -> None:
    """No path, an unknown format and a limit of zero are errors of use."""
    path = write(tmp_path / "log.jsonl", record("a"))
    for config in (
        DataConfig(paths=()),
        DataConfig(paths=(path,), format="nonsense"),
        DataConfig(paths=(path,), limit=0),
    ):
        with pytest.raises(UsageError):
            read(config)
