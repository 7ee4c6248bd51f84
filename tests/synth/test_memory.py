"""What an agent has come to know."""

from __future__ import annotations

from typing import Any

from turngap.synth.memory import Memory, Page

KEYS = {"#W1": "order_id", "u": "user_id"}


def _page(value: Any, **more: Any) -> Page:
    return Page(value, KEYS, **more)


def _values(memory: Memory, name: str) -> list[Any]:
    return [leaf.value for leaf in memory.best(name)]


def test_values_go_by_field_by_table_and_by_what_holds_them() -> None:
    """A bare key is known as what it is, an entry of a list and a key of a map by the singular of what holds it."""
    memory = Memory()
    memory.learn(_page("#W1"), 0)
    memory.learn(_page({"tags": ["a", "b"], "payment_methods": {"c1": {"id": "c1"}, "g1": {"id": "g1"}}}), 1)
    assert _values(memory, "order_id") == ["#W1"]
    assert _values(memory, "tag") == ["a", "b"]
    assert _values(memory, "payment_method_id") == ["c1", "g1"]


def test_a_value_remembers_its_record_and_place() -> None:
    """What stands beside a value is found with it."""
    memory = Memory()
    memory.learn(_page({"items": [{"item_id": "11", "price": 1.0}]}), 0)
    (leaf,) = memory.best("item_id")
    assert (leaf.record["price"], leaf.path) == (1.0, "items[0].item_id")


def test_what_was_asked_for_holds_of_every_record() -> None:
    """A search for a day gives flights of that day, though they do not say so."""
    memory = Memory()
    memory.learn(_page([{"flight_number": "A1"}], asked={"date": "2031-05-01"}), 0)
    assert list(memory.objects()) == [("", {"date": "2031-05-01", "flight_number": "A1"})]


def test_pages_can_be_told_apart_and_forgotten() -> None:
    """Values of one page are found alone, and a memory goes back to a mark."""
    memory = Memory()
    memory.learn(_page({"zip": "1"}), 0)
    mark = memory.mark()
    memory.learn(_page({"zip": "2"}), 1)
    assert [leaf.value for leaf in memory.best("zip", (1,))] == ["2"]
    memory.forget(mark)
    assert _values(memory, "zip") == ["1"]


def test_the_best_names_win() -> None:
    """A field of the same name leaves out those that fit only in part."""
    memory = Memory()
    memory.learn(_page({"payment_method_id": "c1", "payment_id": "p1"}), 0)
    assert _values(memory, "payment_id") == ["p1"]
    assert [leaf.value for _, leaf in memory.find("payment_id")] == ["c1", "p1"]


def test_nothing_is_no_value() -> None:
    """Null fields are not known."""
    memory = Memory()
    memory.learn(_page({"reason": None}), 0)
    assert memory.find("reason") == []
