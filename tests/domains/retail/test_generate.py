"""Made-up databases: sizes, consistency, and nothing in common with what is to be avoided."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.domains.retail.generate import Sizes, generate
from turngap.domains.retail.schema import Database, GiftCard, Order, Status, User
from turngap.domains.retail.spread import Spread
from turngap.errors import UsageError

_FIRST_DIGITS = {
    "0": "CT MA ME NH NJ RI VT",
    "1": "DE NY PA",
    "2": "DC MD NC SC VA WV",
    "3": "AL FL GA MS TN",
    "4": "IN KY MI OH",
    "5": "IA MN MT ND SD WI",
    "6": "IL KS MO NE",
    "7": "AR LA OK TX",
    "8": "AZ CO ID NM NV UT WY",
    "9": "AK CA HI OR WA",
}
"""First digit of a postal code -> the states it is used in, by the postal service."""
_SMALL = Sizes(categories=12, variants=Spread(2, 6, 4, 1.2), users=15, orders=60)


@pytest.fixture(scope="module")
def usual() -> Database:
    """The usual sizes."""
    return generate(7)


def test_usual_sizes(usual: Database) -> None:
    """190 categories with 5 to 20 variants, 11 on average with a deviation of 4, 500 users, orders of 1 to 5 items."""
    counts = [len(product.variants) for product in usual.products.values()]
    assert (len(counts), len(usual.users), len(usual.orders)) == (190, 500, 1000)
    assert min(counts) >= 5
    assert max(counts) <= 20
    assert statistics.mean(counts) == pytest.approx(11, abs=0.1)
    assert statistics.pstdev(counts) == pytest.approx(4, abs=0.1)
    assert {len(order.items) for order in usual.orders.values()} == {1, 2, 3, 4, 5}


def test_orders_are_in_every_state(usual: Database) -> None:
    """Every status occurs, the frequent ones often."""
    counts = Counter(order.status for order in usual.orders.values())
    assert counts.keys() == set(get_args(Status))
    assert min(counts.values()) >= 10


def test_the_same_seed_gives_the_same() -> None:
    """A seed and sizes determine everything; another seed gives another shop."""
    assert generate(3, _SMALL) == generate(3, _SMALL)
    assert generate(3, _SMALL) != generate(4, _SMALL)


def test_more_users_do_not_change_the_products() -> None:
    """Each table has a chance of its own."""
    more = msgspec.structs.replace(_SMALL, users=30)
    assert generate(3, _SMALL).products == generate(3, more).products


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), orders=st.integers(0, 120), users=st.integers(1, 30), most=st.integers(1, 6))
def test_consistency(seed: int, orders: int, users: int, most: int) -> None:
    """Whatever seed and sizes: references exist, money adds up, shipments and histories fit the status."""
    sizes = msgspec.structs.replace(_SMALL, users=users, orders=orders, items=(1, most))
    _check(generate(seed, sizes))


def test_consistency_of_the_usual_sizes(usual: Database) -> None:
    """The same holds for the usual sizes."""
    _check(usual)


def _check(database: Database) -> None:
    for key, product in database.products.items():
        assert key == product.product_id
        assert all(item == variant.item_id for item, variant in product.variants.items())
        options = [tuple(sorted(variant.options.items())) for variant in product.variants.values()]
        assert len(set(options)) == len(options)
        assert len({tuple(variant.options) for variant in product.variants.values()}) == 1
        assert sum(variant.available for variant in product.variants.values()) >= min(2, len(product.variants))
    for key, user in database.users.items():
        assert key == user.user_id
        assert user.payment_methods
        assert all(method == one.id for method, one in user.payment_methods.items())
        assert [database.orders[order].user_id for order in user.orders] == [key] * len(user.orders)
        assert user.address.state in _FIRST_DIGITS[user.address.zip[0]].split()
        assert re.fullmatch(r"\d{5}", user.address.zip)
        assert re.fullmatch(r"[a-z.0-9]+@example\.(com|org|net)", user.email)
    for key, order in database.orders.items():
        assert key == order.order_id
        assert key in database.users[order.user_id].orders
        _check_order(database, order, database.users[order.user_id])


def _check_order(database: Database, order: Order, user: User) -> None:
    variants = {item: variant for product in database.products.values() for item, variant in product.variants.items()}
    for item in order.items:
        product = database.products[item.product_id]
        assert (item.name, item.price, item.options) == (
            product.name,
            product.variants[item.item_id].price,
            product.variants[item.item_id].options,
        )
    shipped = [item for shipment in order.fulfillments for item in shipment.item_ids]
    unshipped = order.status in ("pending", "pending (item modified)", "cancelled")
    assert shipped == ([] if unshipped else [item.item_id for item in order.items])
    assert all(payment.payment_method_id in user.payment_methods for payment in order.payment_history)
    assert all(payment.amount == round(payment.amount, 2) >= 0 for payment in order.payment_history)
    signs = {"payment": 1, "refund": -1}
    paid = round(sum(signs[one.transaction_type] * one.amount for one in order.payment_history), 2)
    total = round(sum(item.price for item in order.items), 2)
    assert paid == (0 if order.status == "cancelled" else total)
    assert len(order.payment_history) == 1 + (order.status in ("cancelled", "pending (item modified)"))
    assert (order.cancel_reason is not None) == (order.status == "cancelled")
    there = Counter(item.item_id for item in order.items)
    assert (order.return_items is not None) == (order.status == "return requested")
    if order.return_items is not None:
        assert order.return_items == sorted(order.return_items)
        assert Counter(order.return_items) <= there
        method = user.payment_methods[order.return_payment_method_id or ""]
        assert isinstance(method, GiftCard) or method.id == order.payment_history[0].payment_method_id
    assert (order.exchange_items is not None) == (order.status == "exchange requested")
    if order.exchange_items is not None and order.exchange_new_items is not None:
        assert Counter(order.exchange_items) <= there
        assert len(order.exchange_items) == len(order.exchange_new_items)
        before = sum(variants[item].price for item in order.exchange_items)
        after = sum(variants[item].price for item in order.exchange_new_items)
        assert order.exchange_price_difference == pytest.approx(after - before, abs=0.005)
        assert all(variants[item].available for item in order.exchange_new_items)
        method = user.payment_methods[order.exchange_payment_method_id or ""]
        assert not isinstance(method, GiftCard) or method.balance >= (order.exchange_price_difference or 0)


def _words(database: Database) -> Iterator[str]:
    """Every id, name, e-mail and street address, once for each record that bears it."""
    for product in database.products.values():
        yield from (product.product_id, product.name, *product.variants)
    for user in database.users.values():
        yield from (user.user_id, f"{user.name.first_name} {user.name.last_name}", user.email, *user.payment_methods)
        yield f"{user.address.address1} {user.address.zip}"
    for order in database.orders.values():
        yield order.order_id
        yield from (tracking for shipment in order.fulfillments for tracking in shipment.tracking_id)


def test_everything_is_unique(usual: Database) -> None:
    """No two records share an id, a name, an e-mail address or a street address."""
    words = list(_words(usual))
    assert [word for word, count in Counter(words).items() if count > 1] == []


def test_nothing_of_what_is_avoided_occurs(usual: Database) -> None:
    """With the same seed, and one database avoided after the other, each is disjoint from all before, products too."""
    made = [usual, generate(7, avoid=[usual])]
    made.append(generate(7, avoid=made))
    seen = Counter(word.lower() for database in made for word in _words(database))
    assert [word for word, count in seen.items() if count > 1] == []
    assert len(made[2].products) == 190
    _check(made[2])


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(categories=10_000),
        Sizes(users=200_000),
        Sizes(categories=0),
        Sizes(items=(2, 1)),
        Sizes(items=(0, 2)),
        Sizes(orders=-1),
        Sizes(variants=Spread(5, 5000, 11, 4)),
    ],
)
def test_impossible_sizes(sizes: Sizes) -> None:
    """Sizes that cannot be had are refused in words."""
    with pytest.raises(UsageError, match=r"cannot be had|sizes:"):
        generate(1, sizes)
