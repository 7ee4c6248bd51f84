"""What can be known of a domain's tools before acting."""

from __future__ import annotations

import boatdomain
from explorers import shop

from turngap.synth.knowhow import Knowhow

SHOP = Knowhow(shop(), shop().world().content())
BOATS = Knowhow(boatdomain.domain(), boatdomain.domain().world().content())


def test_records_are_opened_by_the_tools_that_take_their_key() -> None:
    """An order id opens orders; nothing opens a payment method."""
    tools = SHOP.tools.values()
    assert [tool.name for tool in SHOP.openers("order_id", tools)] == ["get_order_details"]
    assert SHOP.openers("payment_method_id", tools) == []


def test_a_tool_is_about_the_thing_that_it_names() -> None:
    """An exchange is about an order, a change of address about the customer."""
    exchange = SHOP.anchor(SHOP.tools["exchange_delivered_order_items"], "users")
    assert exchange is not None
    assert exchange.name == "order_id"
    assert SHOP.anchor(SHOP.tools["modify_user_address"], "users") is None


def test_where_bookings_are_the_customers_tools_are_about_them() -> None:
    """A booking in a person's place is no thing besides."""
    assert BOATS.anchor(BOATS.tools["move_booking"], "bookings") is None


def test_parts_of_an_address_are_made_up_together_and_nothing_else_is() -> None:
    """An address is one thing; what read tools look up is not made up."""
    assert SHOP.bundled(SHOP.tools["modify_user_address"]) == (
        "address1",
        "address2",
        "city",
        "state",
        "country",
        "zip",
    )
    assert SHOP.bundled(SHOP.tools["exchange_delivered_order_items"]) == ()
    assert SHOP.bundled(SHOP.tools["find_user_id_by_name_zip"]) == ()


def test_calculators_and_hand_overs_are_seen() -> None:
    """Both are recognised without knowing the domain."""
    assert [name for name, tool in SHOP.tools.items() if tool.calculates] == ["calculate"]
    assert [name for name, tool in BOATS.tools.items() if tool.hands_over] == ["hand_over"]


def test_the_order_of_an_offer_changes_nothing() -> None:
    """Tools come in the domain's order, and unknown ones not at all."""
    names = ["hand_over", "pay", "fly"]
    assert [tool.name for tool in BOATS.offered(names)] == ["pay", "hand_over"]
    assert BOATS.offered(reversed(names)) == BOATS.offered(names)


def test_keys_are_known_by_their_tables() -> None:
    """A key tells its table and what a field that holds it is called."""
    assert (BOATS.keys["BK-7"], BOATS.table_of("BK-7"), BOATS.table_of("BK-8")) == ("booking_id", "bookings", "")
