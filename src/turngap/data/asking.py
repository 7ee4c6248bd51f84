"""How agents ask for what they lack, and how a user without a model hears it.

A small, natural protocol in plain English: `question` words a request for slots so that `asked` finds exactly these
slots in it, and `asked` also finds them in the free wording of a language model, as far as their usual names occur.
A scripted user answers what it hears; a baseline agent that asks in these words is understood for certain.

Pure functions of text. Not a language-understanding system: words that name no slot are not heard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

ANYTHING_ELSE = "Is there anything else that I can do for you?"
"""What an agent asks when it is done."""
HANDED_OVER = "You are being transferred to a human agent. Please hold on."
"""What an agent says after it has handed the user over."""
GO_AHEAD = "Shall I go ahead (yes or no)?"
"""How an agent asks for the yes to what it has just described; a yes begins with "Yes"."""

_OWN = frozenset({"email", "zip", "first_name", "last_name", "name", "dob", "user_id", "phone_number"})

_ALIASES: dict[str, tuple[str, ...]] = {
    "email": ("email", "e-mail", "mail address"),
    "zip": ("zip code", "zip", "zipcode", "postal code", "postcode"),
    "first_name": ("first name", "full name", "name"),
    "last_name": ("last name", "surname", "family name", "full name", "name"),
    "name": ("name",),
    "dob": ("date of birth", "birth date", "birthday", "dob"),
    "user_id": ("user id", "username", "profile id", "account id"),
    "phone_number": ("phone number", "telephone number", "number you are calling about"),
    "order_id": ("order id", "order number", "which order", "which orders", "order ids", "order numbers"),
    "reservation_id": ("reservation id", "reservation number", "confirmation number", "booking reference"),
    "payment_method_id": ("payment method id", "payment method", "how would you like to pay", "which card"),
    "payment_id": ("payment id", "payment method", "how would you like to pay", "which card"),
    "reason": ("reason", "why"),
    "item_ids": ("item ids", "which item", "which items", "item id"),
    "new_item_ids": ("new item ids", "new item", "new items", "which option", "which variant", "replacement"),
    "address1": ("street address", "address", "address1"),
    "address2": ("apartment or suite", "apartment", "suite", "address2", "full address", "address"),
    "city": ("city", "full address", "address"),
    "state": ("state", "full address", "address"),
    "country": ("country", "full address", "address"),
}
# The first alias is how a question names the slot; the rest are how people and models do.

_ASKING = re.compile(
    r"\?|\b(please|could you|can you|would you|may i|let me know|tell me|provide|share|give me|need|specify|enter"
    r"|confirm)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def spoken(slot: str) -> str:
    """The words for a slot: ``zip`` is "zip code", ``new_item_ids`` is "new item ids"."""
    return _ALIASES[slot][0] if slot in _ALIASES else re.sub(r"[_.\s]+", " ", slot).strip()


def question(*choices: Sequence[str]) -> str:
    """Word a request for slots.

    Args:
        choices: sets of slots, any one of which is enough: ``question(["email"], ["first_name", "last_name", "zip"])``.
    """
    sets = [_listed([spoken(slot) for slot in slots]) for slots in choices if slots]
    return f"Could you tell me the {', or else the '.join(sets)}, please?"


def slots_known() -> tuple[str, ...]:
    """Slots that have usual names of their own, whatever the task."""
    return tuple(_ALIASES)


def spell(value: Any) -> str:
    """How a value is said: strings as they are, lists as "a, b and c", true and false as yes and no."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return _listed([spell(item) for item in value]) if value else "none"
    if isinstance(value, dict):
        return ", ".join(f"{spoken(key)} {spell(item)}" for key, item in value.items())
    return str(value)


def answer(slot: str, value: Any) -> str:
    """The sentence that tells a slot's value, which stands in it as `spell` spells it."""
    owner = "My" if slot in _OWN else "The"
    several = isinstance(value, (list, tuple)) and len(value) > 1
    verb, words = ("are", spoken(slot)) if several else ("is", spoken(slot))
    if several and not words.endswith("s"):
        words += "s"
    return f"{owner} {words} {verb} {spell(value)}."


def asked(text: str, slots: Iterable[str]) -> tuple[str, ...]:
    """Which of `slots` the text asks for, in the order in which it names them.

    Only sentences that ask are heard, so a report that mentions an order number asks for nothing. Where the name of
    one slot is part of a longer one in the text ("item ids" in "new item ids"), only the longer one is asked for.
    """
    found: list[tuple[int, int, str]] = []
    offset = 0
    for sentence in _SENTENCE.split(text):
        if _ASKING.search(sentence):
            for slot in slots:
                found += [(offset + m.start(), offset + m.end(), slot) for m in _pattern(slot).finditer(sentence)]
        offset += len(sentence) + 1
    heard = [
        (start, slot)
        for start, end, slot in found
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b, _ in found)
    ]
    return tuple(dict.fromkeys(slot for _, slot in sorted(heard)))


@lru_cache(maxsize=1024)
def _pattern(slot: str) -> re.Pattern[str]:
    names = {*_ALIASES.get(slot, ()), spoken(slot), slot}
    by_length = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(r"(?<![\w])(?:" + "|".join(re.escape(name) for name in by_length) + r")(?![\w])", re.IGNORECASE)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
