"""What an agent has come to know: every value that it has read, under the names by which it may be asked for again.

A value goes by the name of its field, by that of the table whose key it is, and, where it stands in a list or is the
key of a map, by the singular of what holds it: the entries of ``orders`` are order ids. Each value remembers the record
that it stands in, so that what belongs together is found together.

What is learned on a trial can be forgotten again. Non-goals: reading free text for values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turngap.synth.naming import key_name, likeness, singular
from turngap.synth.offer import is_map

CUSTOMER = -1
"""The source of what the customer knows from the beginning."""


class Leaf:
    """One value that is known."""

    __slots__ = ("field", "path", "record", "source", "value")

    def __init__(self, field: str, value: Any, record: dict[str, Any], source: int, path: str) -> None:
        self.field = field
        """The name of its field."""
        self.value = value
        self.record = record
        """The record that it stands in."""
        self.source = source
        """Number of the result that holds it; `CUSTOMER` for what was known from the beginning."""
        self.path = path
        """Where in that result."""


class Memory:
    """Everything that is known at one point of an exploration."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        """Begin with nothing.

        Args:
            keys: key of a record -> what a field that holds it is called, for values that no field names.
        """
        self._keys = keys
        self._leaves: dict[str, list[Leaf]] = {}
        self._order: list[tuple[str, Leaf]] = []
        self._objects: list[tuple[int, str, dict[str, Any], Mapping[str, Any]]] = []

    def learn(self, value: Any, source: int, name: str = "", asked: Mapping[str, Any] | None = None) -> None:
        """Take in a record or a result.

        Args:
            value: what it holds.
            source: number of the result.
            name: what it is as a whole, for a bare value.
            asked: the arguments of the call that gave it, which hold of every record in it.
        """
        self._walk(value, name, {}, source, "", asked or {})

    def mark(self) -> tuple[int, int]:
        """A note of what is known now, for `forget`."""
        return len(self._order), len(self._objects)

    def forget(self, mark: tuple[int, int]) -> None:
        """Go back to what was known at a mark."""
        leaves, objects = mark
        for name, _ in self._order[leaves:]:
            self._leaves[name].pop()
        del self._order[leaves:]
        del self._objects[objects:]

    def find(self, parameter: str, least: int = 1) -> list[tuple[int, Leaf]]:
        """The values that may fill a parameter, each with how well its name fits; the first learned come first."""
        return [
            (fit, leaf)
            for name, leaves in self._leaves.items()
            if leaves and (fit := likeness(parameter, name)) >= least
            for leaf in leaves
        ]

    def of(self, source: int) -> list[Leaf]:
        """Every value of one result, in its order."""
        return list(dict.fromkeys(leaf for _, leaf in self._order if leaf.source == source))

    def best(self, parameter: str, sources: Iterable[int] | None = None) -> list[Leaf]:
        """The values whose names fit a parameter best, of some results or of all."""
        within = None if sources is None else set(sources)
        found = [(fit, leaf) for fit, leaf in self.find(parameter) if within is None or leaf.source in within]
        top = max((fit for fit, _ in found), default=0)
        return [leaf for fit, leaf in found if fit == top]

    def objects(self, sources: Iterable[int] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """The records inside of results, each with the name of what holds it and with what was asked for."""
        within = None if sources is None else set(sources)
        for source, field, record, asked in self._objects:
            if within is None or source in within:
                yield field, {**asked, **record} if asked else record

    def _walk(
        self, value: Any, field: str, record: dict[str, Any], source: int, path: str, asked: Mapping[str, Any]
    ) -> None:
        if isinstance(value, dict):
            if is_map(value):
                for key, inner in value.items():
                    self._note(
                        key_name(field) if field else "", key, inner if isinstance(inner, dict) else {}, source, path
                    )
                    self._walk(inner, singular(field), record, source, f'{path}["{key}"]', asked)
                return
            self._objects.append((source, field, value, asked))
            for key, inner in value.items():
                self._walk(inner, key, value, source, f"{path}.{key}" if path else key, asked)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                self._walk(inner, singular(field), record, source, f"{path}[{index}]", asked)
        elif value is not None:
            self._note(field, value, record, source, path)

    def _note(self, field: str, value: Any, record: dict[str, Any], source: int, path: str) -> None:
        leaf = Leaf(field, value, record, source, path)
        named = self._keys.get(value) if isinstance(value, str) else None
        for name in dict.fromkeys((field, named)):
            if name:
                self._leaves.setdefault(name, []).append(leaf)
                self._order.append((name, leaf))
