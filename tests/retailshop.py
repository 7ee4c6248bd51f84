"""A shop small enough to know by heart: two customers, three orders, two products."""

from __future__ import annotations

from typing import Any

import msgspec

from turngap.domains.retail import schema

_ADDRESS = {"address1": "1 Elm Way", "address2": "", "city": "Boise", "country": "USA", "state": "ID", "zip": "83702"}
_MUGS = {"11": ("red", True, 1.0), "12": ("blue", True, 1.05), "13": ("green", False, 0.9)}
_LAMPS = {"21": ("red", True, 5.0), "22": ("blue", True, 20.0)}


def small_shop() -> dict[str, dict[str, Any]]:
    """Noor (u) with three payment methods, a pending order #W1 and a delivered #W2; Ada (v) with a processed #W3."""
    products = {"1": _product("1", "Mug", _MUGS), "2": _product("2", "Lamp", _LAMPS)}
    gift_cards = {
        key: {"source": "gift_card", "id": key, "balance": balance} for key, balance in (("g1", 0.05), ("g2", 9.0))
    }
    credit_card = {"source": "credit_card", "id": "c1", "brand": "visa", "last_four": "0001"}
    users = {
        "u": _user("u", "Noor", "Vega", gift_cards | {"c1": credit_card}, ["#W1", "#W2"]),
        "v": _user("v", "Ada", "Vega", {"p1": {"source": "paypal", "id": "p1"}}, ["#W3"]),
    }
    orders = {
        "#W1": _order("#W1", "u", "pending", [products["1"]["variants"]["11"], products["2"]["variants"]["21"]], "g2"),
        "#W2": _order("#W2", "u", "delivered", [products["1"]["variants"]["11"]] * 2, "c1"),
        "#W3": _order("#W3", "v", "processed", [products["2"]["variants"]["22"]], "p1"),
    }
    tables = {"products": products, "users": users, "orders": orders}
    return msgspec.convert(tables, schema.Database).tables()


def _product(product_id: str, name: str, rows: dict[str, tuple[str, bool, float]]) -> dict[str, Any]:
    variants = {
        item: {"item_id": item, "options": {"color": color}, "available": available, "price": price}
        for item, (color, available, price) in rows.items()
    }
    return {"name": name, "product_id": product_id, "variants": variants}


def _user(user_id: str, first: str, last: str, methods: dict[str, Any], orders: list[str]) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "name": {"first_name": first, "last_name": last},
        "address": _ADDRESS,
        "email": f"{first.lower()}@example.com",
        "payment_methods": methods,
        "orders": orders,
    }


def _order(order_id: str, user_id: str, status: str, variants: list[dict[str, Any]], method: str) -> dict[str, Any]:
    names = {"1": "Mug", "2": "Lamp"}
    items = [
        {
            "name": names[one["item_id"][0]],
            "product_id": one["item_id"][0],
            **{key: one[key] for key in ("item_id", "price", "options")},
        }
        for one in variants
    ]
    total = sum(one["price"] for one in variants)
    shipment = {"tracking_id": [f"9{order_id[2:]}"], "item_ids": [one["item_id"] for one in variants]}
    return {
        "order_id": order_id,
        "user_id": user_id,
        "address": _ADDRESS,
        "items": items,
        "status": status,
        "fulfillments": [] if status == "pending" else [shipment],
        "payment_history": [{"transaction_type": "payment", "amount": total, "payment_method_id": method}],
    }
