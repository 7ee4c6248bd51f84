"""Rules of the policy that the tools let an agent break, seen from the state, the call and the calls before it.

What needs the words of the conversation to be seen (who said yes) is not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turngap.data import ToolCall
from turngap.domains.api import Done, check
from turngap.domains.retail.tools import MODIFIED, Shop

_ON_ITEMS = ("modify_pending_order_items", "exchange_delivered_order_items", "return_delivered_order_items")
_ON_PENDING = ("modify_pending_order_address", "modify_pending_order_payment")
_WRITES = (*_ON_ITEMS, *_ON_PENDING, "cancel_pending_order", "modify_user_address")
_LOOKS = ("get_user_details", "get_order_details")
_FINDS = ("find_user_id_by_email", "find_user_id_by_name_zip")


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


@check
def the_customer_is_found_first(shop: Shop, call: ToolCall, before: Sequence[Done]) -> str | None:
    """Accounts and orders can be looked at and changed without anybody having been identified."""
    del shop
    if call.name in (*_WRITES, *_LOOKS) and _customer(before) is None:
        return "before anything else, the customer is found by e-mail address, or by name and postal code"
    return None


@check
def the_customer_has_their_own_only(shop: Shop, call: ToolCall, before: Sequence[Done]) -> str | None:
    """So can those of somebody else. To look at an order is none: whose it is, one sees only then."""
    customer = _customer(before)
    order = shop.orders.get(_text(call, "order_id"))
    owner = _text(call, "user_id") if order is None else order.user_id
    if customer is not None and call.name in (*_WRITES, "get_user_details") and owner in shop.users:
        return None if owner == customer else "what concerns somebody else's account or orders is refused"
    return None


RULES = (
    changed_orders_stay_as_they_are,
    items_come_for_others,
    there_is_something_to_do,
    the_customer_is_found_first,
    the_customer_has_their_own_only,
)


def _customer(before: Sequence[Done]) -> str | None:
    """The user id that was found first: one conversation is about one customer."""
    found = (one.result.content for one in before if one.call.name in _FINDS and not one.result.error)
    return next(found, None)


def _text(call: ToolCall, name: str) -> str:
    value = (call.arguments or {}).get(name)
    return value if isinstance(value, str) else ""


def _list(call: ToolCall, name: str) -> list[Any]:
    value = (call.arguments or {}).get(name)
    return value if isinstance(value, list) else []
