"""Trajectories in the small shop and at the boat desk, written by hand or drawn at random, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boatdomain import database
from hypothesis import strategies as st
from retailshop import small_shop

from turngap.data import ToolCall
from turngap.domains.api import Domain
from turngap.domains.retail.domain import retail
from turngap.synth.plan import Customer, Exploration, Fact
from turngap.synth.replay import replay

ELM = {"address1": "9 Oak Row", "address2": "", "city": "Reno", "state": "NV", "country": "USA", "zip": "89501"}


def shop() -> Domain:
    """The small shop as a domain with its rules."""
    return retail(small_shop())


def noor() -> Customer:
    """The customer with a pending order #W1 and a delivered #W2."""
    return Customer(table="users", key="u", record=small_shop()["users"]["u"])


def a_booking() -> Customer:
    """The boat desk has no people: a booking takes the person's place."""
    return Customer(table="bookings", key="BK-1042", record=database()["bookings"]["BK-1042"])


def call(name: str, **arguments: Any) -> ToolCall:
    """A call."""
    return ToolCall(name=name, arguments=arguments)


FIND = call("find_user_id_by_email", email="noor@example.com")
USER = call("get_user_details", user_id="u")
PENDING = call("get_order_details", order_id="#W1")
DELIVERED = call("get_order_details", order_id="#W2")
MUG = call("get_product_details", product_id="1")
LAMP = call("get_product_details", product_id="2")
PRODUCTS = call("list_all_product_types")
CANCEL = call("cancel_pending_order", order_id="#W1", reason="no longer needed")
MOVE = call("modify_pending_order_address", order_id="#W1", **ELM)
MOVE_BACK = call("modify_pending_order_address", order_id="#W1", **small_shop()["orders"]["#W1"]["address"])
HOME = call("modify_user_address", user_id="u", **ELM)
PAY = call("modify_pending_order_payment", order_id="#W1", payment_method_id="c1")
RETURN = call("return_delivered_order_items", order_id="#W2", item_ids=["11"], payment_method_id="c1")
EXCHANGE = call(
    "exchange_delivered_order_items", order_id="#W2", item_ids=["11"], new_item_ids=["12"], payment_method_id="c1"
)
SWAP = call("modify_pending_order_items", order_id="#W1", item_ids=["21"], new_item_ids=["22"], payment_method_id="c1")
SUM = call("calculate", expression="20.0 - 5.0")
HAND_OVER = call("transfer_to_human_agents", summary="The customer wants something else.")
STRANGER = call("get_order_details", order_id="#W3")
"""Somebody else's order."""

EVERYTHING = (
    FIND,
    USER,
    PENDING,
    DELIVERED,
    MUG,
    LAMP,
    PRODUCTS,
    CANCEL,
    MOVE,
    MOVE_BACK,
    HOME,
    PAY,
    RETURN,
    EXCHANGE,
    SWAP,
    SUM,
    HAND_OVER,
)


def explored(
    calls: Sequence[ToolCall],
    domain: Domain | None = None,
    customer: Customer | None = None,
    facts: Sequence[Fact] = (),
) -> Exploration:
    """An exploration that makes these calls, in the small shop for Noor where nothing else is said."""
    return Exploration(
        id="x1",
        seed=1,
        explorer="hand",
        customer=customer or noor(),
        offered=(),
        steps=replay(domain or shop(), calls).steps,
        facts=tuple(facts),
    )


def trajectories(most: int = 10) -> st.SearchStrategy[list[ToolCall]]:
    """Calls at random, after the customer was found: repeated, refused, overwritten and undone ones among them."""
    return st.lists(st.sampled_from(EVERYTHING), min_size=1, max_size=most).map(lambda calls: [FIND, USER, *calls])
