"""What the names of fields and parameters say: which field may fill which parameter.

Names are taken apart into words, so that ``payment_id`` is seen in ``payment_method_id``, ``item_ids`` in ``item_id``,
``dob`` in ``date_of_birth`` and ``order_id`` in a list called ``orders``. The shape of a value (``#W0000000`` is a
sign, a letter and digits) tells apart what names do not.

Pure functions of text; what a name means in the world is not known here.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_RUN = re.compile(r"\d+|[a-z]+|[A-Z]+")
_MONEY = frozenset(["price", "amount", "cost", "fee", "fare", "total", "balance", "deposit", "due", "credit"])
_UNITS = frozenset(["gb", "mb", "kg", "km", "days", "hours", "minutes", "points"])
_INSTEAD = ("new", "replacement", "target", "other", "alternative")
_LAST = frozenset(["cancel", "delete", "remove", "close", "terminate", "drop"])
_KEPT = ("address", "status", "class", "business", "basis", "access", "process", "previous", "details", "bus", "gas")


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: ``orderID`` and ``order_id`` are both order, id."""
    return tuple(word.lower() for word in _WORDS.findall(name))


@lru_cache(maxsize=4096)
def singular(name: str) -> str:
    """A name in the singular, its words joined by underscores: ``payment_methods`` is ``payment_method``."""
    parts = list(words(name))
    if parts:
        parts[-1] = _one(parts[-1])
    return "_".join(parts)


def _one(word: str) -> str:
    if word in ("people", "persons"):
        return "person"
    if word in _KEPT or len(word) < 3 or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if re.search(r"(ch|sh|x|z|ss)es$", word):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=4096)
def key_name(table: str) -> str:
    """What a field that names a record of a table is called: ``order_id`` for ``orders``."""
    one = singular(table)
    return one if one.endswith("_id") else f"{one}_id"


@lru_cache(maxsize=65536)
def likeness(parameter: str, field: str) -> int:
    """How well a field's name fits a parameter's: 3 the same, 2 the same in other words, 1 in part, 0 not at all."""
    wanted, found = singular(parameter), singular(field)
    if wanted == found:
        return 3
    ask, have = words(wanted), words(found)
    if not ask or not have:
        return 0
    if wanted == f"{found}_id" or found == f"{wanted}_id":
        return 2
    if _initials(have) == wanted or _initials(ask) == found:
        return 2
    if len(ask) > 1 and len(have) > 1:
        # Words in the middle may be left out or added: payment_id, payment_method_id.
        inside = set(ask) <= set(have) or set(have) <= set(ask)
        return 1 if inside and ask[-1] == have[-1] and ask[0] == have[0] else 0
    longer, shorter = (ask, have) if len(ask) > len(have) else (have, ask)
    return 1 if longer[0] == shorter[0] and longer[-1] in ("code", "number", "address", "name", "time") else 0


def _initials(parts: tuple[str, ...]) -> str:
    return "".join(part[0] for part in parts) if len(parts) > 2 else ""


def is_money(name: str) -> bool:
    """Whether a name says that a number is an amount of money: ``total_due``, but not ``total_bags``."""
    parts = words(name)
    return bool(parts) and (parts[-1] in _MONEY or parts[0] == "price") and _UNITS.isdisjoint(parts)


def ends_it(name: str) -> bool:
    """Whether a tool's name says that nothing is left of what it is used on, so that it is not changed besides."""
    parts = words(name)
    return bool(parts) and parts[0] in _LAST


def replaced(parameter: str) -> str | None:
    """The name of what a parameter takes the place of: ``item_ids`` for ``new_item_ids``; None for ordinary names."""
    parts = words(parameter)
    return "_".join(parts[1:]) if len(parts) > 1 and parts[0] in _INSTEAD else None


@lru_cache(maxsize=65536)
def shape(value: str) -> str:
    """The kinds of signs in a value, runs taken together: ``#W0000000`` is ``#A9``, ``gift_card_77`` is ``a_a_9``."""
    return _RUN.sub(_kind, value)


def _kind(run: re.Match[str]) -> str:
    first = run[0][0]
    return "9" if first.isdigit() else "a" if first.islower() else "A"
