"""A corner shop that delivers: a small domain for experiments of minutes. Ten tools, a short policy, short ids.

``experiments/corner_shop.py?seed=3`` makes its database from the seed; databases of different seeds share no customer,
order or e-mail, since the seed is a part of every id: train on one, evaluate on another.
"""

from __future__ import annotations

import random
from typing import Any, Literal

from turngap.domains.api import Domain, Record, State, Table, ToolError, check, generic, read, write
from turngap.domains.loading import DomainSpec
from turngap.errors import UsageError

POLICY = """\
You work for the Corner Shop, which delivers groceries. Today is 2031-05-01.
- Find the customer by e-mail address before anything else, and speak about this customer's orders alone.
- Look an order up before you change it.
- Before each change say what you will do and wait for a yes.
- Only open orders can be cancelled, moved to another day, or sent to another address; of delivered orders single
  goods can be sent back or swapped for another kind of the same product, once.
- What you cannot do, you refuse, or hand over to a colleague if the customer asks for one.
- Tell nothing that you have not looked up."""

_FIRST = (
    "Ada",
    "Ben",
    "Cleo",
    "Dario",
    "Edda",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Leo",
    "Mona",
    "Nils",
)
_LAST = ("Abel", "Brandt", "Costa", "Dahl", "Eriksen", "Fuchs", "Garcia", "Holm", "Ivanov", "Jansen", "Keller", "Lopez")
_STREETS = ("Mill Lane", "Oak Street", "Harbor Road", "Church Row", "Garden Way", "Station Road", "Hill Street")
_DAYS = [f"2031-05-{day:02}" for day in range(2, 29)]
_GOODS: dict[str, tuple[str, ...]] = {
    "coffee": ("mild", "dark", "decaf"),
    "tea": ("green", "black", "mint"),
    "bread": ("rye", "wheat", "oat"),
    "jam": ("cherry", "apricot", "plum"),
    "cheese": ("goat", "brie", "cheddar"),
    "olive oil": ("light", "strong"),
    "honey": ("forest", "clover"),
    "pasta": ("penne", "fusilli", "spaghetti"),
}
Reason = Literal["no longer needed", "ordered by mistake"]


class Good(Record):
    """One thing in an order."""

    good_id: str
    product: str
    kind: str
    price: float


class Customer(Record):
    """Who orders."""

    name: str
    email: str
    street: str
    orders: list[str]


class Order(Record):
    """An order."""

    customer_id: str
    status: str
    day: str
    street: str
    goods: list[Good]
    note: str = ""


class Kind(Record):
    """One kind of a product."""

    product: str
    kind: str
    price: float
    in_stock: bool


class Shop(State):
    """What the shop knows."""

    customers: Table[Customer]
    orders: Table[Order]
    kinds: Table[Kind]


def _open(shop: Shop, order_id: str) -> Order:
    order = get_order(shop, order_id)
    if order.status != "open":
        raise ToolError(f"order {order_id} is {order.status}, not open")
    return order


def _delivered(shop: Shop, order_id: str, good_id: str) -> tuple[Order, Good]:
    order = get_order(shop, order_id)
    if order.status != "delivered":
        raise ToolError(f"order {order_id} is {order.status}, not delivered")
    good = next((one for one in order.goods if one.good_id == good_id), None)
    if good is None:
        raise ToolError(f"order {order_id} has no good {good_id}")
    return order, good


@read
def find_customer(shop: Shop, email: str) -> str:
    """Find the customer id that belongs to an e-mail address."""
    for customer_id, customer in shop.customers.items():
        if customer.email.lower() == email.lower():
            return customer_id
    raise ToolError("nobody has this e-mail address")


@read
def get_customer(shop: Shop, customer_id: str) -> Customer:
    """Look up a customer: name, street, ids of the orders."""
    if customer_id not in shop.customers:
        raise ToolError(f"there is no customer {customer_id}")
    return shop.customers[customer_id]


@read
def get_order(shop: Shop, order_id: str) -> Order:
    """Look up an order: status, day, street, goods."""
    if order_id not in shop.orders:
        raise ToolError(f"there is no order {order_id}")
    return shop.orders[order_id]


@read
def list_kinds(shop: Shop, product: str) -> dict[str, Kind]:
    """List the kinds of a product with their ids, such as those of coffee."""
    found = {kind_id: kind for kind_id, kind in shop.kinds.items() if kind.product == product}
    if not found:
        raise ToolError(f"the shop has no {product}")
    return found


@write
def cancel_order(shop: Shop, order_id: str, reason: Reason) -> Order:
    """Cancel an open order."""
    _open(shop, order_id)
    return shop.orders.change(order_id, status="cancelled", note=reason)


@write
def move_order(shop: Shop, order_id: str, day: str) -> Order:
    """Have an open order delivered on another day (YYYY-MM-DD)."""
    order = _open(shop, order_id)
    if day == order.day or not "2031-05-02" <= day <= "2031-05-28":
        raise ToolError("the shop delivers from 2031-05-02 to 2031-05-28, and a new day has to be another one")
    return shop.orders.change(order_id, day=day)


@write
def redirect_order(shop: Shop, order_id: str, street: str) -> Order:
    """Have an open order delivered to another street and number."""
    _open(shop, order_id)
    return shop.orders.change(order_id, street=street)


@write
def return_good(shop: Shop, order_id: str, good_id: str) -> Order:
    """Take one good of a delivered order back."""
    _delivered(shop, order_id, good_id)
    return shop.orders.change(order_id, status="return requested", note=f"return {good_id}")


@write
def swap_good(shop: Shop, order_id: str, good_id: str, kind_id: str) -> Order:
    """Swap one good of a delivered order for another kind of the same product."""
    _, good = _delivered(shop, order_id, good_id)
    kind = shop.kinds.get(kind_id)
    if kind is None or kind.product != good.product or kind.kind == good.kind:
        raise ToolError(f"{kind_id} is no other kind of {good.product}")
    if not kind.in_stock:
        raise ToolError(f"{kind.kind} {kind.product} is out of stock")
    return shop.orders.change(order_id, status="swap requested", note=f"swap {good_id} for {kind_id}")


@generic
def hand_over(summary: str) -> str:
    """Hand the customer over to a colleague."""
    del summary
    return "handed over"


@check
def customer_is_known(_shop: Shop, call: Any, before: Any) -> str | None:
    """Whether the customer was found before an order is touched."""
    known = any(done.call.name == "find_customer" and not done.result.error for done in before)
    return None if known or call.name in ("find_customer", "hand_over") else "the customer has to be found first"


@check
def own_orders_only(shop: Shop, call: Any, before: Any) -> str | None:
    """Whether an order is the customer's own."""
    order = shop.orders.get((call.arguments or {}).get("order_id", ""))
    looked = [done for done in before if done.call.name == "find_customer" and not done.result.error]
    found = {done.result.content for done in looked}
    return "the order is somebody else's" if order and found and order.customer_id not in found else None


def database(seed: int, customers: int = 120) -> dict[str, Any]:
    """The tables for a seed."""
    rng = random.Random(f"corner shop {seed}")
    kinds = {}
    for number, (product, names) in enumerate(_GOODS.items(), start=1):
        for place, kind in enumerate(names, start=1):
            price = round(rng.uniform(1.5, 9.5), 2)
            kinds[f"K{number}{place}"] = {
                "product": product,
                "kind": kind,
                "price": price,
                "in_stock": rng.random() < 0.8,
            }
    people: dict[str, Any] = {}
    orders: dict[str, Any] = {}
    for number in range(1, customers + 1):
        first, last = rng.choice(_FIRST), rng.choice(_LAST)
        key = f"C{seed}{number:03}"
        street = f"{rng.randint(1, 99)} {rng.choice(_STREETS)}"
        own = []
        for place in range(1, rng.randint(2, 4)):
            order_id = f"{seed}{number:03}{place}"
            own.append(order_id)
            orders[order_id] = {
                "customer_id": key,
                "status": rng.choice(["open", "open", "delivered", "delivered", "on its way"]),
                "day": rng.choice(_DAYS),
                "street": street,
                "goods": _basket(order_id, kinds, rng),
            }
        email = f"{first.lower()}.{last.lower()}{seed}{number:03}@example.com"
        people[key] = {"name": f"{first} {last}", "email": email, "street": street, "orders": own}
    return {"customers": people, "orders": orders, "kinds": kinds}


def _basket(order_id: str, kinds: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    products = rng.sample(sorted({kind["product"] for kind in kinds.values()}), rng.randint(1, 3))
    basket = []
    for place, product in enumerate(products, start=1):
        kind = rng.choice([one for one in kinds.values() if one["product"] == product])
        good = {"good_id": f"{order_id}-{place}", "product": product, "kind": kind["kind"], "price": kind["price"]}
        basket.append(good)
    return basket


def DOMAIN(spec: DomainSpec) -> Domain:  # noqa: N802 - the name that turngap looks for
    """The shop of a seed."""
    spec.only("seed", "customers")
    seed, customers = (spec.options.get(name, usual) for name, usual in (("seed", "1"), ("customers", "120")))
    if not (seed.isdigit() and customers.isdigit()):
        raise UsageError(f"domain {spec.text!r}: seed and customers are whole numbers")
    return Domain(
        name="corner shop",
        policy=POLICY,
        state=Shop,
        tools=[
            find_customer, get_customer, get_order, list_kinds, cancel_order, move_order, redirect_order, return_good,
            swap_good, hand_over,
        ],
        rules=[customer_is_known, own_orders_only],
        database=lambda: database(int(seed), int(customers)),
    )  # fmt: skip
