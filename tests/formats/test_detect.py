"""Finding out what to read, and refusing what could do harm."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from turngap.config import DataConfig
from turngap.errors import BadRecords, DataError
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


def _folder(tmp_path: Path, **files: str) -> Path:
    """A folder of files; in names _ stands for a dot."""
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return tmp_path


def test_strangers_in_a_folder_are_named_in_one_note(tmp_path: Path) -> None:
    """What fits no format is passed over, but not in silence; hidden files and the given tools are no strangers."""
    folder = _folder(tmp_path, a_jsonl=f"{CHAT}\n", notes_json='{"a": 1}', other_jsonl='{"a": 1}\n', empty_jsonl="")
    (folder / "sub").mkdir()
    _folder(
        folder / "sub",
        b_json="{broken",
    ).joinpath(".c.json").write_text("x", encoding="utf-8")
    (folder / "tools.json").write_text('[{"name": "look"}]', encoding="utf-8")
    reading = read(DataConfig(paths=(str(folder),), tools=str(folder / "tools.json")))
    for _ in range(2):
        assert len(list(reading)) == 1
        (note,) = reading.notes
    assert note.startswith(f"{folder}: passed over, since not of the format openai: ")
    assert note.partition("openai: ")[2] == "empty.jsonl, notes.json, other.jsonl, sub/b.json"
    (note,) = read(DataConfig(paths=(str(folder),))).notes
    assert note.endswith("sub/b.json, tools.json")


def test_many_strangers_are_counted(tmp_path: Path) -> None:
    """The note stays one line that can be read."""
    folder = _folder(tmp_path, a_jsonl=CHAT, **{f"x{number:02}_json": "{}" for number in range(20)})
    (note,) = read(DataConfig(paths=(str(folder),))).notes
    assert note.endswith("x06.json, x07.json, and 12 more")


@pytest.mark.parametrize(
    "text", ['{"id": "x", "mess', '{"id": "x", "mess\n{"id": 3, "m', f"broken\n{CHAT}\n", "\x00\x01"]
)
def test_a_file_with_a_broken_first_line_is_a_bad_one(tmp_path: Path, text: str) -> None:
    """In a folder, JSON lines that cannot be read are reported with file and line, whatever they may have been."""
    folder = _folder(tmp_path, a_jsonl=f"{CHAT}\n", b_jsonl=text)
    with pytest.raises(BadRecords, match=r"b\.jsonl:1: not valid JSON"):
        list(read(DataConfig(paths=(str(folder),))))
    reading = read(DataConfig(paths=(str(folder),), skip_bad=True))
    assert len(list(reading)) == 1 + text.count('"hi"')
    assert reading.n_skipped == text.count("\n{") + 1 - text.count('"hi"')
    assert reading.notes == []


def test_a_broken_line_of_something_else_is_not_reported(tmp_path: Path) -> None:
    """A file whose other lines are no conversations is a stranger, broken or not."""
    folder = _folder(tmp_path, a_jsonl=f"{CHAT}\n", b_jsonl='broken\n{"a": 1}\n')
    reading = read(DataConfig(paths=(str(folder),)))
    assert len(list(reading)) == 1
    assert "b.jsonl" in reading.notes[0]


def test_what_is_read_beside_the_data_is_not_passed_over(shared: Path) -> None:
    """Schemas and catalogues that a format finds by itself are in use, so no note names them."""
    assert read(DataConfig(paths=(str(shared / "sgd"),))).notes == []
    assert "tools.json" not in " ".join(read(DataConfig(paths=(str(shared / "tooltalk"),))).notes)
    (note,) = read(DataConfig(paths=(str(shared / "tau-bench"),))).notes
    assert "airline-tools.json, retail-tools.json" in note


def test_empty_folder_and_missing_file(tmp_path: Path) -> None:
    """Nothing there is one clear line."""
    with pytest.raises(DataError, match="no file in this folder fits"):
        read(DataConfig(paths=(str(tmp_path),)))
    with pytest.raises(DataError, match="No such file"):
        read(DataConfig(paths=(str(tmp_path / "none.jsonl"),)))
