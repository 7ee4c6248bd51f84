"""The shop behind the sample conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from turngap.samples.shop import Order, Shop


@pytest.fixture
def shop() -> Shop:
    """A fresh shop."""
    return Shop(7)


def _ask(shop: Shop, name: str, **arguments: Any) -> dict[str, Any]:
    result = json.loads(shop.call(name, arguments))
    assert isinstance(result, dict)
    return result


def _an_order(shop: Shop, fits: Callable[[Order], bool]) -> Order:
    return next(order for order in shop.orders.values() if fits(order))


def _returnable(order: Order) -> bool:
    return order.returnable and not any(bought.product.final_sale for bought in order.bought)


def test_equal_seeds_are_equal_shops() -> None:
    """Two shops of one seed answer alike; another seed is another shop."""
    one, two, other = Shop(1), Shop(1), Shop(2)
    order_id = next(iter(one.orders))
    assert one.call("get_order", {"order_id": order_id}) == two.call("get_order", {"order_id": order_id})
    assert list(one.orders) != list(other.orders)


def test_a_customer_is_found_by_mail_and_by_name(shop: Shop) -> None:
    """Both ways give the same account with its orders, whatever the case."""
    for customer in shop.customers.values():
        by_mail = _ask(shop, "find_customer_by_email", email=customer.email.upper())
        by_name = _ask(
            shop,
            "find_customer_by_name_zip",
            first_name=customer.first_name.lower(),
            last_name=customer.last_name.upper(),
            zip=customer.address.zip,
        )
        assert by_mail == by_name
        assert by_mail["orders"] == customer.orders


def test_cancelling_is_once_and_restocks(shop: Shop) -> None:
    """A cancelled order shows it, its items are back in stock, and it cannot be cancelled again."""
    order = _an_order(shop, lambda order: order.status == "processing")
    item = order.bought[0].item
    before = item.stock
    done = _ask(shop, "cancel_order", order_id=order.order_id, reason="mistake")
    assert (done["refund"], item.stock) == (order.total, before + 1)
    assert _ask(shop, "get_order", order_id=order.order_id)["status"] == "cancelled"
    assert "is cancelled" in _ask(shop, "cancel_order", order_id=order.order_id, reason="mistake")["error"]


def test_an_address_can_be_saved(shop: Shop) -> None:
    """Changing an address touches the order alone unless it is to be saved."""
    order = _an_order(shop, lambda order: order.status == "processing")
    new = {"street": "1 Test Lane", "city": "Dunmore", "zip": "12345"}
    customer = shop.customers[order.customer_id]
    old = customer.address
    assert not _ask(shop, "change_address", order_id=order.order_id, **new)["saved"]
    assert customer.address == old
    assert _ask(shop, "change_address", order_id=order.order_id, **new, save=True)["saved"]
    assert _ask(shop, "find_customer_by_email", email=customer.email)["address"] == new


def test_returning_is_once(shop: Shop) -> None:
    """A returned item shows its state and cannot go back twice; store credit goes to store credit."""
    order = _an_order(shop, _returnable)
    items = [order.bought[0].item.item_id]
    done = _ask(shop, "return_items", order_id=order.order_id, item_ids=items, refund_to="store_credit")
    assert (done["refund"], done["refund_to"]) == (order.bought[0].price, "store credit")
    assert _ask(shop, "get_order", order_id=order.order_id)["items"][0]["state"] == "returning"
    assert "already returning" in _ask(shop, "return_items", order_id=order.order_id, item_ids=items)["error"]


def test_a_final_sale_item_stops_the_whole_return(shop: Shop) -> None:
    """One item that cannot go back leaves the others where they were."""
    order = _an_order(
        shop,
        lambda order: order.returnable and len({bought.product.final_sale for bought in order.bought}) == 2,
    )
    items = [bought.item.item_id for bought in order.bought]
    assert "final sale" in _ask(shop, "return_items", order_id=order.order_id, item_ids=items)["error"]
    assert not any("state" in item for item in _ask(shop, "get_order", order_id=order.order_id)["items"])


def test_an_exchange_takes_from_stock(shop: Shop) -> None:
    """The new item's stock falls by one, the price difference is paid or refunded, never less than nothing."""
    order = _an_order(shop, lambda order: order.returnable and any(i.stock for i in order.bought[0].product.items))
    bought = order.bought[0]
    new = next(item for item in bought.product.items if item.stock)
    before = new.stock
    done = _ask(shop, "exchange_item", order_id=order.order_id, item_id=bought.item.item_id, new_item_id=new.item_id)
    assert new.stock == before - 1
    assert round(done["to_pay"] - done["refund"], 2) == round(new.price - bought.price, 2)
    assert min(done["to_pay"], done["refund"]) == 0


def test_one_coupon_for_a_late_order(shop: Shop) -> None:
    """A late order earns one coupon, a second call and an order in time none."""
    order = _an_order(shop, lambda order: order.late)
    assert _ask(shop, "issue_coupon", order_id=order.order_id)["amount"] == 10
    assert "already earned" in _ask(shop, "issue_coupon", order_id=order.order_id)["error"]
    in_time = _an_order(shop, lambda order: not order.late)
    assert "not late" in _ask(shop, "issue_coupon", order_id=in_time.order_id)["error"]


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("fly", {}, "no tool fly"),
        ("get_order", {}, "order_id is missing"),
        ("get_order", {"order_id": "LF-1"}, "no order LF-1"),
        ("get_order", {"order_id": 5}, "of type string"),
        ("get_order", {"order_id": "LF-1", "x": 1}, "no argument x"),
        ("get_product", {"product_id": "P-0"}, "no product P-0"),
        ("transfer_to_human", {"topic": "sports"}, "one of damage, payment, other"),
        ("find_customer_by_email", {"email": "nobody@example.com"}, "no account"),
    ],
)
def test_a_wrong_call_is_a_result_with_an_error(shop: Shop, name: str, arguments: dict[str, Any], error: str) -> None:
    """The shop answers whatever a caller does; what was wrong stands in the result."""
    assert error in json.loads(shop.call(name, arguments))["error"]


def test_states_that_do_not_allow_the_change(shop: Shop) -> None:
    """Shipped orders cannot be cancelled, and what was delivered long ago or not at all cannot be returned."""
    shipped = _an_order(shop, lambda order: order.status == "shipped")
    old = _an_order(shop, lambda order: order.delivered is not None and not order.returnable)
    assert "is shipped" in _ask(shop, "cancel_order", order_id=shipped.order_id, reason="mistake")["error"]
    item = shipped.bought[0].item.item_id
    assert "not delivered" in _ask(shop, "return_items", order_id=shipped.order_id, item_ids=[item])["error"]
    item = old.bought[0].item.item_id
    assert "30 days" in _ask(shop, "return_items", order_id=old.order_id, item_ids=[item])["error"]
