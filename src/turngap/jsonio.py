r"""JSON as turngap reads and writes it: strict, canonical, digestible.

One place decides how text becomes values: duplicate keys and NaN are refused, integers keep all digits, lone surrogates
(which no file can hold) become U+FFFD. Lines are cut at ``\\n`` only, on bytes, so that U+2028 and U+0085 inside a
string never split a record.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

_SURROGATE = re.compile("[\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"
_MAX_DEPTH = 200
_BEGUN = re.compile(r"\s*|-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|\\?u?[0-9a-fA-F]{0,3}")
"""What the decoder stumbles over at the end of a text that was cut: nothing, or half of a number, word or escape."""


class JsonError(ValueError):
    """Text that is not strict JSON; the message names the position."""

    cut_off = False
    """Whether the text is the beginning of something that could be JSON, and ends too early."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"key {key!r} stands twice in one object")
            seen.add(key)
    return result


def _constant(name: str) -> Any:
    raise JsonError(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JsonError(f"{text} is too large for a number")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)


def loads(text: str | bytes) -> Any:
    """Parse strict JSON.

    Raises:
        JsonError: not JSON, with line and column; a duplicate key; NaN or Infinity; nesting beyond 200 levels.
    """
    if isinstance(text, bytes):
        try:
            text = text.removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            broken = JsonError(f"not UTF-8 at byte {error.start}")
            broken.cut_off = error.reason == "unexpected end of data"
            raise broken from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        broken = JsonError(f"{error.msg} at {where}")
        broken.cut_off = error.msg.startswith("Unterminated string") or (
            error.msg != "Extra data" and _BEGUN.fullmatch(text, error.pos) is not None
        )
        raise broken from None
    except RecursionError:
        raise JsonError("nested too deeply") from None
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(str(error)) from None
    # The depth first: what follows, here and in callers, may recurse.
    if _deeper_than(value, _MAX_DEPTH):
        raise JsonError("nested too deeply")
    return _scrub(value) if "\\u" in text or _SURROGATE.search(text) else value


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _scrub(item) for key, item in value.items()}
    return value


_ENCODER = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Encode values or Structs as compact JSON in field order."""
    return _ENCODER.encode(value)


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Encode plain values or Structs as strict JSON text; non-ASCII letters stay readable."""
    text = _ENCODER.encode(value)
    return (msgspec.json.format(text, indent=indent) if indent else text).decode()


def canonical(value: Any) -> str:
    """One text per value: keys sorted, no spaces; equal numbers are spelled alike (5, 5.0; not true, 1)."""
    return json.dumps(_canonical_numbers(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _canonical_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _canonical_numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical_numbers(item) for item in value]
    return value


def digest(value: Any) -> str:
    """SHA-256 (hex) of a value's deterministic JSON; Structs are allowed. The content identity used throughout."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def misfit(error: msgspec.ValidationError) -> tuple[str, str]:
    """What does not fit a type, and where as msgspec writes it: ``.train.each``, ``[3]``, or nothing for the whole."""
    problem, _, where = str(error).partition(" - at `$")
    return problem, where.removesuffix("`")


def read_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (1-based number, line without its end) of a JSONL stream, without blank lines and a leading BOM."""
    for number, raw in enumerate(stream, start=1):
        line = (raw.removeprefix(_BOM) if number == 1 else raw).strip(b" \t\r\n")
        if line:
            yield number, line


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader or a kill sees the old or the new content, never half of it.

    Raises:
        OSError: it cannot be written, or is a directory.
    """
    if path.is_dir():  # also where it is called ``.``, ``..`` or ``/``, which have no names to make another from
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    temporary.replace(path)
