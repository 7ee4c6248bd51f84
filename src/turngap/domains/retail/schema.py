"""The retail database: three tables, and what stands in a record.

The file is JSON with the tables ``products``, ``users`` and ``orders``, each an object of records under their ids: the
schema of the retail databases of tau2-bench, so that a database made here can be loaded there and the other way round.
Reading checks the shape of every record and fills fields that may be absent with null; it does not check that what a
record refers to exists. Amounts are in dollars.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from turngap import jsonio
from turngap.domains.api import Record
from turngap.errors import DataError

Status = Literal[
    "pending",
    "pending (item modified)",
    "processed",
    "delivered",
    "cancelled",
    "return requested",
    "exchange requested",
]
Reason = Literal["no longer needed", "ordered by mistake"]


class Variant(Record, frozen=True, kw_only=True):
    """One article of a product, such as the blue mug of 300 ml."""

    item_id: str
    options: dict[str, str]
    """What sets it apart from the product's other variants: option -> choice."""
    available: bool
    """Whether it can be had now; articles ordered earlier may have run out since."""
    price: float


class Product(Record, frozen=True, kw_only=True):
    """A type of article."""

    name: str
    product_id: str
    variants: dict[str, Variant]
    """Item id -> variant."""


class Name(Record, frozen=True, kw_only=True):
    """What a customer is called."""

    first_name: str
    last_name: str


class Address(Record, frozen=True, kw_only=True):
    """Where parcels go."""

    address1: str
    """Number and street."""
    address2: str
    """Flat or suite; empty where there is none."""
    city: str
    country: str
    state: str
    zip: str


class CreditCard(Record, frozen=True, kw_only=True, tag="credit_card", tag_field="source"):
    """A card that can be charged."""

    id: str
    brand: str
    last_four: str


class GiftCard(Record, frozen=True, kw_only=True, tag="gift_card", tag_field="source"):
    """Money that was paid in before; the only method with a balance here."""

    id: str
    balance: float


class Paypal(Record, frozen=True, kw_only=True, tag="paypal", tag_field="source"):
    """An account elsewhere."""

    id: str


class User(Record, frozen=True, kw_only=True):
    """A customer."""

    user_id: str
    name: Name
    address: Address
    """The default address; each order has its own."""
    email: str
    payment_methods: dict[str, CreditCard | GiftCard | Paypal]
    """Method id -> method."""
    orders: list[str]
    """Ids of the customer's orders."""


class Item(Record, frozen=True, kw_only=True):
    """One piece in an order; the same article twice is two of them."""

    name: str
    """Of the product."""
    product_id: str
    item_id: str
    price: float
    """What was paid for it."""
    options: dict[str, str]


class Fulfillment(Record, frozen=True, kw_only=True):
    """A shipment."""

    tracking_id: list[str]
    item_ids: list[str]


class Payment(Record, frozen=True, kw_only=True):
    """One movement of money for an order."""

    transaction_type: Literal["payment", "refund"]
    amount: float
    """Never negative; the type says which way it went."""
    payment_method_id: str


class Order(Record, frozen=True, kw_only=True):
    """An order, and what the desk did about it."""

    order_id: str
    user_id: str
    address: Address
    items: list[Item]
    status: Status
    fulfillments: list[Fulfillment]
    payment_history: list[Payment]
    cancel_reason: Reason | None = None
    exchange_items: list[str] | None = None
    """Item ids to be sent back, sorted."""
    exchange_new_items: list[str] | None = None
    """Item ids to be sent instead, sorted by themselves."""
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None
    """What the customer pays (above zero) or gets back."""
    return_items: list[str] | None = None
    """Item ids to be sent back, sorted."""
    return_payment_method_id: str | None = None


class Database(Record, frozen=True, kw_only=True):
    """The three tables, each by record id, in the order of the file."""

    products: dict[str, Product]
    users: dict[str, User]
    orders: dict[str, Order]

    def tables(self) -> dict[str, dict[str, Any]]:
        """The same as plain JSON values, every field present."""
        tables: dict[str, dict[str, Any]] = msgspec.to_builtins(self)
        return tables


def read(path: Path) -> Database:
    """Read a database file.

    Raises:
        DataError: the file is missing, not JSON, or a record lacks the right shape (the field is named).
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    try:
        return msgspec.convert(jsonio.loads(raw), Database)
    except jsonio.JsonError as error:
        raise DataError(str(error), file=str(path)) from None
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        raise DataError(f"not a retail database: {problem}", file=str(path), field=where.strip("`")) from None
