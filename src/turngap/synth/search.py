"""Looking for arguments with which a tool goes through, from what is known around one record.

A `Pool` holds what records and results say. A `Search` begins with values that belong together and fit by their names,
and changes one argument at a time; a call that meets another answer than all before it got further, or at least
elsewhere, and is tried on. Made for `turngap.synth.probe`; it knows nothing of policies and customers.
"""

from __future__ import annotations

import re
import string
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from turngap import jsonio
from turngap.data import ToolCall
from turngap.domains.blame import TIME_LIMIT, UNKNOWN_OUTCOME
from turngap.domains.live import LiveTool, LiveWorld
from turngap.errors import DomainFault
from turngap.synth.offer import offers, token
from turngap.synth.place import Slot, alike, arguments, beside, called, fits, kind_of, place

_CALLS = {"read": 60, "write": 300}  # tried of one tool around one record and in one round
_BRANCHES = 6  # half-right calls that are tried on
_CANDIDATES = 40  # values tried in one slot
_NOTHING = ("", "[]", "{}", "null", "None", '""')


class Heard(NamedTuple):
    """A value that a record or a result holds."""

    tool: str
    """Whose result; empty for records, which are what a person may know."""
    field: str
    """Where it stands in every result of the tool (`turngap.synth.place`)."""
    value: Any
    group: str
    """Equal for values of one object."""
    source: int
    """Equal for values of one record or result."""


class Pool:
    """What is known around one record: what it says, and what tools have said."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], list[Heard]] = {}
        self._sources = 0
        self._by_value: dict[str, list[Heard]] = {}

    def add(self, tool: str, result: str, given: Iterable[Any] = ()) -> list[Heard]:
        """Take up a record or a result; returns the single values that it holds, without those that it was given."""
        self._sources += 1
        echoes = {token(value) for value in given}
        found = []
        for offer in offers(result):
            if not kind_of(offer.value) or token(offer.value) in echoes:
                continue
            heard = Heard(tool, place(offer), offer.value, f"{self._sources}:{offer.holder}", self._sources)
            found.append(heard)
            self._by_name.setdefault((kind_of(heard.value), called(heard.field)), []).append(heard)
            self._by_value.setdefault(token(offer.value), []).append(heard)
        return found

    def holding(self, value: Any) -> list[Heard]:
        """Where a value stands."""
        return self._by_value.get(token(value), [])

    def graded(self, slot: Slot) -> list[tuple[int, list[Heard]]]:
        """What a slot could take, by how well the names fit (`turngap.synth.place.alike`)."""
        return [(alike(slot, name), heard) for (kind, name), heard in self._by_name.items() if fits(slot, kind)]


class Search:
    """Looks for arguments with which a tool goes through, or at least gets further."""

    def __init__(self, tool: LiveTool, of: Sequence[Slot], pool: Pool, rng: Random) -> None:
        self._tool = tool
        self._slots = [slot for slot in of if slot.required]
        self._pool = pool
        self._rng = rng
        self._most = _CALLS[tool.kind]
        self.asked = 0
        """Calls that were made so far."""
        self.slow = False
        """The tool ran out of time, and is not called any more."""
        self._kept: list[dict[str, Any]] = []
        self._answers: dict[str, tuple[str, str]] = {}
        self._named = {
            slot.place: [(heard, grade) for grade, among in pool.graded(slot) if grade > 1 for heard in among]
            for slot in self._slots
        }
        self._candidates = {slot.place: self._candidates_of(slot) for slot in self._slots}

    def run(self, world: LiveWorld, wanted: int) -> list[tuple[dict[str, Any], str]]:
        """Calls that went through, each as slot -> value and what came back."""
        through: list[tuple[dict[str, Any], str]] = []
        start = self._start()
        ways = deque([start])
        met = set()
        answer, text = self._ask(world, start)
        met.add(answer)
        if answer == "ok":
            through.append((start, text))
        while ways and len(through) < wanted:
            values = ways.popleft()
            self._kept.append(values)
            for slot in self._slots:
                for value in self._candidates[slot.place]:
                    if self.slow or self.asked >= self._most or len(through) >= wanted:
                        break
                    other = {**values, slot.place: value}
                    answer, text = self._ask(world, other)
                    if answer == "ok" and all(other != one for one, _ in through):
                        through.append((other, text))
                    elif answer not in met and len(ways) + len(self._kept) < _BRANCHES:
                        ways.append(other)
                    met.add(answer)
        self._kept += [values for values, _ in through]
        return through

    def recognised(self, world: LiveWorld, known: Container[str]) -> list[tuple[str, str, bool]]:
        """Slots with values that the tool told from made-up ones, and whether it went through with them."""
        found: dict[tuple[str, str], bool] = {}
        for values in self._kept:
            answer, _ = self._ask(world, values)
            for slot in self._slots:
                value = values[slot.place]
                if not isinstance(value, str) or found.get((slot.place, value)):
                    continue
                if value == values.get(beside(slot.place)):
                    continue  # what stays as it is takes the place of nothing
                instead = made_up(value, known)
                if instead is not None and self._ask(world, {**values, slot.place: instead})[0] != answer:
                    found[slot.place, value] = answer == "ok"
        return [(place, value, through) for (place, value), through in found.items()]

    def _start(self) -> dict[str, Any]:
        """A first guess, of values that belong together where there are such."""
        scores: dict[str, int] = {}
        for slot in self._slots:
            best: dict[str, int] = {}
            for heard, grade in self._named[slot.place]:
                best[heard.group] = max(best.get(heard.group, 0), grade)
            for group, grade in best.items():
                scores[group] = scores.get(group, 0) + grade
        top = max(scores.values(), default=0)
        group = self._rng.choice([one for one, score in scores.items() if score == top]) if top else ""
        return {slot.place: self._guess(slot, group) for slot in self._slots}

    def _guess(self, slot: Slot, group: str) -> Any:
        if slot.parameter.choices:
            return self._rng.choice(slot.parameter.choices)
        near = [heard for heard, _ in self._named[slot.place]]
        source = int(group.partition(":")[0] or 0)
        for among in (
            [heard for heard in near if heard.group == group],
            [heard for heard in near if heard.source == source],
            near,
        ):
            if among:
                return self._rng.choice(among).value
        return next(iter(self._candidates[slot.place]), _filler(slot))

    def _candidates_of(self, slot: Slot) -> list[Any]:
        """Values worth trying in a slot: by name where there are such, else all, since names may not tell."""
        if slot.parameter.choices or slot.parameter.kind == "boolean":
            return list(slot.parameter.choices)
        graded = self._pool.graded(slot)
        named = [heard for grade, among in graded if grade for heard in among]
        if not named and slot.parameter.kind == "text":
            named = [heard for _, among in graded for heard in among]
        found = list({token(heard.value): heard.value for heard in named}.values())
        self._rng.shuffle(found)
        return found[:_CANDIDATES]

    def _ask(self, world: LiveWorld, values: Mapping[str, Any]) -> tuple[str, str]:
        """What a call comes to: ``ok``, ``nothing`` or the kind of the error; and the result."""
        made = jsonio.canonical(values)
        if made in self._answers:
            return self._answers[made]
        if self.slow:
            return "fault", ""
        self.asked += 1
        call = ToolCall(name=self._tool.name, arguments=arguments(values))
        try:
            message = (world if self._tool.kind == "read" else world.fork()).call(call)
        except DomainFault as fault:
            self.slow = getattr(fault, "kind", "") in (TIME_LIMIT, UNKNOWN_OUTCOME)
            self._answers[made] = ("fault", "")
            return self._answers[made]
        text = message.content
        went = "nothing" if text.strip() in _NOTHING else "ok"
        self._answers[made] = (_bare(text, values.values()) if message.error else went, text)
        return self._answers[made]


def made_up(value: str, known: Container[str]) -> str | None:
    """A value of the same form that occurs nowhere; None where there is none, as of very short ones."""
    rng = Random(f"made up/{value}")
    for _ in range(8):
        made = "".join(_other(character, rng) for character in value)
        if made != value and made not in known:
            return made
    return None


def _other(character: str, rng: Random) -> str:
    for signs in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        if character in signs:
            return rng.choice(signs.replace(character, ""))
    return character


def _bare(text: str, values: Iterable[Any]) -> str:
    """An error without what is particular to the call: its values and all numbers."""
    for value in sorted({str(value) for value in values if len(str(value)) > 1}, key=len, reverse=True):
        text = text.replace(value, "")
    return re.sub(r"\d+", "", text)


def _filler(slot: Slot) -> Any:
    if slot.parameter.examples and slot.parameter.kind == "text":
        return slot.parameter.examples[0]
    fillers = {"text": "something", "integer": 1, "number": 1.0, "boolean": False}
    return fillers.get(slot.parameter.kind, "")
