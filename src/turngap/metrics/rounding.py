"""How numbers are rounded for readers: one rule, whoever shows them.

Halves go away from zero, as everybody rounds by hand: 51 of 80 is 63.8% and 67 of 80 is 83.8%. Formatting a float does
neither: it rounds the binary number that stands for 63.75, which lies a little below it, and 83.75, which is exact and
goes to the even digit. Nothing is shown as minus zero.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_DIGITS = 12  # what is left of a float when the noise of its last digits is gone


def decimals(value: float, places: int = 1, *, thousands: bool = False) -> str:
    """A number with so many decimals, and with commas between thousands where wanted."""
    exact = Decimal(f"{value:.{_DIGITS}g}").quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    shown = exact or abs(exact)
    return f"{shown:,f}" if thousands else f"{shown:f}"


def signed(value: float, places: int = 1) -> str:
    """The same with its sign; zero, and whatever is shown as zero, has a plus."""
    text = decimals(value, places)
    return text if text.startswith("-") else f"+{text}"
