"""Arithmetic for the desk: decimal numbers, ``+ - * / // **``, unary signs, parentheses and spaces.

The text is parsed and computed here, never handed to an interpreter. Values and precedence are Python's: whole numbers
are exact, ``**`` binds tighter than a sign on its left and groups to the right, a division gives a fraction. What could
take the machine hostage is refused before it is computed: a whole number of more than `MAX_BITS` bits.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

MAX_BITS = 1 << 17
"""Most bits of a whole number that may come up on the way; a result itself never needs more than 1024."""
MAX_NESTING = 200
"""Most parentheses open at once."""
_MAX_DIGITS = 4300
_ALPHABET = frozenset("0123456789+-*/(). ")
_TOKEN = re.compile(r" *(?:(\d+\.\d*|\.\d+|\d+)|(\*\*|//|[-+*/()]))")

Number = int | float
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "sign+": 3, "sign-": 3, "**": 4}


class CalculationError(ValueError):
    """An expression that has no value; the message says why."""


def calculate(expression: str) -> str:
    """Compute an expression and round the result to two places.

    Returns:
        The result as Python writes a float: ``"4.0"``, ``"0.33"``.

    Raises:
        CalculationError: a character that is not arithmetic, an incomplete expression, a division by zero, or a
            result that is no real number of floating-point size.
    """
    strange = sorted({character for character in expression if character not in _ALPHABET})
    if strange:
        raise CalculationError(f"not arithmetic: {', '.join(map(repr, strange[:5]))}")
    try:
        return str(round(float(_Machine().run(_tokens(expression))), 2))
    except ZeroDivisionError:
        raise CalculationError("division by zero") from None
    except OverflowError:
        raise CalculationError("the result is too large") from None


def _tokens(expression: str) -> list[str]:
    text = expression.rstrip(" ")
    found: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculationError(f"cannot be read from {text[position:].lstrip()[:20]!r} on")
        found.append(match[1] or match[2])
        position = match.end()
    if not found:
        raise CalculationError("nothing to calculate")
    return found


def _number(text: str) -> Number:
    if "." in text:
        return float(text)
    if len(text) > _MAX_DIGITS:
        raise CalculationError("a number has too many digits")
    if text.startswith("0") and text.strip("0"):
        raise CalculationError(f"a whole number cannot begin with 0: {text[:20]}")
    return int(text)


def _power(base: Number, exponent: Number) -> Number:
    exact = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    if exact and int(base).bit_length() * exponent > MAX_BITS:
        raise OverflowError
    result: Number | complex = base**exponent
    if isinstance(result, complex):
        raise CalculationError("a root of a negative number is not real")
    return result


def _product(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
        raise OverflowError
    return left * right


_APPLY: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _product,
    "/": operator.truediv,
    "//": operator.floordiv,
    "**": _power,
}


class _Machine:
    """Two stacks, values and operators that wait for what follows; no recursion, however long the text is."""

    def __init__(self) -> None:
        self._values: list[Number] = []
        self._waiting: list[str] = []
        self._open = 0

    def run(self, symbols: list[str]) -> Number:
        """Compute what the symbols say."""
        wanted = True  # a value, where not: an operator
        for symbol in symbols:
            wanted = self._begin(symbol) if wanted else self._go_on(symbol)
        if wanted:
            raise CalculationError("it ends too early")
        if self._open:
            raise CalculationError("a parenthesis is not closed")
        self._settle(0)
        return self._values.pop()

    def _begin(self, symbol: str) -> bool:
        """Take a symbol where a value is wanted; returns whether one still is."""
        if symbol[0].isdigit() or symbol[0] == ".":
            self._values.append(_number(symbol))
            return False
        if symbol == "(":
            self._open += 1
            if self._open > MAX_NESTING:
                raise CalculationError("too many parentheses inside each other")
            self._waiting.append(symbol)
        elif symbol in {"+", "-"}:
            self._waiting.append(f"sign{symbol}")
        else:
            raise CalculationError(f"a number is missing before {symbol!r}")
        return True

    def _go_on(self, symbol: str) -> bool:
        """Take a symbol behind a value; returns whether another value is wanted."""
        if symbol == ")":
            if not self._open:
                raise CalculationError("a parenthesis is closed that was not opened")
            self._open -= 1
            self._settle(0)
            self._waiting.pop()
            return False
        if symbol not in _BINDING:
            raise CalculationError(f"an operator is missing before {symbol[:20]!r}")
        # Equal powers wait, so that they group to the right.
        self._settle(_BINDING[symbol] + (symbol == "**"))
        self._waiting.append(symbol)
        return True

    def _settle(self, binding: int) -> None:
        """Compute what waits and binds at least so tightly, back to the last open parenthesis."""
        while self._waiting and _BINDING.get(self._waiting[-1], -1) >= binding:
            sign = self._waiting.pop()
            right = self._values.pop()
            if sign == "sign-":
                right = -right
            elif sign != "sign+":
                right = _APPLY[sign](self._values.pop(), right)
            self._values.append(right)
