"""Values as bytes: everything comes back equal, small or deflated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.runs.blob import BlobError, Unpacker, pack

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(_values, st.integers(0, 3))
def test_round_trip(value: Any, size: int) -> None:
    """Any JSON value comes back, whether or not it was long enough to be deflated."""
    padded = [value, "x" * 10**size * 2]
    assert Unpacker[Any](Any)(pack(padded)) == padded


def test_long_bodies_are_deflated() -> None:
    """Long bodies shrink, short ones stay readable text."""
    assert pack({"a": 1}) == b'{"a":1}'
    assert len(pack(["the same again"] * 10_000)) < 5_000


@pytest.mark.parametrize("body", [b"", b"{", b"xnonsense", b'"\xff"', b"[1", pack("y" * 9000)[:-9]])
def test_damage(body: bytes) -> None:
    """Bytes that hold no such value are a BlobError, whatever is wrong with them."""
    with pytest.raises(BlobError):
        Unpacker[Any](Any)(body)


def test_wrong_type() -> None:
    """A value of another type is damage too."""
    with pytest.raises(BlobError):
        Unpacker[int](int)(b'"heron"')
