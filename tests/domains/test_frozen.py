"""Frozen values: nothing can be changed in place, and equality means what the digest means by it."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from boatdomain import Booking, Contact
from hypothesis import given
from hypothesis import strategies as st

from turngap.domains.frozen import FrozenDict, FrozenList, FrozenSet, StateError, canonical, freeze, ordered, thaw

_NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False)
)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


def _respelt(value: Any) -> Any:
    """The same value with other spellings of numbers and another order of keys."""
    if isinstance(value, dict):
        return {key: _respelt(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [_respelt(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**53 else Decimal(value)
    if isinstance(value, Decimal):
        return Decimal(f"{value:f}0") if "." in f"{value:f}" else Decimal(f"{value:f}.00")
    return value


@given(_VALUES)
def test_equal_values_have_one_canonical_text(value: Any) -> None:
    """ENV-03: neither the order of keys nor the spelling of numbers changes the text, nor does freezing or thawing."""
    assert canonical(value) == canonical(_respelt(value)) == canonical(freeze(value)) == canonical(thaw(freeze(value)))


@given(_VALUES)
def test_freezing_keeps_the_value(value: Any) -> None:
    """A frozen value equals what it was made of, and thawing gives plain containers back."""
    assert freeze(value) == value
    assert thaw(freeze(value)) == value
    assert freeze(freeze(value)) == value


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (30, 30.0, True),
        (30, Decimal("30.00"), True),
        (0.1, Decimal("0.10"), True),
        (0.1 + 0.2, 0.3, True),
        (0.1 + 0.2, Decimal("0.3"), True),
        (1000.10 - 999.90, 0.2, True),
        (-0.0, 0, True),
        (Decimal("-0.0"), 0, True),
        (1e22, 10**22, True),
        (Decimal("1E+3"), 1000, True),
        (30, "30", False),
        ("30", "30.00", False),
        (True, 1, False),
        (0, False, False),
        (None, 0, False),
        (2**53, 2**53 + 1, False),
        (Decimal("0.3"), Decimal("0.30000000000000004"), False),
        (0.3, 0.301, False),
        ([1, 2], [2, 1], False),
        ({"a": 1}, {"a": 1, "b": None}, False),
    ],
)
def test_numbers_count_by_value(one: Any, other: Any, same: bool) -> None:
    """ENV-03: one number has one text however it is spelled; texts, booleans and other digits stay apart."""
    assert (canonical(one) == canonical(other)) is same


def test_a_decimal_with_a_huge_exponent_costs_nothing() -> None:
    """A number of a billion digits is never written out."""
    assert canonical(Decimal("1E+999999")) == canonical(Decimal("10E+999998"))


def test_nothing_of_a_frozen_value_can_be_changed() -> None:
    """Every way in which a dict, list or record could be changed in place is refused, at every depth."""
    record = freeze(Booking(date="d", contact=Contact(name="a"), notes=["x"]))
    plain = freeze({"rows": [{"n": 1}], "set": {1, 2}})
    changes = [
        lambda: setattr(record, "date", "e"),
        lambda: setattr(record.contact, "name", "b"),
        lambda: record.notes.append("y"),
        lambda: record.notes.__setitem__(0, "y"),
        lambda: record.notes.__iadd__(["y"]),
        record.notes.sort,
        lambda: plain.update(rows=[]),
        lambda: plain.pop("rows"),
        plain["rows"].clear,
        lambda: plain["rows"][0].__setitem__("n", 2),
        lambda: plain["rows"][0].setdefault("m", 2),
        lambda: plain["rows"][0].__ior__({"m": 2}),
        lambda: plain["rows"].__delitem__(0),
        lambda: plain["set"].add(3),
    ]
    for change in changes:
        with pytest.raises((TypeError, AttributeError)):
            change()
    assert record == Booking(date="d", contact=Contact(name="a"), notes=["x"])
    assert plain == {"rows": [{"n": 1}], "set": {1, 2}}


def test_the_source_of_a_frozen_value_may_change() -> None:
    """What was frozen does not follow the objects that it was made of."""
    source = {"rows": [{"n": 1}]}
    frozen = freeze(source)
    source["rows"][0]["n"] = 2
    assert frozen == {"rows": [{"n": 1}]}


def test_copies_of_frozen_values() -> None:
    """`copy` gives a plain container; copying and pickling by the library keep the frozen kind."""
    value = freeze({"rows": [1]})
    assert type(value.copy()) is dict
    assert type(value["rows"].copy()) is list
    assert copy.copy(value) is copy.deepcopy(value) is value
    assert copy.copy(value["rows"]) is copy.deepcopy(value["rows"]) is value["rows"]
    assert type(pickle.loads(pickle.dumps(value))) is FrozenDict
    assert type(pickle.loads(pickle.dumps(value["rows"]))) is FrozenList


def test_sets_are_iterated_in_order() -> None:
    """ENV-04: a set of a state has one order: by value, and by content where values have none."""
    assert list(FrozenSet({"b", "a", "c"})) == ["a", "b", "c"]
    assert list(FrozenSet({10, 9, 1.5})) == [1.5, 9, 10]
    assert ordered({("b", None), ("a", 2), ("a", 1)}) == [("a", 1), ("a", 2), ("b", None)]
    assert ordered({frozenset({2}), frozenset({1})}) == [frozenset({1}), frozenset({2})]
    assert thaw(freeze({"tags": {"b", "a"}})) == {"tags": ["a", "b"]}


class _Loose(msgspec.Struct):
    name: str


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [object()]}, r"a\[0\]: builtins.object has no JSON form"),
        ({"a": float("nan")}, "a: nan is not a JSON number"),
        ({"a": Decimal("Infinity")}, "a: Infinity is not a JSON number"),
        ({1: "a"}, "the key 1 is no text"),
        ({"a": "\ud83d"}, "a: text with a lone surrogate"),
        ({"\ud83d": 1}, "lone surrogate"),
        ({"a": _Loose(name="b")}, "a: _Loose can be changed in place; declare it as a Record"),
        ({"a": lambda: 1}, "a: builtins.function has no JSON form"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_place(value: Any, problem: str) -> None:
    """A value without a JSON form, or one that could be changed in place, is refused, and the place named."""
    with pytest.raises(StateError, match=problem):
        freeze(value)


def test_dates_are_text_in_json() -> None:
    """Dates are kept as dates and equal their JSON text."""
    day = dt.date(2031, 5, 2)
    assert freeze([day]) == [day]
    assert thaw([day]) == ["2031-05-02"]
    assert canonical(day) == canonical("2031-05-02")
