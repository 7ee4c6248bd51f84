"""Finding out what to read, and refusing what could do harm."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from turngap.config import DataConfig
from turngap.errors import DataError
from turngap.formats import read

CHAT = json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]})
DIALOGUE = json.dumps([{"dialogue_id": "1", "services": [], "turns": [{"speaker": "USER", "utterance": "hi"}]}])


def test_sec_06_pickles_are_never_opened(tmp_path: Path) -> None:
    """SEC-06: a pickle is refused by name, and one under another name by content; nothing in it runs."""

    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    for name in ("data.pkl", "data.json"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(DataError, match=r"not read: a pickle could run code|not text"):
            read(DataConfig(paths=(str(tmp_path / name),)))
    assert not (tmp_path / "ran").exists()


def test_sec_06_yaml_is_not_supported(tmp_path: Path) -> None:
    """SEC-06: YAML is refused with one line."""
    path = tmp_path / "scenario.yaml"
    path.write_text("!!python/object/apply:os.system ['true']", encoding="utf-8")
    with pytest.raises(DataError, match="YAML is not supported"):
        read(DataConfig(paths=(str(path),)))


@pytest.mark.parametrize(
    ("text", "needle"), [("", "empty"), ("hello", "fits none of the known formats"), ('{"a": 1}', "--from")]
)
def test_nothing_fits(tmp_path: Path, text: str, needle: str) -> None:
    """A file that fits nothing says so, lists the formats and names the way out."""
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=needle):
        read(DataConfig(paths=(str(path),)))


def test_forced_format(tmp_path: Path) -> None:
    """--from reads a file as what it is said to be, and its errors are that format's."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.jsonl:1: messages: no messages"):
        list(read(DataConfig(paths=(str(path),), format="openai")))


def test_a_bad_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    """Later lines tell the format of a JSONL file whose first line is broken."""
    path = tmp_path / "x.jsonl"
    path.write_text(f"broken\n{CHAT}\n", encoding="utf-8")
    found = read(DataConfig(paths=(str(path),), skip_bad=True))
    assert len(list(found)) == 1
    assert found.n_skipped == 1


def test_folders(tmp_path: Path) -> None:
    """A folder reads its fitting files sorted; two formats need a choice; hidden and foreign files do not count."""
    (tmp_path / "b.jsonl").write_text(CHAT, encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(CHAT.replace("hi", "ho"), encoding="utf-8")
    (tmp_path / "tools.json").write_text('[{"name": "look"}]', encoding="utf-8")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "c.jsonl").write_text(CHAT, encoding="utf-8")
    found = read(DataConfig(paths=(str(tmp_path),)))
    assert [c.messages[0].content for c in found] == ["ho", "hi"]
    (tmp_path / "d.json").write_text(DIALOGUE, encoding="utf-8")
    with pytest.raises(DataError, match=r"several formats \(openai, sgd\)"):
        read(DataConfig(paths=(str(tmp_path),)))
    assert len(list(read(DataConfig(paths=(str(tmp_path),), format="sgd")))) == 1


def test_empty_folder_and_missing_file(tmp_path: Path) -> None:
    """Nothing there is one clear line."""
    with pytest.raises(DataError, match="no file in this folder fits"):
        read(DataConfig(paths=(str(tmp_path),)))
    with pytest.raises(DataError, match="No such file"):
        read(DataConfig(paths=(str(tmp_path / "none.jsonl"),)))
