"""Which files to read, and as what: by content, never by trusting names; nothing but JSON text is ever opened as data.

Pickles and other binary files are refused unread, and YAML is not supported: a recording must not be able to run code,
nor change values (``02134``, ``no``) on the way in.

In a folder, what fits no format is passed over with a note that names it. A JSONL file whose first line is broken is no
such stranger: unless its other lines are of something else it is read, so that the broken line is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec

from turngap.errors import DataError
from turngap.formats.base import Format
from turngap.formats.records import LINES, head_of, is_json, json_lines

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


_NAMED = 8
"""Files that a note names."""
_LOOKED_AT = 20
"""Lines that tell what a file with a broken first line is."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is behind a path."""

    files: tuple[tuple[Path, Format], ...]
    """To be read, in order, each with its format."""
    notes: tuple[str, ...] = ()
    """Lines for the person."""


def plan(path: Path, formats: Sequence[Format], *, forced: bool, tools: Path | None = None) -> Found:
    """The files behind a path, in order, each with its format.

    Args:
        path: a file or a folder.
        formats: the candidates; exactly one of them when the format is forced.
        forced: whether a single file is taken as the one candidate without looking.
        tools: the file of tools that was named beside the data.

    Raises:
        DataError: nothing is there, nothing fits, or a folder holds several formats.
    """
    if path.is_dir():
        return _plan_folder(path, formats, tools)
    _refuse(path)
    head = head_of(path)
    _refuse_binary(path, head)
    if forced:
        return Found(files=((path, formats[0]),))
    found = _fitting(path, head, formats)
    if found is None:
        known = ", ".join(fmt.name for fmt in formats)
        raise DataError(f"the content fits none of the known formats ({known}); name one with --from", file=str(path))
    return Found(files=((path, found),))


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


def _plan_folder(folder: Path, formats: Sequence[Format], tools: Path | None) -> Found:
    files = sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES and p.is_file() and not _hidden(p, folder))
    fitting = {file: found for file in files if (found := _fitting(file, head_of(file), formats)) is not None}
    if not fitting:
        known = ", ".join(fmt.name for fmt in formats)
        raise DataError(f"no file in this folder fits a known format ({known})", file=str(folder))
    kinds = {fmt.name: fmt for fmt in fitting.values()}
    if len(kinds) > 1:
        names = ", ".join(sorted(kinds))
        raise DataError(f"the folder holds several formats ({names}); choose with --from", file=str(folder))
    (fmt,) = kinds.values()
    taken = {member for file in fitting for member in fmt.members(file)}
    if tools is not None:
        taken |= {file for file in files if file.resolve() == tools.resolve()}
    broken = {file for file in files if file not in fitting and file not in taken and _is_broken(file, fmt)}
    strangers = [file for file in files if file not in fitting and file not in taken and file not in broken]
    return Found(
        files=tuple((file, fmt) for file in files if file not in taken and (file in fitting or file in broken)),
        notes=(_passed_over(folder, strangers, fmt),) if strangers else (),
    )


def _is_broken(file: Path, fmt: Format) -> bool:
    """Whether a file without a format is one of `fmt` whose first line cannot be read."""
    if file.suffix not in LINES or not isinstance(next(json_lines(file), None), DataError):
        return False
    rest = [line for line in islice(head_of(file).split(b"\n"), 1, _LOOKED_AT) if is_json(line)]
    return not rest or any(fmt.sniff(file, line.lstrip()) for line in rest)


def _passed_over(folder: Path, files: Sequence[Path], fmt: Format) -> str:
    names = [str(file.relative_to(folder)) for file in files[:_NAMED]]
    names += [f"and {len(files) - _NAMED} more"] * (len(files) > _NAMED)
    return f"{folder}: passed over, since not of the format {fmt.name}: {', '.join(names)}"


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)
