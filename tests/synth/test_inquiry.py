"""What a customer may ask to be told."""

from __future__ import annotations

from typing import Any

import pytest

from turngap.synth.filling import Filled, Swap
from turngap.synth.inquiry import about, can_be_asked, reckonings, totals
from turngap.synth.memory import Leaf

KEYS = {"#W1": "order_id", "u": "user_id"}


def _leaf(field: str, value: Any, record: dict[str, Any] | None = None, path: str = "") -> Leaf:
    return Leaf(field, value, record or {field: value}, path or field)


def test_differences_in_price_are_told_without_a_sign() -> None:
    """Dearer or cheaper, the larger amount stands first."""
    for old, new in ((10.0, 12.5), (12.5, 10.0)):
        filled = Filled(arguments={}, swaps=(Swap(old={"price": old}, new={"price": new}),))
        assert [one.expression for one in reckonings(filled)] == ["12.50 - 10.00"]


def test_several_swaps_make_one_sum() -> None:
    """What gets cheaper is counted against what gets dearer."""
    swaps = (Swap(old={"price": 1.0}, new={"price": 5.0}), Swap(old={"price": 3.0}, new={"price": 2.0}))
    (found,) = reckonings(Filled(arguments={}, swaps=swaps))
    assert found.expression == "(5.00 - 1.00) + (2.00 - 3.00)"


def test_equal_prices_and_single_things_give_nothing_to_reckon() -> None:
    """Nobody asks for a difference of nothing, or for the sum of one."""
    assert reckonings(Filled(arguments={}, swaps=(Swap(old={"price": 1.0}, new={"price": 1.0}),))) == []
    assert reckonings(Filled(arguments={}, chosen=({"price": 1.0},))) == []
    assert reckonings(Filled(arguments={}, chosen=({"color": "red"}, {"color": "blue"}))) == []


def test_what_is_chosen_and_what_is_listed_can_be_summed() -> None:
    """The items of a return, and those of an order."""
    items = [{"price": 1.0}, {"price": 2.5}]
    assert [one.expression for one in reckonings(Filled(arguments={}, chosen=tuple(items)))] == ["1.00 + 2.50"]
    assert [one.expression for one in totals({"items": items, "tags": ["a"]})] == ["1.00 + 2.50"]


@pytest.mark.parametrize(
    ("field", "value", "asked"),
    [
        ("status", "delivered", True),
        ("price", 12.5, True),
        ("date", "2031-05-01", True),
        ("tracking_id", "843053469934", True),
        ("tracking_id", "none", False),
        ("email", "a@example.com", False),
        ("zip", "60614", False),
        ("available", True, False),
        ("last_four", 1234, False),
        ("date_of_birth", "1980-01-02", False),
        ("order_id", "#W1", False),
    ],
)
def test_people_ask_for_states_amounts_days_and_parcels(field: str, value: Any, asked: bool) -> None:
    """Not for what they know themselves, and not for ids."""
    assert can_be_asked(_leaf(field, value)) == asked


def test_a_question_says_what_it_is_about() -> None:
    """A value is named with the thing that it belongs to, and that with what it is part of."""
    order = {"order_id": "#W1", "user_id": "u", "status": "pending", "items": [{"name": "Mug", "price": 2.0}]}
    assert about(_leaf("status", "pending", order), order, KEYS, "u") == "the status of order #W1"
    item = _leaf("price", 2.0, order["items"][0], "items[0].price")  # type: ignore[index]
    assert about(item, order, KEYS, "u") == "the price of the Mug of order #W1"
    card = _leaf("balance", 5.0, {"source": "gift_card", "balance": 5.0}, 'payment_methods["g1"].balance')
    assert about(card, {"user_id": "u"}, KEYS, "u") == "the balance of the gift card"


def test_what_words_cannot_tell_apart_is_not_asked() -> None:
    """One payment can be asked for, one of two cannot."""
    once = {"order_id": "#W1", "payments": [{"amount": 2.0}]}
    leaf = _leaf("amount", 2.0, {"amount": 2.0}, "payments[0].amount")
    assert about(leaf, once, KEYS, "u") == "the amount in the payments of order #W1"
    assert about(leaf, {**once, "payments": [{"amount": 2.0}, {"amount": 3.0}]}, KEYS, "u") == ""


def test_a_record_without_a_key_is_named_by_what_was_asked_for() -> None:
    """An order that does not say its number has it from the call; the own account is no article with a name."""
    keys = {"203": "order_id", "103": "user_id"}
    order = {"user_id": "103", "price": "17"}
    assert about(_leaf("price", 17.0, order), order, keys, "103", {"order_id": "203"}) == "the price of order 203"
    user = {"name": "Ines", "balance": 5.0}
    assert about(_leaf("balance", 5.0, user), user, keys, "103", {"user_id": "103"}) == "the balance of the account"
    user = {"account_status": "active"}
    told = about(_leaf("account_status", "active", user), user, keys, "103", {"user_id": "103"})
    assert told == "the account status"
    booking = {"date": "2031-05-02"}
    told = about(_leaf("date", "2031-05-02", booking), booking, {"B1": "booking_id"}, "B1", {"booking_id": "B1"})
    assert told == "the date of the booking"


def test_what_the_question_says_itself_is_not_asked() -> None:
    """The price 203 of order 203: whoever asks has said it."""
    order = {"price": "203"}
    assert about(_leaf("price", "203", order), order, {"203": "order_id"}, "103", {"order_id": "203"}) == ""
