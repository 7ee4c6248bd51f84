"""Made-up shops: a whole retail database from one seed.

The same seed and sizes give the same database. Everything in it is consistent: an order has the items, prices,
shipments and movements of money that its status implies, and addresses are in their city and state. Ids, names, e-mail
addresses and street addresses are unique, and none of them occurs in a database that is to be avoided.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from typing import Any

import msgspec

from turngap.domains.retail.history import Clerk
from turngap.domains.retail.schema import (
    Address,
    CreditCard,
    Database,
    GiftCard,
    Name,
    Paypal,
    Product,
    User,
    Variant,
)
from turngap.domains.retail.spread import Spread
from turngap.domains.retail.unique import Unique
from turngap.errors import UsageError

_MOST = 1_000_000
_AVAILABLE = 0.8
_METHODS = ("credit_card", "credit_card", "paypal", "gift_card")
_BRANDS = ("visa", "mastercard")
# Where the catalogue's own names are used up, products are sold under these as well.
_LINES = ("Classic", "Premium", "Essential", "Signature", "Heritage", "Everyday", "Deluxe", "Studio", "Select", "Prime")
_MAIL = ("example.com", "example.org", "example.net")


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much of everything."""

    categories: int = 190
    variants: Spread = Spread(5, 20, 11, 4)
    """Of a category."""
    users: int = 500
    orders: int = 1000
    """In all; each is some user's, so that a few users have none."""
    items: tuple[int, int] = (1, 5)
    """Fewest and most in an order."""


def generate(seed: int, sizes: Sizes | None = None, avoid: Sequence[Database] = ()) -> Database:
    """Make a database.

    Args:
        seed: of everything that is left to chance.
        sizes: how much of everything.
        avoid: what must not occur again: no id, name, e-mail or street address of them does.

    Raises:
        UsageError: the sizes cannot be had: too few names are left, or no distribution has the figures asked for.
    """
    sizes = sizes or Sizes()
    _require(sizes)
    # A stream of its own for each table: more users do not change the products.
    streams = {name: random.Random(f"{seed}/{name}") for name in ("products", "users", "orders")}
    taken = Unique(avoid)
    products = _Warehouse(streams["products"], taken).fill(sizes)
    registry = _Registry(streams["users"], taken)
    users = registry.fill(sizes.users)
    clerk = Clerk(streams["orders"], taken, products, users, registry.address)
    orders = clerk.take(sizes.orders, sizes.items)
    users = [msgspec.structs.replace(user, orders=clerk.orders_of(user)) for user in users]
    return Database(
        products={one.product_id: one for one in products},
        users={one.user_id: one for one in users},
        orders={one.order_id: one for one in orders},
    )


def _require(sizes: Sizes) -> None:
    """Refuse sizes that cannot be had, and such as no machine holds."""
    least = min(sizes.categories, sizes.variants.low, sizes.users, sizes.items[0])
    if least < 1 or sizes.orders < 0 or sizes.items[0] > sizes.items[1] or sizes.variants.low > sizes.variants.high:
        raise UsageError(
            "sizes: at least 1 category, 1 variant of each, 1 user and 1 item an order are needed, no fewer than 0 "
            "orders, and the smaller number of a range first"
        )
    if sizes.users > _MOST or sizes.orders * sizes.items[1] > _MOST:
        raise UsageError(f"sizes: at most {_MOST} users, and as many items in all orders together, can be made")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


class _Warehouse:
    """Makes products."""

    def __init__(self, rng: random.Random, taken: Unique) -> None:
        self._rng = rng
        self._taken = taken

    def fill(self, sizes: Sizes) -> list[Product]:
        """Products with different names and the wanted spread of variants."""
        names = self._names(sizes)
        counts = sizes.variants.draw(len(names), self._rng)
        return [self._product(name, entry, count) for (name, entry), count in zip(names, counts, strict=True)]

    def _names(self, sizes: Sizes) -> list[tuple[str, dict[str, Any]]]:
        """Names to sell under, each with its entry in the catalogue; the plain names come first."""
        plain = [
            (name, entry) for name, entry in _read("catalogue.toml").items() if _room(entry) >= sizes.variants.high
        ]
        self._rng.shuffle(plain)
        named = plain + [(f"{line} {name}", entry) for line in _LINES for name, entry in plain]
        free = [(name, entry) for name, entry in named if self._taken.name(name)]
        if len(free) < sizes.categories:
            raise UsageError(
                f"{sizes.categories} categories of up to {sizes.variants.high} variants cannot be had: "
                f"the catalogue has {len(free)} names for such that are not to be avoided"
            )
        return free[: sizes.categories]

    def _product(self, name: str, entry: dict[str, Any], count: int) -> Product:
        options = {key: choices for key, choices in entry.items() if key != "price"}
        every = list(product(*options.values()))
        variants = [
            self._variant(entry, dict(zip(options, one, strict=True))) for one in self._rng.sample(every, count)
        ]
        # Something can always be had, and something else instead.
        for one in range(min(2, count)):
            variants[one] = msgspec.structs.replace(variants[one], available=True)
        self._rng.shuffle(variants)
        return Product(name=name, product_id=self._digits(10), variants={one.item_id: one for one in variants})

    def _variant(self, entry: dict[str, Any], options: dict[str, str]) -> Variant:
        graded = next(key for key in entry if key != "price")
        step = entry[graded].index(options[graded]) / (len(entry[graded]) - 1)
        low, high = entry["price"]
        return Variant(
            item_id=self._digits(10),
            options=options,
            available=self._rng.random() < _AVAILABLE,
            price=round(low + (high - low) * (0.7 * step + 0.3 * self._rng.random()), 2),
        )

    def _digits(self, count: int) -> str:
        return self._taken.number(self._rng, "", count)


def _room(entry: dict[str, Any]) -> int:
    """How many variants an entry of the catalogue can have."""
    room = 1
    for key, choices in entry.items():
        room *= 1 if key == "price" else len(choices)
    return room


class _Registry:
    """Makes customers, who have not ordered anything yet."""

    def __init__(self, rng: random.Random, taken: Unique) -> None:
        self._rng = rng
        self._taken = taken
        self._people = _read("people.toml")

    def fill(self, count: int) -> list[User]:
        """So many customers with different names."""
        pairs = list(product(self._people["first_names"], self._people["last_names"]))
        self._rng.shuffle(pairs)
        users: list[User] = []
        for first, last in pairs:
            if len(users) == count:
                break
            if self._taken.name(f"{first} {last}"):
                users.append(self._user(first, last))
        if len(users) < count:
            raise UsageError(f"{count} users cannot be had: {len(users)} names are left that are not to be avoided")
        return users

    def _user(self, first: str, last: str) -> User:
        slug = [_slug(first), _slug(last)]
        methods = [self._method(source) for source in self._rng.sample(_METHODS, self._rng.choice((1, 1, 2, 2, 2, 3)))]
        mail = self._taken.number(self._rng, ".".join(slug), 4, f"@{self._rng.choice(_MAIL)}")
        return User(
            user_id=self._taken.number(self._rng, "_".join(slug) + "_", 4),
            name=Name(first_name=first, last_name=last),
            address=self.address(),
            email=mail,
            payment_methods={one.id: one for one in methods},
            orders=[],
        )

    def _method(self, source: str) -> CreditCard | GiftCard | Paypal:
        method = self._taken.number(self._rng, f"{source}_", 7)
        if source == "paypal":
            return Paypal(id=method)
        if source == "gift_card":
            return GiftCard(
                id=method, balance=float(self._rng.choice((self._rng.randint(0, 100), self._rng.randint(100, 600))))
            )
        return CreditCard(id=method, brand=self._rng.choice(_BRANDS), last_four=f"{self._rng.randrange(10_000):04}")

    def address(self) -> Address:
        """A street address that is nobody's yet, with a postal code of its city."""
        rng, people = self._rng, self._people
        while True:
            street = f"{rng.choice(people['streets'])} {rng.choice(people['street_kinds'])}"
            door = rng.choice(("", f"Apt {rng.randint(1, 48)}", f"Suite {rng.randint(100, 980)}"))
            town = rng.choice(people["cities"])
            address = Address(
                address1=f"{rng.randint(11, 9989)} {street}",
                address2=door,
                city=town["city"],
                country="USA",
                state=town["state"],
                zip=rng.choice(town["zips"]),
            )
            if self._taken.address(address):
                return address


def _slug(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
