"""Differences as pages write them."""

from __future__ import annotations

from turngap.web.signed import from_to, points


def test_differences_have_a_sign() -> None:
    """A real minus, a plus, no sign on zero, a dash for nothing."""
    assert [points(value) for value in (0.336, -0.024, 0.0, -0.0001, None)] == ["+33.6", "−2.4", "0.0", "0.0", "–"]


def test_intervals_have_two() -> None:
    """Both ends in brackets; nothing where there is none."""
    assert from_to((-0.129, 0.07)) == "[−12.9, +7.0]"
    assert from_to(None) == ""
