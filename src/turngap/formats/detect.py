"""Which files to read, and as what: by content, never by trusting names; nothing but JSON text is ever opened as data.

Pickles and other binary files are refused unread, and YAML is not supported: a recording must not be able to run code,
nor change values (``02134``, ``no``) on the way in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turngap.errors import DataError
from turngap.formats.base import Format
from turngap.formats.records import head_of

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_NEVER = {
    ".pkl": "a pickle could run code",
    ".pickle": "a pickle could run code",
    ".pt": "a pickle could run code",
    ".npy": "it may hold a pickle",
    ".yaml": "YAML is not supported",
    ".yml": "YAML is not supported",
    ".gz": "unpack it first",
    ".zip": "unpack it first",
    ".zst": "unpack it first",
    ".parquet": "convert it to JSON lines first",
}


def plan(path: Path, formats: Sequence[Format], *, forced: bool) -> list[tuple[Path, Format]]:
    """The files behind a path, in order, each with its format.

    Args:
        path: a file or a folder.
        formats: the candidates; exactly one of them when the format is forced.
        forced: whether a single file is taken as the one candidate without looking.

    Raises:
        DataError: nothing is there, nothing fits, or a folder holds several formats.
    """
    if path.is_dir():
        return _plan_folder(path, formats)
    _refuse(path)
    head = head_of(path)
    _refuse_binary(path, head)
    if forced:
        return [(path, formats[0])]
    found = _fitting(path, head, formats)
    if found is None:
        known = ", ".join(fmt.name for fmt in formats)
        raise DataError(f"the content fits none of the known formats ({known}); name one with --from", file=str(path))
    return [(path, found)]


def _refuse(path: Path) -> None:
    reason = _NEVER.get(path.suffix.lower())
    if reason is not None:
        raise DataError(f"not read: {reason}; recordings are JSON or JSON lines", file=str(path))


def _refuse_binary(path: Path, head: bytes) -> None:
    if not head:
        raise DataError("the file is empty", file=str(path))
    if b"\0" in head or head.startswith(b"\x80"):
        raise DataError("not text; recordings are JSON or JSON lines in UTF-8", file=str(path))


def _fitting(path: Path, head: bytes, formats: Sequence[Format]) -> Format | None:
    return next((fmt for fmt in formats if fmt.sniff(path, head)), None)


def _plan_folder(folder: Path, formats: Sequence[Format]) -> list[tuple[Path, Format]]:
    files = sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES and p.is_file() and not _hidden(p, folder))
    fitting = [(file, found) for file in files if (found := _fitting(file, head_of(file), formats)) is not None]
    if not fitting:
        known = ", ".join(fmt.name for fmt in formats)
        raise DataError(f"no file in this folder fits a known format ({known})", file=str(folder))
    kinds = sorted({fmt.name for _, fmt in fitting})
    if len(kinds) > 1:
        raise DataError(f"the folder holds several formats ({', '.join(kinds)}); choose with --from", file=str(folder))
    taken = {member for file, fmt in fitting for member in fmt.members(file)}
    return [(file, fmt) for file, fmt in fitting if file not in taken]


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)
