"""Rows that worlds share: what one changes, no other sees."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turngap.domains.tau2.rows import Rows


@dataclass
class Entry:
    """A record as tau2 has them: changed in place, copied with `model_copy`."""

    value: int
    tags: list[str] = field(default_factory=list)

    def model_copy(self, *, deep: bool) -> Entry:
        assert deep
        return copy.deepcopy(self)


def _rows() -> Rows:
    return Rows({"a": Entry(1), "b": Entry(2)})


def test_changes_in_place_stay_in_their_world() -> None:
    """A record that one fork changes deep inside is untouched in the other and in the first rows."""
    first = _rows()
    one, other = first.fork(), first.fork()
    one["a"].tags.append("x")
    assert one["a"].tags == ["x"]
    assert other["a"].tags == []
    assert first.shared("a").tags == []


def test_a_fork_of_changed_rows_has_the_changes() -> None:
    """After a fork both sides go on alone from the same content."""
    one = _rows()
    one["a"].value = 5
    two = one.fork()
    one["a"].value = 6
    two["a"].tags.append("x")
    assert (one["a"].value, one["a"].tags) == (6, [])
    assert (two["a"].value, two["a"].tags) == (5, ["x"])


def test_what_was_touched_is_known() -> None:
    """Looked up, added and removed keys are touched, also in forks; the others are not."""
    rows = _rows()
    assert rows.touched == frozenset()
    rows["a"].value = 3
    rows["c"] = Entry(9)
    del rows["b"]
    assert rows.fork().touched == {"a", "b", "c"}


def test_loops_that_only_look_copy_nothing() -> None:
    """While only reads are at work a loop meets the shared records; otherwise it meets copies."""
    rows = _rows()
    rows.looking = True
    assert all(record is rows.shared(key) for key, record in rows.items())
    assert [record.value for record in rows.values()] == [1, 2]
    assert rows.touched == frozenset()
    fork = rows.fork()
    fork.looking = False
    for record in fork.values():
        record.value = 0
    for _, record in fork.items():
        record.tags.append("x")
    assert [rows.shared(key).value for key in rows] == [1, 2]
    assert [(one.value, one.tags) for one in fork.values()] == [(0, ["x"]), (0, ["x"])]
    assert len(fork.values()) == 2


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["set", "del", "pop", "get", "setdefault", "update", "clear", "change"]),
        st.sampled_from("abcd"),
        st.integers(0, 9),
    ),
    max_size=12,
)


@given(_STEPS)
def test_rows_are_a_dict(steps: list[tuple[str, str, int]]) -> None:
    """Whatever is done with them, rows hold what a dict holds, and the rows they were forked from hold what they held."""
    first = _rows()
    rows, plain = first.fork(), {"a": Entry(1), "b": Entry(2)}
    for step, key, number in steps:
        found: list[Any] = []
        for one in (rows, plain):
            match step:
                case "set":
                    one[key] = Entry(number)
                case "del" if key in one:
                    del one[key]
                case "pop":
                    found.append(one.pop(key, None))
                case "get":
                    found.append(one.get(key))
                case "setdefault":
                    found.append(one.setdefault(key, Entry(number)))
                case "update":
                    one.update({key: Entry(number)})
                case "clear":
                    one.clear()
                case "change" if key in one:
                    one[key].value = number
        assert found == [] or found[0] == found[1]
    assert {key: rows.shared(key) for key in rows} == plain
    assert {key: first.shared(key) for key in first} == {"a": Entry(1), "b": Entry(2)}
