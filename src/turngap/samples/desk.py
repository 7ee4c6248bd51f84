"""The support desk of the sample conversations: what the agent is told and the tools it has.

Kept short on purpose: policy and tools have to fit a small model's context with room for the conversation.
`turngap.samples.shop` makes the tools real.
"""

from __future__ import annotations

from typing import Any

POLICY = """\
You are the support agent of Larkfield, an online shop for home and outdoor goods. Today is 2031-03-14.
- Find the customer's account first, by email, or by name and zip code. Speak only about the account's own orders.
- Look an order up before you change it. Say what you are about to do and wait for a yes.
- Only orders that are processing can be cancelled or sent to another address.
- Delivered items can be returned or exchanged within 30 days of delivery. An exchange is for another option of the \
same product that is in stock. Refunds take 5 to 7 days.
- An order that is later than promised earns one 10 dollar coupon, if the customer wants it.
- Damage, payment disputes and whatever you cannot do go to a human colleague.
- Delivery takes 3 to 5 working days and costs 4.95 dollars, from 50 dollars nothing. We ship to the US and Canada.
Never make facts up."""


def _tool(name: str, description: str, properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [key for key in properties if key not in optional]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TEXT: dict[str, Any] = {"type": "string"}
_ITEMS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}

TOOLS: list[dict[str, Any]] = [
    _tool("find_customer_by_email", "Find a customer's account.", {"email": _TEXT}),
    _tool(
        "find_customer_by_name_zip",
        "Find an account without the email.",
        {"first_name": _TEXT, "last_name": _TEXT, "zip": _TEXT},
    ),
    _tool("get_order", "Show an order.", {"order_id": _TEXT}),
    _tool("get_product", "Show a product's options, prices and stock.", {"product_id": _TEXT}),
    _tool(
        "cancel_order",
        "Cancel a processing order.",
        {"order_id": _TEXT, "reason": {"type": "string", "enum": ["not_needed", "mistake", "too_slow"]}},
    ),
    _tool(
        "change_address",
        "Send a processing order elsewhere; save: also later ones.",
        {
            "order_id": _TEXT,
            "street": _TEXT,
            "city": _TEXT,
            "zip": _TEXT,
            "save": {"type": "boolean", "default": False},
        },
        optional=("save",),
    ),
    _tool(
        "return_items",
        "Return delivered items.",
        {
            "order_id": _TEXT,
            "item_ids": _ITEMS,
            "refund_to": {"type": "string", "enum": ["original", "store_credit"], "default": "original"},
        },
        optional=("refund_to",),
    ),
    _tool(
        "exchange_item",
        "Exchange a delivered item for another option.",
        {"order_id": _TEXT, "item_id": _TEXT, "new_item_id": _TEXT},
    ),
    _tool("issue_coupon", "Give the coupon for a late order.", {"order_id": _TEXT}),
    _tool(
        "transfer_to_human",
        "Hand over to a colleague.",
        {"topic": {"type": "string", "enum": ["damage", "payment", "other"]}},
    ),
]
"""The tools in the shape of a chat-completions request."""
