"""What an agent has come to know: every value that it has read, under the names by which it may be asked for again.

A value goes by the name of its field, by that of the table whose key it is, and, where it stands in a list or is the
key of a map, by the singular of what holds it: the entries of ``orders`` are order ids. Each value remembers the record
that it stands in, so that what belongs together is found together.

A `Page` is what one result holds; a `Memory` is the pages that were read, and can forget the last of them again.
Non-goals: reading free text for values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from turngap.synth.naming import key_name, likeness, singular
from turngap.synth.offer import is_map

CUSTOMER = -1
"""The source of what the customer knows from the beginning."""


class Leaf:
    """One value that is known."""

    __slots__ = ("field", "path", "record", "value")

    def __init__(self, field: str, value: Any, record: dict[str, Any], path: str) -> None:
        self.field = field
        """The name of its field."""
        self.value = value
        self.record = record
        """The record that it stands in."""
        self.path = path
        """Where in the result."""


class Page:
    """Everything that one record or result holds."""

    def __init__(
        self, value: Any, keys: Mapping[str, str], name: str = "", asked: Mapping[str, Any] | None = None
    ) -> None:
        """Read it.

        Args:
            value: what it is.
            keys: key of a record -> what a field that holds it is called, for values that no field names.
            name: what it is as a whole, for a bare value.
            asked: the arguments of the call that gave it, which hold of every record in it.
        """
        self.leaves: list[Leaf] = []
        """Every value, in its order."""
        self.by_name: dict[str, list[Leaf]] = {}
        self.objects: list[tuple[str, dict[str, Any]]] = []
        """The records in it, each with the name of what holds it, and with what was asked for."""
        self._keys = keys
        self._asked = asked or {}
        self._read(value, name, {}, "")

    def _read(self, value: Any, field: str, record: dict[str, Any], path: str) -> None:
        if isinstance(value, dict):
            if is_map(value):
                for key, inner in value.items():
                    self._note(key_name(field) if field else "", key, inner if isinstance(inner, dict) else {}, path)
                    self._read(inner, singular(field), record, f'{path}["{key}"]')
                return
            self.objects.append((field, {**self._asked, **value} if self._asked else value))
            for key, inner in value.items():
                self._read(inner, key, value, f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                self._read(inner, singular(field), record, f"{path}[{index}]")
        elif value is not None:
            self._note(field, value, record, path)

    def _note(self, field: str, value: Any, record: dict[str, Any], path: str) -> None:
        leaf = Leaf(field, value, record, path)
        self.leaves.append(leaf)
        named = self._keys.get(value) if isinstance(value, str) else None
        if field:
            self.by_name.setdefault(field, []).append(leaf)
        if named is not None and named != field:
            self.by_name.setdefault(named, []).append(leaf)


class Memory:
    """Everything that is known at one point of an exploration."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._pages: list[tuple[int, Page]] = []

    def learn(self, page: Page, source: int) -> None:
        """Take in a page.

        Args:
            page: what it holds.
            source: the number under which it is asked for again.
        """
        self._pages.append((source, page))

    def mark(self) -> int:
        """A note of what is known now, for `forget`."""
        return len(self._pages)

    def forget(self, mark: int) -> None:
        """Go back to what was known at a mark."""
        del self._pages[mark:]

    def find(self, parameter: str, least: int = 1, sources: Collection[int] | None = None) -> list[tuple[int, Leaf]]:
        """The values that may fill a parameter, each with how well its name fits; the first learned come first.

        Args:
            parameter: its name.
            least: how well they have to fit, see `turngap.synth.naming.likeness`.
            sources: the pages on which they stand; None for all.
        """
        return [
            (fit, leaf)
            for source, page in self._pages
            if sources is None or source in sources
            for name, leaves in page.by_name.items()
            if (fit := likeness(parameter, name)) >= least
            for leaf in leaves
        ]

    def best(self, parameter: str, sources: Collection[int] | None = None) -> list[Leaf]:
        """The values whose names fit a parameter best, of some pages or of all."""
        found = self.find(parameter, 1, sources)
        top = max((fit for fit, _ in found), default=0)
        return [leaf for fit, leaf in found if fit == top]

    def objects(self, sources: Collection[int] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """The records inside of pages, each with the name of what holds it and with what was asked for."""
        for source, page in self._pages:
            if sources is None or source in sources:
                yield from page.objects
