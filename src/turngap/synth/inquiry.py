"""What a customer may ask to be told: values of the own records, and what comes of reckoning with prices.

A question has an answer that can be recognised when it is said: an amount, a date, a long number, a status. Names,
addresses and ids are nothing that a customer asks for. What a question is about is put in a few plain words; how a
person would say it is up to the summary.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from turngap.synth.filling import Filled
from turngap.synth.invention import is_date
from turngap.synth.memory import Leaf
from turngap.synth.naming import is_money, words

DIFFERENCE = "the difference in price"
TOGETHER = "what the items cost together"

_DEEP = re.compile(r"[.\[]")
_PEOPLE = ("user", "customer", "member", "person", "client", "guest", "patient", "passenger", "profile")
_LISTED = re.compile(r"(\w*)\[\d")
_LONG_NUMBER = re.compile(r"\d{9,}")
_PERSONAL = frozenset(
    ["id", "ids", "zip", "postcode", "phone", "last", "birth", "dob", "imei", "name", "address", "created"]
)


class Reckoning(msgspec.Struct, frozen=True, kw_only=True):
    """An expression, and what it tells."""

    expression: str
    about: str


def reckonings(filled: Filled) -> list[Reckoning]:
    """What can be reckoned about a call: the difference in price, the sum of what is chosen."""
    found = []
    terms = [(amount(swap.old), amount(swap.new)) for swap in filled.swaps]
    pairs = [(old, new) for old, new in terms if old is not None and new is not None]
    if pairs and len(pairs) == len(terms):
        dearer = sum(new - old for old, new in pairs)
        ordered = [(new, old) if dearer >= 0 else (old, new) for old, new in pairs]
        parts = [f"({_spelt(first)} - {_spelt(second)})" for first, second in ordered]
        expression = " + ".join(parts) if len(parts) > 1 else parts[0][1:-1]
        if round(dearer, 2):
            found.append(Reckoning(expression=expression, about=DIFFERENCE))
    amounts = [amount(record) for record in filled.chosen]
    if len(amounts) > 1 and None not in amounts:
        expression = " + ".join(_spelt(one) for one in amounts if one is not None)
        found.append(Reckoning(expression=expression, about=TOGETHER))
    return found


def totals(record: Any) -> list[Reckoning]:
    """What can be reckoned about a record: the sum of the amounts of the things that it lists."""
    found = []
    for field, listed in record.items() if isinstance(record, dict) else ():
        amounts = [amount(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        if len(amounts) > 1 and None not in amounts:
            expression = " + ".join(_spelt(one) for one in amounts if one is not None)
            found.append(Reckoning(expression=expression, about=f"the total of the {' '.join(words(field))}"))
    return found


def can_be_asked(leaf: Leaf) -> bool:
    """Whether a value is something that a customer may ask for."""
    parts = words(leaf.field)
    if "tracking" in parts:
        return isinstance(leaf.value, str) and _LONG_NUMBER.fullmatch(leaf.value) is not None
    if not parts or not _PERSONAL.isdisjoint(parts) or isinstance(leaf.value, bool):
        return False
    if isinstance(leaf.value, (int, float)):
        return is_money(leaf.field)
    return parts[-1] == "status" or is_date(leaf.value)


def about(leaf: Leaf, whole: Any, keys: dict[str, str], own: str, given: dict[str, Any] | None = None) -> str:
    """What a value is, in a few words: ``the status of order #W0000000``; empty where words cannot tell it apart.

    Args:
        leaf: the value.
        whole: the result that it stands in.
        keys: key of a record -> what a field that holds it is called.
        own: the key of the customer.
        given: the arguments of the call that gave the result, which name the record that itself bears no key.
    """
    if str(leaf.value) in map(str, (given or {}).values()):
        return ""  # whoever names the record has said the value
    what = " ".join(word for word in words(leaf.field) if word not in ("id", "ids", "est"))
    what = f"{what} number" if what == "tracking" else what
    theirs = own in (given or {}).values()
    inner = leaf.record is not whole and bool(_DEEP.search(leaf.path))
    part = _label(leaf.record, keys, own) if inner or not theirs else ""
    subject = ("" if inner else _own(keys.get(own, ""))) if theirs else _subject(whole, keys, own, given or {})
    listed = _LISTED.match(leaf.path)
    if listed and not part:
        alone = isinstance(whole, dict) and isinstance(whole.get(listed[1]), list) and len(whole[listed[1]]) == 1
        if not alone:
            return ""
        what = what if what.endswith("number") else f"{what} in the {' '.join(words(listed[1]))}"
    if theirs and subject.removeprefix("the ") in what.split():
        subject = ""  # the account status needs no "of the account"
    if given and not theirs and not subject and not part:
        return ""
    return " of ".join(filter(None, (f"the {what}", "" if part == subject or not inner else part, subject)))


def named(field: str, value: Any) -> str:
    """A record by its key, in a few words: ``order #W0000000``."""
    return f"{' '.join(word for word in words(field) if word != 'id')} {value}".strip()


def _own(field: str) -> str:
    """What the customer calls the own record: the account, or the booking where nobody but that is on record."""
    kind = " ".join(word for word in words(field) if word != "id")
    return f"the {'account' if kind in _PEOPLE or not kind else kind}"


def _subject(whole: Any, keys: dict[str, str], own: str, given: dict[str, Any]) -> str:
    """What a result is about: by its own name, else by what was asked for."""
    label = _label(whole, keys, own) if isinstance(whole, dict) else ""
    asked = next((named(name, value) for name, value in given.items() if value in keys or name.endswith("id")), "")
    bare = isinstance(whole, dict) and not {"name", "source", "options"} & whole.keys()
    return (asked or label) if bare else (label or asked)


def _label(record: dict[str, Any], keys: dict[str, str], own: str) -> str:
    """What a record is called; empty where it has no name of its own, or is the customer's."""
    found = ((keys[value], value) for value in record.values() if isinstance(value, str) and value in keys)
    field, key = next(found, ("", ""))
    if key == own:
        return ""
    name = record.get("name") or record.get("source")
    if isinstance(name, str):
        return f"the {name.replace('_', ' ')}"
    options = record.get("options")
    if isinstance(options, dict) and options:
        return "the one with " + ", ".join(map(str, options.values()))
    return named(field, key) if key else ""


def amount(record: dict[str, Any]) -> float | None:
    """What a thing costs, or moves; None where it does not say."""
    for field, value in record.items():
        if is_money(field) and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None


def _spelt(amount: float) -> str:
    return f"{amount:.2f}"
