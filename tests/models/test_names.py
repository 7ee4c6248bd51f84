"""Tool names on the wire."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from turngap.models.names import Names


def test_prv_11_refused_names_are_mapped_both_ways() -> None:
    """PRV-11: a dot, a space and 80 characters go out acceptable, apart from each other, and come back."""
    real = ["bookings.get", "bookings_get", "Move Booking", "x" * 80, "x" * 79 + "y"]
    names = Names(real)
    out = [names.outward(name) for name in real]
    assert out[1] == "bookings_get"
    assert len(set(out)) == len(out)
    assert [names.inward(name) for name in out] == real


def test_acceptable_names_stay() -> None:
    """Nothing is renamed without need."""
    names = Names(["get_booking", "list-slots"])
    assert names.renamed == {}
    assert names.outward("get_booking") == "get_booking"


def test_an_invented_name_is_made_acceptable_but_never_a_tools() -> None:
    """What a model invented goes out acceptable and cannot be mistaken for a tool there is."""
    names = Names(["bookings_get"])
    assert names.outward("bookings get") == "bookings_get_"
    assert names.outward("") == "tool"
    assert names.inward("never_heard") == "never_heard"


@given(st.lists(st.text(), max_size=8), st.text())
def test_any_names_map(real: list[str], invented: str) -> None:
    """Any set of names goes out acceptable and one to one."""
    names = Names(real)
    out = [names.outward(name) for name in dict.fromkeys(real)]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in [*out, names.outward(invented)])
    assert len(set(out)) == len(out)
    assert [names.inward(name) for name in out] == list(dict.fromkeys(real))
