"""Rules of the policy that the tools let an agent break, seen from the state and the call alone.

What needs the conversation to be seen (who was authenticated, who said yes) is not among them.
"""

from __future__ import annotations

from typing import Any

from turngap.data import ToolCall
from turngap.domains.api import check
from turngap.domains.retail.tools import MODIFIED, Shop

_ON_ITEMS = ("modify_pending_order_items", "exchange_delivered_order_items", "return_delivered_order_items")
_ON_PENDING = ("modify_pending_order_address", "modify_pending_order_payment")


@check
def changed_orders_stay_as_they_are(shop: Shop, call: ToolCall) -> str | None:
    """An order whose items were changed takes a new address or payment, as far as the tools go."""
    order = shop.orders.get(_text(call, "order_id"))
    if call.name in _ON_PENDING and order is not None and order.status == MODIFIED:
        return "an order whose items were changed is not changed any more"
    return None


@check
def items_come_for_others(shop: Shop, call: ToolCall) -> str | None:
    """An exchange of an item for itself passes."""
    del shop
    pairs = zip(_list(call, "item_ids"), _list(call, "new_item_ids"), strict=False)
    if call.name == "exchange_delivered_order_items" and any(old == new for old, new in pairs):
        return "an item is exchanged for one with other options, not for itself"
    return None


@check
def there_is_something_to_do(shop: Shop, call: ToolCall) -> str | None:
    """A return, an exchange or a change of no items passes, and uses up the one time that there is."""
    del shop
    if call.name in _ON_ITEMS and not _list(call, "item_ids"):
        return "the customer has to name at least one item"
    return None


RULES = (changed_orders_stay_as_they_are, items_come_for_others, there_is_something_to_do)


def _text(call: ToolCall, name: str) -> str:
    value = (call.arguments or {}).get(name)
    return value if isinstance(value, str) else ""


def _list(call: ToolCall, name: str) -> list[Any]:
    value = (call.arguments or {}).get(name)
    return value if isinstance(value, list) else []
