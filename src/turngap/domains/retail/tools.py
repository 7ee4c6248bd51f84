"""The desk's sixteen tools: what a customer-service agent can look up and do.

Names, parameters, effects and the conditions under which a tool says no, with their order, are those of tau2-bench's
retail domain; docs/decisions/retail-differences.md lists what differs and why. Where that domain does something odd, so
does this one, since tasks and recorded runs rely on it; comments say where.
"""

# ruff: noqa: D417 - a tool's docstring is what the agent reads, and the agent knows nothing of the state

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turngap.domains.api import State, Table, Tool, ToolError, generic, read, write
from turngap.domains.retail.calculator import CalculationError
from turngap.domains.retail.calculator import calculate as compute
from turngap.domains.retail.schema import (
    Address,
    CreditCard,
    GiftCard,
    Item,
    Order,
    Payment,
    Paypal,
    Product,
    User,
    Variant,
)

REASONS = ("no longer needed", "ordered by mistake")
PENDING, MODIFIED, DELIVERED = "pending", "pending (item modified)", "delivered"


class Shop(State):
    """What the shop knows."""

    products: Table[Product]
    users: Table[User]
    orders: Table[Order]


@generic
def calculate(expression: str) -> str:
    """Work out an arithmetic expression; the result is rounded to two decimal places.

    Args:
        expression: Numbers, + - * / and parentheses, such as '(52.40 - 18.99) * 2'.
    """
    try:
        return compute(expression)
    except CalculationError as error:
        raise ToolError(f"cannot calculate: {error}") from None


@write
def cancel_pending_order(shop: Shop, order_id: str, reason: str) -> Order:
    """Cancel an order that is still pending, and refund what was paid.

    A gift card gets its money back at once, other payment methods within 5 to 7 business days. State the details and
    have the customer say yes before you call this. Returns the cancelled order.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
        reason: Either 'no longer needed' or 'ordered by mistake'.
    """
    order = _order(shop, order_id)
    if order.status != PENDING:
        raise ToolError(f"only a pending order can be cancelled; this one is {order.status!r}")
    if reason not in REASONS:
        raise ToolError(f"the reason has to be one of {' / '.join(REASONS)}")
    # Every past movement is paid back, a refund too: after a change of payment the money of a gift card comes twice.
    refunds = [msgspec.structs.replace(payment, transaction_type="refund") for payment in order.payment_history]
    for refund in refunds:
        _add(shop, order.user_id, refund.payment_method_id, refund.amount)
    return shop.orders.change(
        order_id, status="cancelled", cancel_reason=reason, payment_history=[*order.payment_history, *refunds]
    )


@write
def exchange_delivered_order_items(
    shop: Shop, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> Order:
    """Request the exchange of items of a delivered order for other variants of the same products.

    An order can be returned or exchanged once only, so collect every item first. State the details and have the
    customer say yes before you call this. Returns the order with the request.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
        item_ids: Item ids to be sent back, each such as '1008292230'; an id may occur as often as the order has it.
        new_item_ids: Item ids to be sent instead, in the same order and of the same products.
        payment_method_id: Pays, or gets back, the difference in price; such as 'gift_card_0000000'.
    """
    order = _order(shop, order_id)
    if order.status != DELIVERED:
        raise ToolError(f"only a delivered order can be exchanged; this one is {order.status!r}")
    _require_items(order, item_ids)
    swaps = _swaps(shop, order, item_ids, new_item_ids)
    difference = _difference(swaps)
    _require_cover(_payment_method(shop, order.user_id, payment_method_id), difference)
    return shop.orders.change(
        order_id,
        status="exchange requested",
        exchange_items=sorted(item_ids),
        exchange_new_items=sorted(new_item_ids),
        exchange_payment_method_id=payment_method_id,
        exchange_price_difference=difference,
    )


@read
def find_user_id_by_name_zip(shop: Shop, first_name: str, last_name: str, zip: str) -> str:  # noqa: A002 - a parameter of the domain
    """Find a customer's user id by name and postal code. Try the e-mail address first where the customer has it.

    Args:
        first_name: The customer's first name, such as 'Noor'.
        last_name: The customer's last name, such as 'Castillo'.
        zip: The postal code of the customer's default address, such as '60614'.
    """
    wanted = (first_name.lower(), last_name.lower())
    for user_id, user in shop.users.items():
        if (user.name.first_name.lower(), user.name.last_name.lower()) == wanted and user.address.zip == zip:
            return user_id
    raise ToolError("no user has this name and postal code")


@read
def find_user_id_by_email(shop: Shop, email: str) -> str:
    """Find a customer's user id by e-mail address.

    Args:
        email: The address, such as 'someone@example.com'.
    """
    for user_id, user in shop.users.items():
        if user.email.lower() == email.lower():
            return user_id
    raise ToolError("no user has this e-mail address")


@read
def get_order_details(shop: Shop, order_id: str) -> Order:
    """Look up an order: items, status, shipments, payments.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
    """
    return _order(shop, order_id)


@read
def get_product_details(shop: Shop, product_id: str) -> Product:
    """Look up a product: its variants with their options, availability and prices.

    Args:
        product_id: The product, such as '6086499569'; it is not the id of an item.
    """
    return _product(shop, product_id)


@read
def get_item_details(shop: Shop, item_id: str) -> Variant:
    """Look up one variant of a product: its options, availability and price.

    Args:
        item_id: The item, such as '1008292230'; it is not the id of a product.
    """
    for product in shop.products.values():
        if item_id in product.variants:
            return product.variants[item_id]
    raise ToolError("there is no such item")


@read
def get_user_details(shop: Shop, user_id: str) -> User:
    """Look up a customer: name, default address, e-mail address, payment methods, ids of the orders.

    Args:
        user_id: The customer, such as 'noor_castillo_4967'.
    """
    return _user(shop, user_id)


@read
def list_all_product_types(shop: Shop) -> dict[str, str]:
    """List what the shop sells: the name of each product with its product id."""
    return {product.name: product.product_id for product in shop.products.values()}


@write
def modify_pending_order_address(
    shop: Shop,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,  # noqa: A002 - a parameter of the domain
) -> Order:
    """Change where a pending order is sent. State the details and have the customer say yes before you call this.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
        address1: Number and street, such as '12 Harbor Lane'.
        address2: Flat or suite, such as 'Apt 3'; '' where there is none.
        city: The city, such as 'Chicago'.
        state: The state, such as 'IL'.
        country: The country, such as 'USA'.
        zip: The postal code, such as '60614'.
    """
    order = _order(shop, order_id)
    _require_pending(order)
    address = Address(address1=address1, address2=address2, city=city, state=state, country=country, zip=zip)
    return shop.orders.change(order_id, address=address)


@write
def modify_pending_order_items(
    shop: Shop, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> Order:
    """Replace items of a pending order by other variants of the same products.

    This can be done once only for an order, so collect every item first. State the details and have the customer say
    yes before you call this. Returns the changed order.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
        item_ids: Item ids to be replaced, each such as '1008292230'; an id may occur as often as the order has it.
        new_item_ids: Item ids to take their place, in the same order and of the same products.
        payment_method_id: Pays, or gets back, the difference in price; such as 'gift_card_0000000'.
    """
    order = _order(shop, order_id)
    if order.status != PENDING:
        raise ToolError(f"only the items of a pending order can be changed; this one is {order.status!r}")
    _require_items(order, item_ids)
    swaps = _swaps(shop, order, item_ids, new_item_ids, differing=True)
    difference = _difference(swaps)
    _require_cover(_payment_method(shop, order.user_id, payment_method_id), difference)
    settled = Payment(
        transaction_type="payment" if difference > 0 else "refund",
        amount=abs(difference),
        payment_method_id=payment_method_id,
    )
    _add(shop, order.user_id, payment_method_id, -difference)
    return shop.orders.change(
        order_id,
        status=MODIFIED,
        items=_replaced(order.items, list(zip(item_ids, new_item_ids, strict=True)), swaps),
        payment_history=[*order.payment_history, settled],
    )


@write
def modify_pending_order_payment(shop: Shop, order_id: str, payment_method_id: str) -> Order:
    """Pay a pending order with another payment method; what was paid before is refunded.

    State the details and have the customer say yes before you call this. Returns the changed order.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
        payment_method_id: The method to pay with instead, such as 'credit_card_0000000'.
    """
    order = _order(shop, order_id)
    _require_pending(order)
    method = _payment_method(shop, order.user_id, payment_method_id)
    if len(order.payment_history) != 1 or order.payment_history[0].transaction_type != "payment":
        raise ToolError("the payment of this order was changed before; that can be done once only")
    (paid,) = order.payment_history
    if paid.payment_method_id == payment_method_id:
        raise ToolError("the order is paid with this method already")
    if isinstance(method, GiftCard) and method.balance < paid.amount:
        raise ToolError("the balance of the gift card does not cover the order")
    _add(shop, order.user_id, payment_method_id, -paid.amount)
    _add(shop, order.user_id, paid.payment_method_id, paid.amount)
    instead = msgspec.structs.replace(paid, payment_method_id=payment_method_id)
    refund = msgspec.structs.replace(paid, transaction_type="refund")
    return shop.orders.change(order_id, payment_history=[paid, instead, refund])


@write
def modify_user_address(
    shop: Shop,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,  # noqa: A002 - a parameter of the domain
) -> User:
    """Change a customer's default address. State the details and have the customer say yes before you call this.

    Args:
        user_id: The customer, such as 'noor_castillo_4967'.
        address1: Number and street, such as '12 Harbor Lane'.
        address2: Flat or suite, such as 'Apt 3'; '' where there is none.
        city: The city, such as 'Chicago'.
        state: The state, such as 'IL'.
        country: The country, such as 'USA'.
        zip: The postal code, such as '60614'.
    """
    _user(shop, user_id)
    address = Address(address1=address1, address2=address2, city=city, state=state, country=country, zip=zip)
    return shop.users.change(user_id, address=address)


@write
def return_delivered_order_items(shop: Shop, order_id: str, item_ids: list[str], payment_method_id: str) -> Order:
    """Request the return of items of a delivered order.

    The customer gets an e-mail about how to send them back. An order can be returned or exchanged once only. State the
    details and have the customer say yes before you call this. Returns the order with the request.

    Args:
        order_id: The order, with the number sign it begins with, such as '#W0000000'.
        item_ids: Item ids to be sent back, each such as '1008292230'; an id may occur as often as the order has it.
        payment_method_id: Gets the refund: the method the order was paid with, or a gift card of the customer.
    """
    order = _order(shop, order_id)
    if order.status != DELIVERED:
        raise ToolError(f"only a delivered order can be returned; this one is {order.status!r}")
    method = _payment_method(shop, order.user_id, payment_method_id)
    paid_with = [payment.payment_method_id for payment in order.payment_history[:1]]
    if not isinstance(method, GiftCard) and payment_method_id not in paid_with:
        raise ToolError("the refund has to go to the original payment method or to a gift card")
    _require_items(order, item_ids)
    return shop.orders.change(
        order_id,
        status="return requested",
        return_items=sorted(item_ids),
        return_payment_method_id=payment_method_id,
    )


@generic
def transfer_to_human_agents(summary: str) -> str:
    """Hand the customer over to a human agent.

    Only where the customer insists on a human, or where policy and tools do not let you solve the matter.

    Args:
        summary: What the customer needs, for the colleague who takes over.
    """
    del summary
    return "Transfer successful"


TOOLS: tuple[Tool, ...] = (
    calculate,
    cancel_pending_order,
    exchange_delivered_order_items,
    find_user_id_by_name_zip,
    find_user_id_by_email,
    get_order_details,
    get_product_details,
    get_item_details,
    get_user_details,
    list_all_product_types,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
    return_delivered_order_items,
    transfer_to_human_agents,
)


def _order(shop: Shop, order_id: str) -> Order:
    if order_id not in shop.orders:
        raise ToolError("there is no such order")
    return shop.orders[order_id]


def _user(shop: Shop, user_id: str) -> User:
    if user_id not in shop.users:
        raise ToolError("there is no such user")
    return shop.users[user_id]


def _product(shop: Shop, product_id: str) -> Product:
    if product_id not in shop.products:
        raise ToolError("there is no such product")
    return shop.products[product_id]


def _payment_method(shop: Shop, user_id: str, method_id: str) -> CreditCard | GiftCard | Paypal:
    methods = _user(shop, user_id).payment_methods
    if method_id not in methods:
        raise ToolError("the customer has no such payment method")
    return methods[method_id]


def _require_pending(order: Order) -> None:
    # An order whose items were changed counts as pending here, though the policy has such orders left alone.
    if order.status not in (PENDING, MODIFIED):
        raise ToolError(f"only a pending order can be changed; this one is {order.status!r}")


def _require_items(order: Order, item_ids: Sequence[str]) -> None:
    there = [item.item_id for item in order.items]
    for item_id in item_ids:
        if item_ids.count(item_id) > there.count(item_id):
            raise ToolError(f"the order does not have item {item_id} so often")


def _require_cover(method: CreditCard | GiftCard | Paypal, difference: float) -> None:
    if isinstance(method, GiftCard) and method.balance < difference:
        raise ToolError("the balance of the gift card does not cover the difference in price")


def _swaps(
    shop: Shop, order: Order, item_ids: list[str], new_item_ids: list[str], *, differing: bool = False
) -> list[tuple[Item, Variant]]:
    """What goes with what comes instead, in the order of the ids. `differing`: an item cannot come for itself."""
    if len(item_ids) != len(new_item_ids):
        raise ToolError("there have to be as many new items as old ones")
    swaps = []
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        if differing and item_id == new_item_id:
            raise ToolError(f"item {item_id} cannot be replaced by itself")
        item = next(item for item in order.items if item.item_id == item_id)
        variants = _product(shop, item.product_id).variants
        if new_item_id not in variants:
            raise ToolError(f"item {new_item_id} is no variant of {item.name}")
        if not variants[new_item_id].available:
            raise ToolError(f"item {new_item_id} is not available")
        swaps.append((item, variants[new_item_id]))
    return swaps


def _difference(swaps: list[tuple[Item, Variant]]) -> float:
    """What the new items cost more than the old ones did, in whole cents."""
    return round(sum((new.price - old.price for old, new in swaps), 0.0), 2)


def _replaced(items: list[Item], ids: list[tuple[str, str]], swaps: list[tuple[Item, Variant]]) -> list[Item]:
    """The items of an order after a change, one pair of ids after the other.

    Two oddities are kept. Every changed item gets price and options of the last variant. And an item is looked for
    among the already changed ones too, so that a chain a-b, b-c changes the first of the two twice.
    """
    changed = list(items)
    for old, new in ids:
        at = next(index for index, item in enumerate(changed) if item.item_id == old)
        last = swaps[-1][1]
        changed[at] = msgspec.structs.replace(changed[at], item_id=new, price=last.price, options=last.options)
    return changed


def _add(shop: Shop, user_id: str, method_id: str, amount: float) -> None:
    """Put an amount on a gift card, or take one off; other methods have no balance here."""
    method = _payment_method(shop, user_id, method_id)
    if isinstance(method, GiftCard):
        loaded = msgspec.structs.replace(method, balance=round(method.balance + amount, 2))
        methods = {**shop.users[user_id].payment_methods, method_id: loaded}
        shop.users.change(user_id, payment_methods=methods)
