"""What the results so far hold, put in order for the question where a value could have been seen.

One `Seen` grows with the steps of one trajectory. A refused call has shown nothing, and neither has a value that a call
was given and that its own result repeats.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from turngap.synth.offer import Offer, given, offers, token
from turngap.synth.plan import Step


class Hit(NamedTuple):
    """A place where a value was seen."""

    step: int
    offer: Offer


class Seen:
    """The offers of the steps so far."""

    def __init__(self) -> None:
        self._by_value: dict[str, list[Hit]] = defaultdict(list)
        self._kinds: dict[tuple[int, str], dict[str, Any]] = defaultdict(dict)
        self._fields: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
        self._texts: list[Hit] = []
        self._numbers: dict[float, set[int]] = defaultdict(set)
        self._given: list[frozenset[str]] = []

    def add(self, step: Step) -> None:
        """Take in what the next step has shown."""
        number = len(self._given)
        told = frozenset(given(step.call))
        self._given.append(told)
        for offer in () if step.error else offers(step.result):
            value = token(offer.value)
            if not offer.is_key:
                self._fields[number, offer.holder][offer.name] = value
            if value in told:
                continue
            hit = Hit(number, offer)
            self._by_value[value].append(hit)
            self._kinds[number, offer.kind].setdefault(value, offer.value)
            if isinstance(offer.value, str) and " " in offer.value:
                self._texts.append(hit)
            if isinstance(offer.value, (int, float)) and not isinstance(offer.value, bool):
                self._numbers[round(float(offer.value), 2)].add(number)

    def hits(self, value: Any) -> list[Hit]:
        """The places where a value stands, in order."""
        return self._by_value.get(token(value), [])

    def mentions(self, value: str) -> list[Hit]:
        """The texts in which a value stands as a word among others."""
        pattern = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
        return [hit for hit in self._texts if pattern.search(hit.offer.value)]

    def of_kind(self, hit: Hit) -> tuple[Any, ...]:
        """All different values of a hit's kind in its result, the hit's own among them."""
        return tuple(self._kinds[hit.step, hit.offer.kind].values())

    def siblings(self, hit: Hit) -> dict[str, str]:
        """The plain fields of the object that holds a hit: name -> value as `token` writes it; repeated ones too."""
        return self._fields[hit.step, hit.offer.holder]

    def given(self, step: int) -> frozenset[str]:
        """What a step's call was given, as `token` writes it."""
        return self._given[step]

    def with_number(self, number: float) -> frozenset[int]:
        """The steps whose results hold a number, to the cent."""
        return frozenset(self._numbers.get(round(number, 2), ()))

    def numbers(self) -> Iterator[tuple[int, str, list[float]]]:
        """Step, field, and all different numbers that this field has in the step's result."""
        found: dict[tuple[int, str], list[float]] = defaultdict(list)
        for hits in self._by_value.values():
            for step, offer in hits:
                if isinstance(offer.value, (int, float)) and not isinstance(offer.value, bool):
                    found[step, offer.name].append(float(offer.value))
        for (step, name), values in found.items():
            yield step, name, values
