"""Places in results and in arguments, and which field's name fits which slot."""

from __future__ import annotations

from typing import Any

from turngap.data import ToolSpec
from turngap.synth.offer import offers
from turngap.synth.place import alike, arguments, beside, called, fits, general, kind_of, owner, place, slots


def _slots(**properties: Any) -> dict[str, Any]:
    spec = ToolSpec(
        name="t",
        description="",
        parameters={"type": "object", "properties": properties, "required": list(properties)[:1]},
    )
    return {slot.place: slot for slot in slots(spec)}


_TEXT = {"type": "string"}


def test_every_value_of_a_result_has_a_place() -> None:
    """Indices and keys that are data do not show; a key has a place of its own; a bare text is the whole."""
    text = '{"id": "W1", "items": [{"id": "5"}], "methods": {"card_1": {"id": "card_1"}}, "orders": ["W2"]}'
    assert [place(offer) for offer in offers(text)] == [
        "id",
        "items[*].id",
        "methods[key]",
        "methods[*].id",
        "orders[*]",
    ]
    assert [place(offer) for offer in offers("ines_7")] == [""]
    assert [called(one) for one in ("methods[key]", "items[*].id", "orders[*]", "")] == ["methods", "id", "orders", ""]


def test_slots_are_the_values_that_a_call_takes() -> None:
    """Lists have one slot, objects one for each field; only what has to be given is required."""
    flight = {"type": "object", "properties": {"date": _TEXT, "seat": _TEXT}, "required": ["date"]}
    found = _slots(flights={"type": "array", "items": flight}, note=_TEXT, anything={"type": "object"})
    assert {name: slot.required for name, slot in found.items()} == {
        "flights[*].date": True,
        "flights[*].seat": False,
        "note": False,
    }
    assert owner("flights[*].date") == "flights"
    assert general("flights[12].date") == "flights[*].date"


def test_arguments_are_built_from_slots() -> None:
    """Every list has one member, and the parts of one object come together."""
    built = arguments(
        {"who": "Ines", "flights[*].date": "2 May", "flights[*].seat": "4A", "ids[*]": "7", "at.city": "Rome"}
    )
    assert built == {
        "who": "Ines",
        "flights": [{"date": "2 May", "seat": "4A"}],
        "ids": ["7"],
        "at": {"city": "Rome"},
    }


def test_names_that_fit() -> None:
    """The same name fits best; a name that says what is replaced is worth a try, and knows beside what it stands."""
    found = _slots(order_id=_TEXT, new_item_ids={"type": "array", "items": _TEXT}, reason=_TEXT)
    assert alike(found["order_id"], "order_id") == 3
    assert alike(found["order_id"], "orders") == 2
    assert alike(found["new_item_ids[*]"], "item_id") == 1
    assert alike(found["reason"], "order_id") == 0
    assert beside("new_item_ids[*]") == "item_ids[*]"
    assert beside("order_id") == ""


def test_kinds_that_fit() -> None:
    """Whole numbers are numbers, truth values and texts are none."""
    found = _slots(amount={"type": "number"}, count={"type": "integer"})
    assert [fits(found["amount"], kind_of(value)) for value in (1, 1.5, True, "1", None)] == [True, True] + [False] * 3
    assert [fits(found["count"], kind_of(value)) for value in (1, 1.5)] == [True, False]
