"""The person a task is about: who the people of a database are, and which records are theirs.

The table of people is the one that is named like one, whose records hold what people have (a name, an e-mail address,
a date of birth), and to which other tables refer. A domain without people, such as a desk of bookings, still has
something that its tools are about: there a record of that table takes the person's place.

People with several records are drawn more often than those with none, since there is more that they can want.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from turngap.domains.live import LiveDomain
from turngap.errors import UsageError
from turngap.synth.naming import key_name, likeness, singular
from turngap.synth.parameter import parameters
from turngap.synth.plan import Customer

_PEOPLE = frozenset(
    [
        "user",
        "customer",
        "client",
        "person",
        "patient",
        "guest",
        "member",
        "passenger",
        "student",
        "employee",
        "subscriber",
        "tenant",
        "contact",
    ]
)
_PERSONAL = frozenset(
    [
        "email",
        "phone",
        "phone_number",
        "name",
        "full_name",
        "first_name",
        "last_name",
        "dob",
        "date_of_birth",
        "birthday",
        "address",
    ]
)
_MOST_COUNTED = 4
"""Records beyond which more of them make nobody likelier."""
_LOOKED_AT = 200
"""Records of a table by which it is judged."""

Tables = dict[str, dict[str, Any]]


class Sampler:
    """Draws customers of one domain."""

    def __init__(self, domain: LiveDomain, table: str | None = None, content: Tables | None = None) -> None:
        """Find the people.

        Args:
            domain: whose database holds them.
            table: where they stand, if it should not be found out.
            content: what `LiveWorld.content` gives, where it is at hand.

        Raises:
            UsageError: there is no such table, or the database has no records that anyone could be.
        """
        self.content = domain.world().content() if content is None else content
        tables = {name: rows for name, rows in self.content.items() if name and rows}
        if table is not None and table not in tables:
            raise UsageError(f"domain {domain.name!r} has no table {table!r} with records; it has {', '.join(tables)}")
        if not tables:
            raise UsageError(f"domain {domain.name!r} has no records, so nobody can be served")
        self.table = table or people_table(domain, tables)
        self._people = tables[self.table]
        self._linked = _links(self.table, tables)
        self._keys = list(self._people)
        weights = [1 + min(sum(map(len, self._linked[key].values())), _MOST_COUNTED) ** 2 for key in self._keys]
        self._weights = list(accumulate(weights))

    def __len__(self) -> int:
        return len(self._keys)

    def draw(self, rng: random.Random) -> Customer:
        """A customer."""
        return self.customer(rng.choices(self._keys, cum_weights=self._weights)[0])

    def other(self, customer: Customer, rng: random.Random) -> Customer | None:
        """Somebody else who has records; None where there is nobody."""
        for _ in range(20):
            key = rng.choices(self._keys, cum_weights=self._weights)[0]
            if key != customer.key and any(self._linked[key].values()):
                return self.customer(key)
        return None

    def customer(self, key: str) -> Customer:
        """The customer with a key."""
        record = self._people[key]
        told = set(_texts(record))
        unlisted = (one for keys in self._linked[key].values() for one in keys if one not in told)
        return Customer(table=self.table, key=key, record=record, linked=tuple(unlisted))

    def records(self, customer: Customer) -> dict[str, tuple[str, ...]]:
        """Keys of the records that are a customer's, by table: those it refers to, and those that refer to it."""
        return {table: tuple(keys) for table, keys in self._linked[customer.key].items()}


def people_table(domain: LiveDomain, tables: Tables) -> str:
    """The table whose records are people, or what comes nearest to it."""
    references = _references(tables)
    scores = {name: _personality(name, rows) + 2 * (references[name] > 0) for name, rows in tables.items()}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] >= 3:
        return best
    uses = Counter(
        name
        for tool in domain.tools
        for parameter in parameters(tool.spec)
        for name in tables
        if likeness(parameter.name, key_name(name)) > 1
    )
    return max(tables, key=lambda name: (uses[name], len(tables[name])))


def _personality(name: str, rows: dict[str, Any]) -> int:
    record = next(iter(rows.values()))
    fields = set(record) if isinstance(record, dict) else set()
    return 4 * (singular(name) in _PEOPLE) + len(fields & _PERSONAL)


def _references(tables: Tables) -> Counter[str]:
    """How many tables refer to each one by a field that is named after it."""
    found: Counter[str] = Counter()
    for rows in tables.values():
        record = next(iter(rows.values()))
        for field, value in record.items() if isinstance(record, dict) else ():
            found.update(
                name
                for name, others in tables.items()
                if others is not rows and field == key_name(name) and value in others
            )
    return found


def _links(people: str, tables: Tables) -> dict[str, dict[str, list[str]]]:
    """Person -> table -> keys of the records that belong together with the person."""
    persons = tables[people]
    found: dict[str, dict[str, list[str]]] = {key: {} for key in persons}
    others = {name: rows for name, rows in tables.items() if name != people}
    by_key = {key: name for name, rows in others.items() for key in rows}
    for person, record in persons.items():
        for text in _texts(record):
            if text in by_key:
                _note(found[person], by_key[text], text)
    for name, rows in others.items():
        for key, record in rows.items():
            if isinstance(record, dict):
                for text in record.values():
                    if isinstance(text, str) and text in persons:
                        _note(found[text], name, key)
    return found


def _note(links: dict[str, list[str]], table: str, key: str) -> None:
    known = links.setdefault(table, [])
    if key not in known:
        known.append(key)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
