"""Fingerprints of weights: equal for copies, different for other weights, without reading all of them."""

from __future__ import annotations

from pathlib import Path

from turngap.models.fingerprint import fingerprint, of_folder

_LARGE = 6 << 20


def test_a_copy_is_the_same_and_a_change_is_not(tmp_path: Path) -> None:
    """Any byte of a small file counts, its name and its size too."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "w.bin").write_bytes(b"weights")
    first = fingerprint([tmp_path / "a" / "w.bin"])
    assert first == fingerprint([tmp_path / "b" / "w.bin"])
    (tmp_path / "b" / "w.bin").write_bytes(b"weightz")
    assert first != fingerprint([tmp_path / "b" / "w.bin"])
    (tmp_path / "a" / "w.bin").rename(tmp_path / "a" / "v.bin")
    assert first != fingerprint([tmp_path / "a" / "v.bin"])


def test_a_large_file_that_changed_all_over_is_another(tmp_path: Path) -> None:
    """Its pieces reach from the first byte to the last, so a matrix that was trained is met wherever it lies."""
    file = tmp_path / "w.bin"
    file.write_bytes(bytes(_LARGE))
    whole = fingerprint([file])
    for begin in range(0, _LARGE, 1 << 19):
        changed = bytearray(_LARGE)
        changed[begin : begin + (1 << 19)] = b"\1" * (1 << 19)
        file.write_bytes(changed)
        assert fingerprint([file]) != whole
    for at in (0, _LARGE - 1):
        changed = bytearray(_LARGE)
        changed[at] = 1
        file.write_bytes(changed)
        assert fingerprint([file]) != whole


def test_a_folder_is_its_model(tmp_path: Path) -> None:
    """Weights, configuration and tokenizer count; a note beside them does not."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    found = of_folder(tmp_path)
    (tmp_path / "README.md").write_text("a note", encoding="utf-8")
    assert of_folder(tmp_path) == found
    (tmp_path / "config.json").write_text('{"a": 1}', encoding="utf-8")
    assert of_folder(tmp_path) != found
