"""Tell weights apart without reading gigabytes: a digest of sizes, names and pieces spread over the files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_PIECE, _PIECES = 1 << 16, 64


def fingerprint(files: Iterable[Path]) -> str:
    """Digest of files; equal for copies, whatever folder they lie in.

    Small files count whole. Of a large one, 64 pieces of 64 KiB count: training moves all weights of a matrix, so no
    trained model has the pieces of another.

    Raises:
        OSError: one cannot be read.
    """
    found = hashlib.sha256()
    for file in sorted(files, key=lambda one: one.name):
        size = file.stat().st_size
        found.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as stream:
            if size <= _PIECE * _PIECES:
                found.update(stream.read())
                continue
            for index in range(_PIECES):
                stream.seek((size - _PIECE) * index // (_PIECES - 1))
                found.update(stream.read(_PIECE))
    return found.hexdigest()


def of_folder(folder: Path) -> str:
    """Digest of a model as transformers keeps it: weights, configuration, tokenizer; raises as `fingerprint`."""
    kinds = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt")
    return fingerprint(file for file in folder.iterdir() if file.suffix in kinds and file.is_file())
