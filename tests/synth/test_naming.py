"""What names of fields and parameters say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.synth.naming import ends_it, is_money, key_name, likeness, replaced, shape, singular, words


@pytest.mark.parametrize(
    ("parameter", "field", "fit"),
    [
        ("order_id", "order_id", 3),
        ("item_ids", "item_id", 3),
        ("order_id", "orders", 2),
        ("dob", "date_of_birth", 2),
        ("payment_id", "payment_method_id", 1),
        ("zip", "zip_code", 1),
        ("order_id", "user_id", 0),
        ("address1", "address2", 0),
        ("product_id", "item_id", 0),
    ],
)
def test_a_field_fits_a_parameter_as_well_as_their_names_agree(parameter: str, field: str, fit: int) -> None:
    """The same name fits best, other words for it less, a part of it least."""
    assert likeness(parameter, field) == fit


@given(st.text(alphabet="abc_s", min_size=1, max_size=12), st.text(alphabet="abc_s", min_size=1, max_size=12))
def test_likeness_is_symmetric(one: str, other: str) -> None:
    """It does not matter which of two names is the parameter's."""
    assert likeness(one, other) == likeness(other, one)


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("orders", "order"),
        ("payment_methods", "payment_method"),
        ("categories", "category"),
        ("addresses", "address"),
        ("boxes", "box"),
        ("status", "status"),
        ("people", "person"),
        ("items", "item"),
    ],
)
def test_plurals_are_undone(plural: str, one: str) -> None:
    """The common plurals of English have their singular, and words that only look like plurals stay."""
    assert singular(plural) == one


def test_a_key_is_called_after_its_table() -> None:
    """A field that names a record bears the table's name in the singular."""
    assert (key_name("orders"), key_name("order_ids")) == ("order_id", "order_id")


def test_names_are_taken_apart_in_any_writing() -> None:
    """Underscores and humps both part words."""
    assert words("orderID") == words("order_id") == ("order", "id")


def test_what_takes_the_place_of_something_is_named_after_it() -> None:
    """New item ids stand for item ids; item ids stand for nothing."""
    assert (replaced("new_item_ids"), replaced("item_ids")) == ("item_ids", None)


def test_shapes_keep_signs_and_kinds_of_letters() -> None:
    """Values of one kind have one shape, whatever their digits and letters."""
    assert shape("#W0000000") == shape("#Q12") == "#A9"
    assert shape("gift_card_77") != shape("paypal_77")


def test_money_is_told_from_counts() -> None:
    """A total that is due is money; a total of bags, or an amount of gigabytes, is not."""
    assert [is_money(name) for name in ("total_due", "price", "total_bags", "gb_amount")] == [True, True, False, False]


def test_what_ends_a_thing_is_seen_by_its_name() -> None:
    """After a cancellation nothing else is done about a thing."""
    assert ends_it("cancel_pending_order")
    assert not ends_it("return_delivered_order_items")
