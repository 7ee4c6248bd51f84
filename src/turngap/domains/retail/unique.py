"""What a made-up database has used already, or must not use since another database has it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from turngap.domains.retail.schema import Address, Database

_TRIES = 10_000


class Unique:
    """Ids, names and addresses, each given out once; upper and lower case make no difference."""

    def __init__(self, avoid: Sequence[Database] = ()) -> None:
        self._taken = {text.casefold() for database in avoid for text in _words(database)}

    def name(self, name: str) -> bool:
        """Take a name; False where somebody or something bears it."""
        return self._take(name)

    def address(self, address: Address) -> bool:
        """Take a street address; False where it is somebody's."""
        return self._take(_line(address))

    def number(self, rng: random.Random, before: str, digits: int, after: str = "") -> str:
        """Take an id: `before`, so many digits that do not begin with 0, `after`."""
        while True:
            for _ in range(_TRIES):
                text = f"{before}{rng.randrange(10 ** (digits - 1), 10**digits)}{after}"
                if self._take(text):
                    return text
            # Nearly all of them are given out: go on with longer ones.
            digits += 1

    def _take(self, text: str) -> bool:
        key = text.casefold()
        if key in self._taken:
            return False
        self._taken.add(key)
        return True


def _line(address: Address) -> str:
    return f"{address.address1}, {address.zip}"


def _words(database: Database) -> list[str]:
    """Every id, name and address in a database."""
    words: list[str] = []
    for key, product in database.products.items():
        words += [key, product.product_id, product.name, *product.variants]
        words += [one.item_id for one in product.variants.values()]
    for key, user in database.users.items():
        words += [key, user.user_id, f"{user.name.first_name} {user.name.last_name}", user.email, _line(user.address)]
        words += [*user.payment_methods, *(one.id for one in user.payment_methods.values()), *user.orders]
    for key, order in database.orders.items():
        words += [key, order.order_id, _line(order.address)]
        words += [one for shipment in order.fulfillments for one in shipment.tracking_id]
        words += [one for item in order.items for one in (item.name, item.product_id, item.item_id)]
    return words
