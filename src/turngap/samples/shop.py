"""The shop behind the sample conversations: a small world whose state the tools read and change.

`Shop(seed)` draws a database; `Shop.call` runs one tool and returns its result as JSON text, exactly as it stands in
the recordings. Equal seeds and equal calls give equal results, so a recording can be replayed and checked. Mistakes of
the caller (an id that does not exist, a state that does not allow the change) are results with an ``error``.

No attempt is made to be fast, persistent or safe for concurrent use: one conversation, one shop.
"""

from __future__ import annotations

import itertools
import json
import random
import unicodedata
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from turngap.samples.desk import TOOLS
from turngap.samples.stock import CATALOGUE, CITIES, NAMES, PAYMENTS, STREETS, Line

TODAY = date(2031, 3, 14)
"""The day on which every conversation takes place; the policy names it too."""
RETURN_DAYS = 30
"""Days after delivery in which items can go back."""
COUPON = 10.0
"""Dollars of the coupon for a late order."""


class Refused(Exception):
    """The tool says no; the text becomes the result's ``error``."""


@dataclass
class Item:
    """One option of a product, as sold."""

    item_id: str
    options: dict[str, str]
    price: float
    stock: int


@dataclass
class Product:
    """What the shop sells under one name."""

    product_id: str
    name: str
    items: list[Item]
    final_sale: bool


@dataclass(frozen=True)
class Address:
    """Where something is sent."""

    street: str
    city: str
    zip: str

    def fields(self) -> dict[str, str]:
        """As it stands in a tool result."""
        return {"street": self.street, "city": self.city, "zip": self.zip}


@dataclass
class Bought:
    """One item of an order, at the price that was paid."""

    product: Product
    item: Item
    price: float
    state: str = ""
    """Empty, ``returning`` or ``exchanging``."""


@dataclass
class Order:
    """Something that was bought."""

    order_id: str
    customer_id: str
    status: str
    """processing, shipped, delivered or cancelled."""
    placed: date
    promised: date
    delivered: date | None
    address: Address
    bought: list[Bought]
    paid_with: str
    coupon: str = ""

    @property
    def total(self) -> float:
        """What was paid for the items, in dollars."""
        return round(sum(bought.price for bought in self.bought), 2)

    @property
    def late(self) -> bool:
        """Whether it is on its way and should have arrived."""
        return self.status == "shipped" and self.promised < TODAY

    @property
    def returnable(self) -> bool:
        """Whether it was delivered so recently that items can go back."""
        return self.delivered is not None and (TODAY - self.delivered).days <= RETURN_DAYS


@dataclass
class Customer:
    """Somebody with an account."""

    customer_id: str
    first_name: str
    last_name: str
    email: str
    address: Address
    orders: list[str] = field(default_factory=list)


class Shop:
    """The whole state, and the tools as methods of the same name."""

    def __init__(self, seed: int) -> None:
        """Draw the database of `seed`."""
        draw = random.Random(f"shop/{seed}")  # text seeds are hashed alike on every platform
        self.products = {product.product_id: product for product in _products(draw)}
        self.customers = {customer.customer_id: customer for customer in _customers(draw)}
        self.orders: dict[str, Order] = {}
        numbers = iter(draw.sample(range(10_000, 100_000), 4 * len(self.customers)))
        for customer in self.customers.values():
            for kind in draw.sample(_KINDS, draw.choice((2, 3, 3, 4))):
                order = _order(draw, kind, f"LF-{next(numbers)}", customer, list(self.products.values()))
                self.orders[order.order_id] = order
                customer.orders.append(order.order_id)

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Run one tool.

        Returns:
            Its result as JSON text; an unknown tool, wrong arguments and refusals are ``{"error": ...}``.
        """
        try:
            _check(name, arguments)
            result = getattr(self, name)(**arguments)
        except Refused as refusal:
            result = {"error": str(refusal)}
        return json.dumps(result, ensure_ascii=False)

    def find_customer_by_email(self, email: str) -> dict[str, Any]:
        """Find an account; the address of the mailbox counts without regard to case."""
        for customer in self.customers.values():
            if customer.email == email.strip().lower():
                return _account(customer)
        raise Refused("no account with this email")

    def find_customer_by_name_zip(self, first_name: str, last_name: str, zip: str) -> dict[str, Any]:  # noqa: A002 - the tool's argument
        """Find an account by name and zip code."""
        asked = (first_name.casefold(), last_name.casefold(), zip)
        for customer in self.customers.values():
            if (customer.first_name.casefold(), customer.last_name.casefold(), customer.address.zip) == asked:
                return _account(customer)
        raise Refused("no account with this name and zip code")

    def get_order(self, order_id: str) -> dict[str, Any]:
        """Show an order as it is now."""
        order = self._order(order_id)
        shown: dict[str, Any] = {
            "order_id": order.order_id,
            "customer_id": order.customer_id,
            "status": order.status,
            "placed": order.placed.isoformat(),
            "promised": order.promised.isoformat(),
        }
        if order.delivered:
            shown["delivered"] = order.delivered.isoformat()
        shown["ship_to"] = order.address.fields()
        shown["items"] = [_bought(bought) for bought in order.bought]
        shown["total"] = order.total
        shown["paid_with"] = order.paid_with
        if order.coupon:
            shown["coupon"] = order.coupon
        return shown

    def get_product(self, product_id: str) -> dict[str, Any]:
        """Show a product with what is in stock now."""
        product = self.products.get(product_id)
        if product is None:
            raise Refused(f"there is no product {product_id}")
        items = [
            {"item_id": item.item_id, **item.options, "price": item.price, "stock": item.stock}
            for item in product.items
        ]
        return {"product_id": product_id, "name": product.name, "items": items}

    def cancel_order(self, order_id: str, reason: str) -> dict[str, Any]:
        """Cancel a processing order; the items go back into stock."""
        order = self._order(order_id, "processing", f"cancelled ({reason})")
        order.status = "cancelled"
        for bought in order.bought:
            bought.item.stock += 1
        return {"order_id": order_id, "status": "cancelled", "refund": order.total, "refund_to": order.paid_with}

    def change_address(self, order_id: str, street: str, city: str, zip: str, save: bool = False) -> dict[str, Any]:  # noqa: A002 - the tool's argument
        """Send a processing order elsewhere, and with `save` later orders too."""
        order = self._order(order_id, "processing", "sent to another address")
        order.address = Address(street, city, zip)
        if save:
            self.customers[order.customer_id].address = order.address
        return {"order_id": order_id, "ship_to": order.address.fields(), "saved": save}

    def return_items(self, order_id: str, item_ids: list[str], refund_to: str = "original") -> dict[str, Any]:
        """Start a return; all items go back or none."""
        order = self._order(order_id)
        going = [self._going_back(order, item_id) for item_id in item_ids]
        for bought in going:
            if bought.product.final_sale:
                raise Refused(f"item {bought.item.item_id} is final sale and cannot be returned")
        for bought in going:
            bought.state = "returning"
        refund = round(sum(bought.price for bought in going), 2)
        target = order.paid_with if refund_to == "original" else "store credit"
        return {"return_id": f"RT-{order_id[3:]}", "items": item_ids, "refund": refund, "refund_to": target}

    def exchange_item(self, order_id: str, item_id: str, new_item_id: str) -> dict[str, Any]:
        """Exchange an item for another option of its product; takes the new one from stock."""
        order = self._order(order_id)
        bought = self._going_back(order, item_id)
        new = next((item for item in bought.product.items if item.item_id == new_item_id), None)
        if new is None:
            raise Refused(f"{new_item_id} is not an option of {bought.product.name}")
        if new.stock < 1:
            raise Refused(f"item {new_item_id} is out of stock")
        new.stock -= 1
        bought.state = "exchanging"
        difference = round(new.price - bought.price, 2)
        return {
            "exchange_id": f"EX-{order_id[3:]}",
            "returns": item_id,
            "sends": new_item_id,
            "to_pay": max(difference, 0.0),
            "refund": max(0.0 - difference, 0.0),
        }

    def issue_coupon(self, order_id: str) -> dict[str, Any]:
        """Give the one coupon of a late order."""
        order = self._order(order_id)
        if not order.late:
            raise Refused(f"order {order_id} is not late")
        if order.coupon:
            raise Refused(f"order {order_id} already earned coupon {order.coupon}")
        order.coupon = f"LATE-{int(order_id[3:]) * 7 % 9000 + 1000}"
        return {"order_id": order_id, "coupon": order.coupon, "amount": COUPON}

    def transfer_to_human(self, topic: str) -> dict[str, Any]:
        """Put the customer into a colleague's queue."""
        return {"queued": True, "team": topic}

    def _order(self, order_id: str, status: str = "", action: str = "") -> Order:
        order = self.orders.get(order_id)
        if order is None:
            raise Refused(f"there is no order {order_id}")
        if status and order.status != status:
            raise Refused(f"order {order_id} is {order.status} and cannot be {action.partition(' (')[0]}")
        return order

    def _going_back(self, order: Order, item_id: str) -> Bought:
        """The item of a return or exchange, if it may go back."""
        if order.delivered is None:
            raise Refused(f"order {order.order_id} is {order.status}, not delivered")
        if not order.returnable:
            raise Refused(f"order {order.order_id} was delivered more than {RETURN_DAYS} days ago")
        for bought in order.bought:
            if bought.item.item_id == item_id:
                if bought.state:
                    raise Refused(f"item {item_id} is already {bought.state}")
                return bought
        raise Refused(f"order {order.order_id} has no item {item_id}")


_SPECS: dict[str, dict[str, Any]] = {tool["function"]["name"]: tool["function"] for tool in TOOLS}
_TYPES: dict[str, type] = {"string": str, "boolean": bool, "array": list}


def _check(name: str, arguments: dict[str, Any]) -> None:
    """Hold a call against the few parts of JSON Schema that the desk's tools use."""
    if name not in _SPECS:
        raise Refused(f"there is no tool {name}")
    schema = _SPECS[name]["parameters"]
    properties = schema["properties"]
    for argument in schema["required"]:
        if argument not in arguments:
            raise Refused(f"argument {argument} is missing")
    for argument, value in arguments.items():
        if argument not in properties:
            raise Refused(f"there is no argument {argument}")
        declared = properties[argument]
        if not isinstance(value, _TYPES[declared["type"]]):
            raise Refused(f"argument {argument} should be of type {declared['type']}")
        if "enum" in declared and value not in declared["enum"]:
            raise Refused(f"argument {argument} should be one of {', '.join(declared['enum'])}")


def _account(customer: Customer) -> dict[str, Any]:
    return {
        "customer_id": customer.customer_id,
        "name": f"{customer.first_name} {customer.last_name}",
        "email": customer.email,
        "address": customer.address.fields(),
        "orders": list(customer.orders),
    }


def _bought(bought: Bought) -> dict[str, Any]:
    shown = {
        "item_id": bought.item.item_id,
        "product_id": bought.product.product_id,
        "name": bought.product.name,
        **bought.item.options,
        "price": bought.price,
    }
    return {**shown, "state": bought.state} if bought.state else shown


def _products(draw: random.Random) -> list[Product]:
    numbers = draw.sample(range(1_000, 10_000), len(CATALOGUE))
    return [_product(draw, f"P-{number}", line) for number, line in zip(numbers, CATALOGUE, strict=True)]


def _product(draw: random.Random, product_id: str, line: Line) -> Product:
    combinations = itertools.product(*line.options.values())
    items = [
        Item(
            item_id=f"{product_id[2:]}-{number:02}",
            options=dict(zip(line.options, values, strict=True)),
            price=round(line.price + draw.choice((0, 0, 0, 5, -4)), 2),
            stock=draw.choice((0, 0, 3, 7, 12, 25)),
        )
        for number, values in enumerate(combinations, start=1)
    ]
    if not any(item.stock for item in items):
        items[-1] = replace(items[-1], stock=4)
    return Product(product_id, line.name, items, line.final_sale)


def _customers(draw: random.Random) -> list[Customer]:
    # Names are paired as they stand, and once more shifted: enough people for every recipe, and shared family names.
    firsts, lasts = [first for first, _ in NAMES], [last for _, last in NAMES]
    names = [*NAMES, *zip(firsts, lasts[7:] + lasts[:7], strict=True)]
    numbers = draw.sample(range(1_000, 10_000), len(names))
    customers = []
    for number, (first, last) in zip(numbers, names, strict=True):
        mailbox = draw.choice(("{0}.{1}", "{0}{1}", "{1}.{0}", "{0}_{1}")).format(_ascii(first), _ascii(last))
        email = (
            f"{mailbox}{draw.choice(('', '', draw.randrange(10, 99)))}@{draw.choice(('example.com', 'example.org'))}"
        )
        customers.append(Customer(f"C-{number}", first, last, email, any_address(draw)))
    return customers


def _ascii(name: str) -> str:
    """The letters of a name as mailboxes spell them."""
    plain = unicodedata.normalize("NFKD", name.replace("Ł", "L").replace("ł", "l"))
    return "".join(letter for letter in plain.lower() if letter.isascii() and letter.isalpha())


def any_address(draw: random.Random) -> Address:
    """Draw an invented address."""
    return Address(
        f"{draw.randrange(1, 400)} {draw.choice(STREETS)}", draw.choice(CITIES), str(draw.randrange(10_000, 99_999))
    )


_KINDS = ("processing", "processing", "shipped", "late", "recent", "recent", "recent", "old")
"""What an order can be like; a customer's orders are drawn from it without replacement, so that they differ."""


def _order(draw: random.Random, kind: str, order_id: str, customer: Customer, products: list[Product]) -> Order:
    days = {"processing": (0, 2), "shipped": (2, 4), "late": (8, 12), "recent": (9, 32), "old": (45, 90)}[kind]
    placed = TODAY - timedelta(days=draw.randint(*days))
    promised = placed + timedelta(days=draw.randint(5, 6))
    delivered = promised - timedelta(days=draw.randint(0, 2)) if kind in ("recent", "old") else None
    bought = [
        Bought(product, item, item.price)
        for product in draw.sample(products, draw.choice((1, 1, 2, 2, 3)))
        for item in (draw.choice(product.items),)
    ]
    return Order(
        order_id=order_id,
        customer_id=customer.customer_id,
        status={"late": "shipped", "recent": "delivered", "old": "delivered"}.get(kind, kind),
        placed=placed,
        promised=promised,
        delivered=delivered,
        address=customer.address,
        bought=bought,
        paid_with=draw.choice(PAYMENTS),
    )
