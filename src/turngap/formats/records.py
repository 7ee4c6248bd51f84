"""Cut files into records without holding them in memory: JSON lines, JSON lists, single JSON documents.

Every reader yields ``(Place, value)`` or, for a record that is not strict JSON, the `DataError` that says where. A bad
record in the middle never hides the ones behind it. Only a single document (an object that is the whole file) is loaded
at once. Nothing of a file is passed over in silence: what stands behind a list is an error, as is a comma too many.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any

import msgspec

from turngap import jsonio
from turngap.errors import DataError
from turngap.formats.base import Place, Raw

LINES = (".jsonl", ".ndjson")
"""Names that promise one record per line."""
HEAD = 1 << 16
"""Bytes that are looked at to tell what a file is."""
_BOM = b"\xef\xbb\xbf"
_STRUCTURE = re.compile(rb'["{}\[\],]')
_IN_STRING = re.compile(rb'["\\]')
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
_SPACE = b" \t\r\n"
_CUT_OFF = "; the file seems to be cut off here"


def open_file(path: Path) -> IO[bytes]:
    """Open for reading.

    Raises:
        DataError: it does not exist, is no regular file, or may not be read.
    """
    try:
        # Looked at before it is opened: a pipe without a writer would hold us for ever, and data are read repeatedly.
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise DataError("is no regular file (a pipe or a device); save the data to a file first", file=str(path))
        return path.open("rb")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise DataError(f"cannot be read: {reason or error}", file=str(path)) from None


def head_of(path: Path) -> bytes:
    """The first bytes of a file, without a byte order mark or leading white space."""
    with open_file(path) as stream:
        return stream.read(HEAD).removeprefix(_BOM).lstrip(_SPACE)


def read_records(path: Path) -> Iterator[Raw]:
    """Yield the records of a file that is JSON lines, a JSON list, or one JSON object."""
    head = head_of(path)
    if head[:1] == b"[":
        return json_list(path)
    return json_document(path) if _is_document(path, head) else json_lines(path)


def _is_document(path: Path, head: bytes) -> bool:
    """Whether the file is one object spread over lines; an object on one line reads as JSON lines of one line."""
    first, newline, rest = head.partition(b"\n")
    if path.suffix in LINES or not newline or rest.lstrip(_SPACE).startswith(b"{"):
        return False
    return not is_json(first)


def is_json(text: bytes) -> bool:
    """Whether a text is strict JSON."""
    try:
        jsonio.loads(text)
    except jsonio.JsonError:
        return False
    return True


def json_lines(path: Path) -> Iterator[Raw]:
    """Yield one record per line; blank lines are nothing."""
    with open_file(path) as stream:
        failed: tuple[int, jsonio.JsonError] | None = None
        for number, line in jsonio.read_lines(stream):
            if failed is not None:
                yield DataError(f"not valid JSON: {failed[1]}", file=str(path), line=failed[0])
                failed = None
            try:
                value = jsonio.loads(line)
            except jsonio.JsonError as error:
                failed = (number, error)
                continue
            yield Place(file=str(path), line=number), value
        if failed is not None:
            cut = failed[1].cut_off and not _ends_with_newline(stream)
            yield DataError(f"not valid JSON: {failed[1]}{_CUT_OFF * cut}", file=str(path), line=failed[0])


def _ends_with_newline(stream: IO[bytes]) -> bool:
    stream.seek(-1, 2)
    return stream.read(1) == b"\n"


def json_document(path: Path) -> Iterator[Raw]:
    """Yield the one value that a file is."""
    with open_file(path) as stream:
        text = stream.read()
    try:
        yield Place(file=str(path)), jsonio.loads(text)
    except jsonio.JsonError as error:
        yield DataError(f"not valid JSON: {error}", file=str(path))


def load_document(path: Path) -> Any:
    """The one JSON value that a file is.

    Raises:
        DataError: it cannot be read or is not strict JSON.
    """
    for raw in json_document(path):
        if isinstance(raw, DataError):
            raise raw
        return raw[1]
    return None


def json_list(path: Path, *, chunk: int = 1 << 20) -> Iterator[Raw]:
    """Yield the elements of the JSON list that a file is, one at a time, reading `chunk` bytes at once."""
    with open_file(path) as stream:
        for number, found in enumerate(_elements(_Window(stream, chunk))):
            place = Place(file=str(path), line=found.line, record=number, root=f"[{number}]")
            if found.problem:
                yield (place if found.inside else Place(file=str(path), line=found.line)).error(found.problem)
                continue
            try:
                value = jsonio.loads(found.text)
            except jsonio.JsonError:
                yield place.error(f"not valid JSON: {_absolute_error(found.text, found.line, found.column)}")
                continue
            yield place, value


def _absolute_error(text: bytes, line: int, column: int) -> str:
    """Parse again behind as much white space as text precedes, so that the message counts from the file's beginning."""
    try:
        jsonio.loads(b"\n" * (line - 1) + b" " * column + text)
    except jsonio.JsonError as error:
        return str(error)
    return "unreadable"


class _Window:
    """A stretch of the file that grows at its end and is cut at its front."""

    def __init__(self, stream: IO[bytes], chunk: int) -> None:
        self.stream, self.chunk, self.bytes = stream, chunk, b""
        self.line, self.column = 1, 0
        """Of the front: 1-based line, 0-based column in bytes."""

    def grow(self) -> bool:
        more = self.stream.read(self.chunk)
        self.bytes += more
        return bool(more)

    def drop(self, length: int) -> None:
        self.line, self.column = self.place(length)
        self.bytes = self.bytes[length:]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        lines = self.bytes.count(b"\n", 0, offset)
        if not lines:
            return self.line, self.column + offset
        return self.line + lines, offset - self.bytes.rfind(b"\n", 0, offset) - 1


class _Element(msgspec.Struct, frozen=True):
    """One element of a top-level list, or what is wrong where one should be."""

    line: int
    column: int
    text: bytes = b""
    problem: str = ""
    inside: bool = True
    """Whether it stands in the list, and not behind it."""


def _elements(window: _Window) -> Iterator[_Element]:
    """Yield each element of a top-level list, scanning structure only, and what breaks the list."""
    while b"[" not in window.bytes and window.grow():
        pass
    window.drop(window.bytes.find(b"[") + 1)
    for number in count():
        position, closed = _end_of_element(window)
        whole = window.bytes[:position]
        text = whole.strip(_SPACE)
        line, column = window.place(len(whole) - len(whole.lstrip(_SPACE)))
        if not closed:
            yield _Element(line, column, problem=f"record {number + 1} of the list is not complete{_CUT_OFF}")
            return
        if text:
            yield _Element(line, column, text)
        elif closed == b"," or number:
            yield _Element(line, column, problem=f"a {closed.decode()} where record {number + 1} of the list should be")
        window.drop(position + 1)
        if closed != b",":
            yield from _behind(window, closed)
            return


def _behind(window: _Window, closed: bytes) -> Iterator[_Element]:
    """What is wrong with the end of a list, and with what stands behind it."""
    if closed != b"]":
        yield _Element(
            window.line, window.column, problem="a } that closes nothing; the rest is not read", inside=False
        )
        return
    while True:
        rest = window.bytes.lstrip(_SPACE)
        if rest:
            line, column = window.place(len(window.bytes) - len(rest))
            said = "more text behind the list, which is not read; a file holds one list, or one record per line"
            yield _Element(line, column, problem=said, inside=False)
            return
        window.drop(len(window.bytes))
        if not window.grow():
            return


def _end_of_element(window: _Window) -> tuple[int, bytes]:
    """Find the comma or bracket that ends the element at the window's front; an empty byte when the file ends first."""
    position = depth = 0
    in_string = False
    while True:
        match = (_IN_STRING if in_string else _STRUCTURE).search(window.bytes, position)
        if match is None or (match[0] == b"\\" and match.end() == len(window.bytes)):
            position = len(window.bytes) if match is None else match.start()
            if not window.grow():
                return len(window.bytes), b""
            continue
        position, token = match.end(), match[0]
        if token == b"\\":
            position += 1
        elif token == b'"':
            in_string = not in_string
        elif token in b"{[":
            depth += 1
        elif depth == 0:
            return match.start(), token
        elif token != b",":
            depth -= 1


def top_keys(head: bytes) -> tuple[bool, frozenset[str]]:
    """Look at the beginning of a file: whether it is a list, and the keys of its first object as far as they show."""
    is_list = head[:1] == b"["
    keys: set[str] = set()
    depth, want = 0, 2 if is_list else 1
    for match in _TOKEN.finditer(head):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth < want:
                break
        elif match[2] and depth == want:
            keys.add(match[1].decode("utf-8", "replace"))
    return is_list, frozenset(keys)
