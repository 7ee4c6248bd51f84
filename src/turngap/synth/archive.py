"""What can be looked up in a database, and by whom it may be known: everybody's, or one customer's own.

A record belongs to a customer when it is the customer's own one, when that refers to it, or when it names the customer.
Everything else (products, flights) is open to anybody. A value that stands only in other people's records cannot be
known by somebody who is none of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from turngap.domains import LiveDomain
from turngap.errors import UsageError
from turngap.synth.customer import Sampler
from turngap.synth.offer import token

_WORD = re.compile(r"[^\W_]+")
_NOBODY = ""


class Archive:
    """The values of one database by the people to whom they belong."""

    def __init__(self, domain: LiveDomain, content: dict[str, dict[str, Any]]) -> None:
        """Take in what `LiveWorld.content` gives."""
        self._owners: dict[str, set[str]] = defaultdict(set)
        self._numbers: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._names: dict[str, frozenset[str]] = {}
        self._signs: dict[str, str] = {}
        try:
            sampler = Sampler(domain, content=content)
        except UsageError:
            return  # nothing is stored, so nothing can be looked up
        self._take_in(content, sampler)
        for key, record in content[sampler.table].items():
            self._signs[key.casefold()] = key
            self._signs.update({value.casefold(): key for value in _values(record) if "@" in value})
            self._names[key] = _name(record)

    def _take_in(self, content: dict[str, dict[str, Any]], sampler: Sampler) -> None:
        whose: dict[tuple[str, str], set[str]] = defaultdict(set)
        for person in content[sampler.table]:
            whose[sampler.table, person].add(person)
            for table, keys in sampler.records(sampler.customer(person)).items():
                for key in keys:
                    whose[table, key].add(person)
        for table, records in content.items():
            for key, record in records.items():
                owners = whose.get((table, key)) or {_NOBODY}
                for value in (token(key), *_values(record)):
                    self._owners[value] |= owners
                for field, number in _numbers(record, ""):
                    for person in owners - {_NOBODY}:
                        self._numbers[person][field].append(number)

    def people(self, text: str) -> frozenset[str]:
        """The customers whom a text names: by key, by e-mail address, or by their whole name."""
        folded = text.casefold()
        words = set(_WORD.findall(folded))
        named = {key for key, name in self._names.items() if name and name <= words}
        signs = {key for sign, key in self._signs.items() if sign in folded and _stands_alone(sign, folded)}
        return frozenset(named | signs)

    def is_person(self, value: str) -> bool:
        """Whether a value is the key of a customer."""
        return value in self._names

    def holds(self, value: Any, people: Collection[str]) -> bool:
        """Whether a value stands in a record that is nobody's, or one of these people's; in any where none is named."""
        owners = self._owners.get(token(value), set())
        return bool(owners) and (not people or _NOBODY in owners or any(one in owners for one in people))

    def is_own(self, value: Any, people: Collection[str]) -> bool:
        """Whether a value stands in a record of one of these people."""
        return not self._owners.get(token(value), set()).isdisjoint(people)

    def numbers(self, people: Collection[str]) -> dict[str, list[float]]:
        """The numbers in the records of these people: field -> its numbers in all of them."""
        found: dict[str, list[float]] = defaultdict(list)
        for person in people:
            for field, values in self._numbers.get(person, {}).items():
                found[field] += values
        return found


def _stands_alone(sign: str, text: str) -> bool:
    return re.search(rf"(?<![\w.@-]){re.escape(sign)}(?![\w@-])", text) is not None


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, key)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _numbers(inner, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, float(value)


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _values(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _values(inner)
    elif value is not None:
        yield token(value)


def _name(record: Any) -> frozenset[str]:
    """The words of a person's name; empty where the record has none of at least two words."""
    if not isinstance(record, Mapping):
        return frozenset()
    parts = [value for key, value in record.items() if "name" in key and key != "username"]
    texts = [text for part in parts for text in (part.values() if isinstance(part, Mapping) else (part,))]
    words = frozenset(word for text in texts if isinstance(text, str) for word in _WORD.findall(text.casefold()))
    return words if len(words) > 1 else frozenset()
