"""Filters in memory: sets of units, and windows of lists."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as some

from turngap.web.columns import NUMBERS, Columns, Raw

PROTOCOLS = ("turn", "replay")
TERMS = {1: ("tool", "look"), 2: ("tool", "move"), 3: ("category", "wrong_tool")}
UNITS = some.lists(
    some.tuples(
        some.text("-pfe", min_size=2, max_size=2),
        some.sets(some.sampled_from(sorted(TERMS))),
        some.none() | some.integers(0, 5),
    ),
    max_size=40,
)


def made(units: list[tuple[str, set[int], int | None]], step: int = 3) -> Columns:
    """Columns of units with keys `step` apart."""
    raw = Raw(
        numbers=[at * step for at in range(len(units))],
        results=[results.encode() for results, _, _ in units],
        terms=[b"".join(term.to_bytes(4, "little") for term in sorted(terms)) for _, terms, _ in units],
        values={name: [value for _, _, value in units] for name in NUMBERS},
    )
    return Columns(1, PROTOCOLS, raw, TERMS)


@given(UNITS)
def test_sets_hold_what_has_it(units: list[tuple[str, set[int], int | None]]) -> None:
    """Every set holds exactly the units with the value, in whatever mix."""
    columns = made(units)
    order = columns.sorted_by("")

    def held(facet: str, value: str) -> list[int]:
        return columns.window(columns.sets.get((facet, value), 0), order, 0, 100)

    for number, (facet, value) in TERMS.items():
        assert held(facet, value) == [at * 3 for at, (_, terms, _) in enumerate(units) if number in terms]
    for at, protocol in enumerate(PROTOCOLS):
        for name, letter in (("passed", "p"), ("failed", "f"), ("errored", "e"), ("none", "-")):
            assert held(protocol, name) == [
                place * 3 for place, (results, _, _) in enumerate(units) if results[at] == letter
            ]
    assert columns.everything.bit_count() == len(units) == columns.count


@given(UNITS, some.booleans(), some.integers(0, 10), some.integers(0, 10))
def test_windows_put_together_are_the_list(
    units: list[tuple[str, set[int], int | None]], backwards: bool, start: int, count: int
) -> None:
    """A sorted list is total and stable, its windows are cuts of it, and units without the number stand last."""
    columns = made(units)
    order = columns.sorted_by("-length" if backwards else "length")
    whole = columns.window(columns.everything, order, 0, len(units))

    def key(number: int) -> tuple[float, int]:
        value = units[number // 3][2]
        return (math.inf if value is None else -value if backwards else value), number

    assert whole == sorted((at * 3 for at in range(len(units))), key=key)
    assert columns.window(columns.everything, order, start, count) == whole[start : start + count]
    for place, number in enumerate(whole):
        assert columns.place_of(number, columns.everything, order) == place


@given(UNITS, some.integers(0, 5), some.integers(0, 5))
def test_ranges_hold_their_ends_and_nothing_unknown(
    units: list[tuple[str, set[int], int | None]], least: int, most: int
) -> None:
    """Both ends belong to a range; what has no number is in none."""
    columns = made(units)
    found = columns.window(columns.between("steps", least, most), columns.sorted_by(""), 0, 100)
    assert found == [at * 3 for at, (_, _, value) in enumerate(units) if value is not None and least <= value <= most]


def test_keys_that_are_not_there_are_in_no_set() -> None:
    """Words may be found in units that were written after the columns were read."""
    columns = made([("pp", set(), 1)] * 3)
    assert columns.window(columns.among([3, 4, 99, -1]), columns.sorted_by(""), 0, 9) == [3]
    assert columns.place_of(4, columns.everything, columns.sorted_by("")) is None
    assert made([]).among([1]) == 0
    assert made([]).window(0, made([]).sorted_by("-id"), 0, 5) == []


def test_ids_give_the_order_they_are_in() -> None:
    """Sorting by id takes the keys in the order that is handed over."""
    columns = made([("pp", set(), 1)] * 3)
    assert columns.window(columns.everything, columns.sorted_by("id", lambda: [6, 0, 3]), 0, 9) == [6, 0, 3]
    assert columns.window(columns.everything, columns.sorted_by("-id", lambda: [6, 0, 3]), 0, 9) == [3, 0, 6]
