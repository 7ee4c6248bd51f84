"""What a customer can know without being told: who they are, and what they have in hand.

A person knows the plain facts of the own record (name, address, e-mail address, postal code), its key, the bare ids
that it lists, such as order numbers, and those of the records that say that they are this person's. A person does not
know the key of a thing that the record describes in other words: nobody says ``credit_card_4968`` where "my Visa card"
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turngap.synth.offer import is_map, token
from turngap.synth.plan import Customer


class Known:
    """The values that one customer knows. ``value in known`` asks for one."""

    def __init__(self, customer: Customer, told: Iterable[Any] = ()) -> None:
        """Collect them.

        Args:
            customer: who.
            told: what the customer knows besides, such as the order number of somebody else.
        """
        own = (customer.key, *customer.linked, *_plain(customer.record), *told)
        self._values = frozenset(token(value) for value in own)

    def __contains__(self, value: Any) -> bool:
        return token(value) in self._values


def _plain(value: Any) -> Iterator[Any]:
    """The values of a record, without the keys of the things that it describes."""
    if isinstance(value, dict):
        keyed = is_map(value)
        for key, inner in value.items():
            if keyed and isinstance(inner, dict):
                yield from (one for one in _plain(inner) if one != key)
            else:
                yield from _plain(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _plain(inner)
    else:
        yield value
