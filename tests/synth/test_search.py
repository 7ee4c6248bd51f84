"""Searching for arguments from what is known."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from boatdomain import Desk, domain
from hypothesis import given
from hypothesis import strategies as st

from turngap.domains.api import ToolError, read
from turngap.synth.place import slots
from turngap.synth.search import Pool, Search, made_up


@given(st.text(alphabet="ab12AB#_-. ", min_size=1, max_size=20))
def test_made_up_values_have_the_same_form(value: str) -> None:
    """Letters for letters and digits for digits, every other sign where it was; never the value, never a known one."""
    made = made_up(value, {value, "b", "2"})
    kinds = [(r"\d", "9"), ("[a-z]", "a"), ("[A-Z]", "A")]
    if made is None:
        assert len(re.sub(r"[^A-Za-z0-9]", "", value)) <= 1
        return
    forms = []
    for text in (value, made):
        for pattern, sign in kinds:
            text = re.sub(pattern, sign, text)  # noqa: PLW2901 - step by step
        forms.append(text)
    assert forms[0] == forms[1]
    assert made not in (value, "b", "2")


def _lock(desk: Desk, first: str, second: str, third: str) -> str:
    """Opens with three values, and says how far one got."""
    del desk
    for place, (given_, wanted) in enumerate([(first, "k1"), (second, "k2"), (third, "k3")]):
        if given_ != wanted:
            raise ToolError(f"lock {'abc'[place]} stays shut")
    return "open"


def _search(pool: Pool, function: Any) -> tuple[Search, Any]:
    tool = read(function)
    return Search(tool, slots(tool.spec), pool, Random(1)), domain(tools=[tool]).world()


def test_what_gets_further_is_tried_on() -> None:
    """Three locks one after the other: each right value changes the answer, so that no combination need be guessed."""
    pool = Pool()
    pool.add("", '{"shape": "x1", "keys": ["k3", "k1", "y1", "k2", "z1", "w1", "v1"]}')
    search, world = _search(pool, _lock)
    assert [values for values, _ in search.run(world, wanted=1)] == [{"first": "k1", "second": "k2", "third": "k3"}]
    assert search.asked < 60
    told = {(slot, value) for slot, value, through in search.recognised(world, {"k1", "k2", "k3"}) if through}
    assert told == {("first", "k1"), ("second", "k2"), ("third", "k3")}


def _pair(desk: Desk, name: str, zip_code: str) -> str:
    """Takes what belongs together only."""
    del desk
    if (name, zip_code) not in {("Ines", "111"), ("Omar", "222")}:
        raise ToolError("no such person")
    return "found"


def test_values_that_belong_together_are_tried_together() -> None:
    """Neither value alone changes the answer; those of one object go through at once."""
    pool = Pool()
    pool.add("", '{"people": [{"name": "Ines", "zip_code": "111"}, {"name": "Omar", "zip_code": "222"}]}')
    search, world = _search(pool, _pair)
    found = [tuple(values.values()) for values, _ in search.run(world, wanted=4)]
    assert found
    assert set(found) <= {("Ines", "111"), ("Omar", "222")}
    assert {slot for slot, _, _ in search.recognised(world, set())} == {"name", "zip_code"}


def test_echoes_are_not_heard() -> None:
    """What a call was given is not taken up from its result."""
    pool = Pool()
    heard = pool.add("look", '{"id": "BK-7", "date": "2 May", "none": null}', ["BK-7"])
    assert [(one.field, one.value) for one in heard] == [("date", "2 May")]
    assert pool.holding("BK-7") == []


def _swap(desk: Desk, item_id: str, new_item_id: str) -> str:
    """Takes one thing for another."""
    del desk
    if item_id not in ("a11", "a22"):
        raise ToolError("nobody has that")
    if new_item_id not in ("a11", "a22"):
        raise ToolError("nobody sells that")
    return "swapped"


def test_what_stays_is_no_replacement() -> None:
    """A call that goes through with the same thing twice says nothing of where new things come from."""
    pool = Pool()
    pool.add("", '{"item_id": "a11"}')
    search, world = _search(pool, _swap)
    assert search.run(world, wanted=1)[0][0] == {"item_id": "a11", "new_item_id": "a11"}
    assert search.recognised(world, {"a11", "a22"}) == [("item_id", "a11", True)]
