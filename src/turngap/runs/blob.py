"""Values as bytes in a table: compact JSON, deflated where that pays.

JSON and not a binary form, because integers of any length survive it, and because a person with nothing but SQLite
and Python can still read a run in ten years. Deflated bodies tell themselves apart by their first byte: JSON text
starts with one of ``{["-0..9tfn``, a zlib stream with ``x``.
"""

from __future__ import annotations

import zlib
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

_DEFLATE_FROM = 4096  # bytes; below it SQLite's page size eats the gain, and most single answers stay cheap
_LEVEL = 1
_ZLIB = b"x"
_ENCODER = msgspec.json.Encoder()


class BlobError(ValueError):
    """Bytes that are not what they should be: a damaged file."""


def pack(value: Any) -> bytes:
    """Encode a Struct or plain value."""
    body = _ENCODER.encode(value)
    return zlib.compress(body, _LEVEL) if len(body) >= _DEFLATE_FROM else body


class Unpacker(Generic[T]):
    """Decodes what `pack` made of values of one type."""

    def __init__(self, kind: Any) -> None:
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def __call__(self, body: bytes) -> T:
        """Decode.

        Raises:
            BlobError: the bytes do not hold such a value.
        """
        try:
            return self._decoder.decode(zlib.decompress(body) if body[:1] == _ZLIB else body)
        except (msgspec.MsgspecError, zlib.error, UnicodeDecodeError) as error:
            raise BlobError(str(error)) from error
