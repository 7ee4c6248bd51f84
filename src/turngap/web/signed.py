"""Differences of shares as pages write them: in points, with a sign, and a real minus."""

from __future__ import annotations

from turngap.report import document


def points(value: float | None) -> str:
    """A difference of fractions in percentage points, ``−2.4``; without a sign where it is shown as zero."""
    return document.signed(None if value is None else 100 * value)


def from_to(ends: tuple[float, float] | None) -> str:
    """Its interval, ``[−12.9, +7.0]``; nothing for None."""
    return "" if ends is None else f"[{points(ends[0])}, {points(ends[1])}]"
