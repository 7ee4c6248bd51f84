"""The calculator: Python's arithmetic without Python."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.domains.retail.calculator import CalculationError, calculate


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2 + 2", "4.0"),
        ("10 - 4 - 3", "3.0"),
        ("2 + 3 * 4", "14.0"),
        ("(2 + 3) * 4", "20.0"),
        ("1 / 3", "0.33"),
        ("7 // 2", "3.0"),
        ("-7 // 2", "-4.0"),
        ("-2 ** 2", "-4.0"),
        ("2 ** -1", "0.5"),
        ("2 ** 3 ** 2", "512.0"),
        ("2 * -3", "-6.0"),
        ("--+-5", "-5.0"),
        (".5 + 1. + 09.25", "10.75"),
        ("00", "0.0"),
        ("2.675 * 1", "2.67"),
        ("  3  ", "3.0"),
        ("0.1 + 0.2", "0.3"),
        ("10 ** 400 // 10 ** 399", "10.0"),
        ("((((1))))", "1.0"),
    ],
)
def test_values(expression: str, result: str) -> None:
    """Precedence, grouping, exact whole numbers and rounding are as in Python."""
    assert calculate(expression) == result


_NOT_ARITHMETIC = [
    "",
    " ",
    "1 +",
    "* 2",
    "1 2",
    "1.2.3",
    "..",
    "()",
    "1()",
    "(1",
    "1)",
    "2 * * 3",
    "007",
    "1,000",
    "$5",
]
_CODE = ["x", "2^3", "1e3", "1\n+1", "1_0", "٣", "__import__('os')", "1 if 1 else 2"]
_NO_VALUE = ["1 / 0", "0 ** -1", "1 // 0", "(-8) ** .5", "9 ** 999", "9 ** 9 ** 9 ** 9"]
_ENDLESS = ["(" * 201 + "1" + ")" * 201, "1" * 4301]


@pytest.mark.parametrize("expression", [*_NOT_ARITHMETIC, *_CODE, *_NO_VALUE, *_ENDLESS])
def test_refusals(expression: str) -> None:
    """What is no arithmetic, or has no real value of a decent size, is refused, with a reason."""
    with pytest.raises(CalculationError, match=r"\w"):
        calculate(expression)


def test_nothing_takes_long() -> None:
    """Towers of powers, long chains and deep nesting are answered at once."""
    began = time.perf_counter()
    for hostile in (
        "9**9**9**9**9",
        "(9**9999)**9999",
        "-" * 50_000 + "1",
        "1" + "+1" * 50_000,
        "(9**40000)*" * 50 + "1",
    ):
        try:
            calculate(hostile)
        except CalculationError:
            continue
    assert time.perf_counter() - began < 5


_NUMBERS = st.one_of(st.integers(0, 9999).map(str), st.decimals(0, 9999, places=2).map(str))


@settings(deadline=None)
@given(
    st.recursive(
        _NUMBERS,
        lambda part: st.one_of(
            st.tuples(part, st.sampled_from(["+", "-", "*", "/", "//", " + ", " * -"]), part).map("".join),
            part.map(lambda inside: f"({inside})"),
            part.map(lambda inside: f"-{inside}"),
            part.map(lambda inside: f"({inside})**2"),
        ),
        max_leaves=12,
    )
)
def test_values_are_pythons(expression: str) -> None:
    """Whatever is arithmetic has the value that Python gives it, or none where Python has none."""
    try:
        expected = str(round(float(eval(expression, {"__builtins__": None}, {})), 2))
    except (ArithmeticError, SyntaxError):
        with pytest.raises(CalculationError):
            calculate(expression)
        return
    assert calculate(expression) == expected
