"""Made-up order histories, in every state that an order can be in.

An order is placed and paid in full first; then happens to it what its status says, by the rules that the tools hold to.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import get_args

import msgspec

from turngap.domains.retail.schema import (
    Address,
    Fulfillment,
    GiftCard,
    Item,
    Order,
    Payment,
    Product,
    Reason,
    Status,
    User,
    Variant,
)
from turngap.domains.retail.unique import Unique

_SHARES: dict[Status, float] = {
    "pending": 0.37,
    "delivered": 0.36,
    "processed": 0.10,
    "cancelled": 0.08,
    "return requested": 0.035,
    "exchange requested": 0.035,
    "pending (item modified)": 0.02,
}
_UNSHIPPED = ("pending", "pending (item modified)", "cancelled")
_TWO_OF_A_KIND = 0.02
_ELSEWHERE = 0.1
# Nobody pays a large order with a gift card while another method is at hand.
_GIFT_CARD_LIMIT = 300


class Clerk:
    """Takes orders of customers for products, and does what they ask for later."""

    def __init__(
        self,
        rng: random.Random,
        taken: Unique,
        products: list[Product],
        users: list[User],
        elsewhere: Callable[[], Address],
    ) -> None:
        """Begin with no orders; `elsewhere` makes an address that is nobody's yet, for parcels that go to others."""
        self._rng = rng
        self._taken = taken
        self._products = {one.product_id: one for one in products}
        self._users = users
        self._elsewhere = elsewhere
        self._shelf = [(product, variant) for product in products for variant in product.variants.values()]
        self._orders: dict[str, list[str]] = {}

    def orders_of(self, user: User) -> list[str]:
        """Ids of a customer's orders so far."""
        return self._orders.get(user.user_id, [])

    def take(self, count: int, items: tuple[int, int]) -> list[Order]:
        """So many orders, of customers at random, with at least and at most so many items."""
        return [self._order(status, self._rng.randint(*items)) for status in self._statuses(count)]

    def _statuses(self, count: int) -> list[Status]:
        """The statuses in their shares, in random order; even a small shop has most of them."""
        below = 0.0
        statuses: list[Status] = []
        for status, share in _SHARES.items():
            below += share
            statuses += [status] * (round(below * count) - len(statuses))
        self._rng.shuffle(statuses)
        return statuses

    def _order(self, status: Status, size: int) -> Order:
        user = self._rng.choice(self._users)
        items = self._basket(size)
        placed = Order(
            order_id=self._taken.number(self._rng, "#W", 7),
            user_id=user.user_id,
            address=self._elsewhere() if self._rng.random() < _ELSEWHERE else user.address,
            items=items,
            status="pending",
            fulfillments=[] if status in _UNSHIPPED else self._shipments(items),
            payment_history=[],
        )
        total = round(sum(item.price for item in items), 2)
        paid = Payment(transaction_type="payment", amount=total, payment_method_id=self._method(user, total))
        self._orders.setdefault(user.user_id, []).append(placed.order_id)
        return self._later(msgspec.structs.replace(placed, payment_history=[paid]), user, status)

    def _basket(self, size: int) -> list[Item]:
        picked = self._rng.sample(self._shelf, min(size, len(self._shelf)))
        if len(picked) > 1 and self._rng.random() < _TWO_OF_A_KIND:
            picked[-1] = picked[0]
        return [_item(product, variant) for product, variant in picked]

    def _shipments(self, items: list[Item]) -> list[Fulfillment]:
        ids = [item.item_id for item in items]
        cut = self._rng.randint(1, len(ids) - 1) if len(ids) > 2 and self._rng.random() < 0.2 else len(ids)
        parts = [part for part in (ids[:cut], ids[cut:]) if part]
        return [Fulfillment(tracking_id=[self._taken.number(self._rng, "", 12)], item_ids=part) for part in parts]

    def _method(self, user: User, amount: float) -> str:
        """What the customer pays an amount with."""
        methods = list(user.payment_methods.values())
        apt = [one.id for one in methods if not isinstance(one, GiftCard) or amount <= _GIFT_CARD_LIMIT]
        return self._rng.choice(apt or [one.id for one in methods])

    def _later(self, order: Order, user: User, status: Status) -> Order:
        if status == "cancelled":
            (paid,) = order.payment_history
            refund = msgspec.structs.replace(paid, transaction_type="refund")
            reason: Reason = self._rng.choice(get_args(Reason))
            return msgspec.structs.replace(order, status=status, payment_history=[paid, refund], cancel_reason=reason)
        if status == "return requested":
            return self._returned(order, user)
        if status == "exchange requested":
            return self._exchanged(order, user)
        if status == "pending (item modified)":
            return self._modified(order, user)
        return msgspec.structs.replace(order, status=status)

    def _returned(self, order: Order, user: User) -> Order:
        sent_back = self._rng.sample(order.items, self._rng.randint(1, len(order.items)))
        cards = [one.id for one in user.payment_methods.values() if isinstance(one, GiftCard)]
        return msgspec.structs.replace(
            order,
            status="return requested",
            return_items=sorted(item.item_id for item in sent_back),
            return_payment_method_id=self._rng.choice([order.payment_history[0].payment_method_id, *cards]),
        )

    def _exchanged(self, order: Order, user: User) -> Order:
        swaps = self._swaps(order)
        difference = _difference(swaps)
        method = self._covering(user, difference)
        if not swaps or method is None:
            return msgspec.structs.replace(order, status="delivered")
        return msgspec.structs.replace(
            order,
            status="exchange requested",
            exchange_items=sorted(item.item_id for item, _ in swaps),
            exchange_new_items=sorted(variant.item_id for _, variant in swaps),
            exchange_payment_method_id=method,
            exchange_price_difference=difference,
        )

    def _modified(self, order: Order, user: User) -> Order:
        swaps = self._swaps(order)
        difference = _difference(swaps)
        method = self._covering(user, difference)
        if not swaps or method is None:
            return order
        instead = {item.item_id: variant for item, variant in swaps}
        items = [
            _item(self._products[item.product_id], instead.pop(item.item_id)) if item.item_id in instead else item
            for item in order.items
        ]
        settled = Payment(
            transaction_type="payment" if difference > 0 else "refund",
            amount=abs(difference),
            payment_method_id=method,
        )
        return msgspec.structs.replace(
            order,
            status="pending (item modified)",
            items=items,
            payment_history=[*order.payment_history, settled],
        )

    def _swaps(self, order: Order) -> list[tuple[Item, Variant]]:
        """Some items, none of a kind twice, each with another variant that can be had; empty where there is none."""
        swaps = []
        for item in {item.item_id: item for item in order.items}.values():
            variants = self._products[item.product_id].variants.values()
            others = [one for one in variants if one.available and one.item_id != item.item_id]
            if others:
                swaps.append((item, self._rng.choice(others)))
        return self._rng.sample(swaps, self._rng.randint(1, len(swaps))) if swaps else []

    def _covering(self, user: User, amount: float) -> str | None:
        """A payment method that can pay an amount, or receive one; None where only gift cards with too little are."""
        methods = user.payment_methods.values()
        able = [one.id for one in methods if not isinstance(one, GiftCard) or one.balance >= amount]
        return self._rng.choice(able) if able else None


def _item(product: Product, variant: Variant) -> Item:
    return Item(
        name=product.name,
        product_id=product.product_id,
        item_id=variant.item_id,
        price=variant.price,
        options=variant.options,
    )


def _difference(swaps: list[tuple[Item, Variant]]) -> float:
    return round(sum(variant.price - item.price for item, variant in swaps), 2)
