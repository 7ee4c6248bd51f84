"""What can be known in a task: from its words, from earlier results, from what can be looked up for its customer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

from turngap.data import Task
from turngap.data.asking import spell
from turngap.domains import LiveDomain
from turngap.grading.saying import says
from turngap.synth.archive import Archive
from turngap.synth.offer import leaves, offers, parts
from turngap.synth.parameter import Parameter, parameters
from turngap.synth.plan import Origin, Step
from turngap.synth.provenance import Traced

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ARITHMETIC = re.compile(r"[\d\s.,+\-*/()]*\d\s*[-+*/][\d\s.,+\-*/()]*")
_PLAIN_COUNT = 100
"""Whole numbers up to this are counts, which anybody can make."""
_CODE = 3
_MOST_PAIRED = 80
_MOST_SUMMED = 12


class Doubt(NamedTuple):
    """A value of which it is not seen how it can be known."""

    detail: str
    severe: bool
    """Not even a part of it is in the words."""


class Knowledge:
    """What can be known in one task."""

    def __init__(self, task: Task, archive: Archive, domain: LiveDomain, steps: Sequence[Step]) -> None:
        """Collect it.

        Args:
            task: whose words count.
            archive: of the world in which the task begins.
            domain: whose tools say which values there are to choose from.
            steps: the reference, done.
        """
        self._words = words_of(task)
        self._folded = _fold(self._words)
        self._stems = {_stem(word) for word in _WORD.findall(self._folded)}
        self._archive = archive
        self._results = [step.result for step in steps if not step.error]
        self._people = archive.people(self._words) or _served(archive, steps)
        self._policy = domain.policy
        self._choices = {tool.name: dict(_choices(parameters(tool.spec))) for tool in domain.tools}

    def doubt(self, step: Step, one: Traced) -> Doubt | None:
        """Whether it is not seen how the value of an argument can be known, and why."""
        if one.argument.source.origin is not Origin.USER:
            return None
        value, path = one.argument.value, one.argument.path
        if value in (None, "") or isinstance(value, (bool, dict, list)) or _is_count(value) or _is_code(value):
            return None
        choices = self._choices.get(step.call.name, {}).get(_name(path), ())
        if value in choices:
            if self._hinted(spell(value)) or self._archive.is_own(value, self._people):
                return None
            if spell(value) in ("yes", "no") and self._hinted(_name(path)):
                return None
            named = ", ".join(map(spell, choices[:6]))
            return Doubt(
                f"{step.call.name}: nothing in the words says which {path} is meant (of {named})", severe=False
            )
        if self._said(value) or self._findable(value):
            return None
        if isinstance(value, (int, float)):
            if self._follows(float(value)):
                return None
            how = "is not said and is no sum or difference of what can be looked up; somebody should work it out"
            return Doubt(f"{step.call.name}: {path} {spell(value)} {how}", severe=False)
        where = "is neither in the words nor in anything that can be looked up for the customer"
        return Doubt(f"{step.call.name}: {path} {spell(value)!r} {where}", severe=not self._hinted(spell(value)))

    def can_be_told(self, fact: str) -> bool:
        """Whether a fact can be looked up, stands in the words or the policy, or follows from numbers that can be."""
        if any(says(text, fact) for text in (*self._results, self._words, self._policy)) or self._findable(fact):
            return True
        number = _number(fact)
        if number is None:
            # Words of its own, such as "yes": what they stand for is in no text.
            return not re.search(r"\d", fact)
        return number <= _PLAIN_COUNT or self._findable(number) or self._follows(number)

    def _said(self, value: Any) -> bool:
        text = _fold(spell(value))
        return bool(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self._folded)) or says(self._words, spell(value))

    def _findable(self, value: Any) -> bool:
        if isinstance(value, str) and _ARITHMETIC.fullmatch(value):
            return all(self._findable(float(number)) for number in _NUMBER.findall(value) if "." in number)
        return self._archive.holds(value, self._people)

    def _follows(self, number: float) -> bool:
        """Whether a number can be worked out from results, or the customer's records: from two, or some of a field."""
        wanted = round(number, 2)
        own = self._archive.numbers(self._people)
        for fields in (self._shown, own):
            distinct = list(dict.fromkeys(value for values in fields.values() for value in values))[:_MOST_PAIRED]
            if any(wanted in (round(a + b, 2), round(abs(a - b), 2)) for a, b in combinations(distinct, 2)):
                return True
        return any(
            round(sum(values), 2) == wanted or (len(values) <= _MOST_SUMMED and wanted in _sums(values))
            for values in (*self._shown.values(), *own.values())
        )

    @cached_property
    def _shown(self) -> dict[str, list[float]]:
        """The numbers of each field, in all results together and in each alone."""
        found: dict[str, list[float]] = defaultdict(list)
        for index, result in enumerate(self._results):
            for offer in offers(result):
                if isinstance(offer.value, (int, float)) and not isinstance(offer.value, bool):
                    found[offer.name].append(float(offer.value))
                    found[f"{index} {offer.name}"].append(float(offer.value))
        return found

    def _hinted(self, text: str) -> bool:
        """Whether a word of a value, of some length, is in the words in some form."""
        own = [word for word in _WORD.findall(_fold(text)) if len(word) > 2 or word.isdigit()]
        return any(_stem(word) in self._stems for word in own)


def words_of(task: Task) -> str:
    """All that whoever plays the user is told, and all that the user may say."""
    said = [task.instructions.text(), task.persona, *(message.content for message in task.given)]
    if task.intent is not None:
        intent = task.intent
        said += [intent.opening, *intent.insist, *(remark.says for remark in intent.remarks)]
        said += [change.says for change in intent.changes]
        facts = [*intent.facts, *(fact for change in intent.changes for fact in change.facts)]
        said += [f"{fact.says} {spell(fact.value)}" for fact in facts]
    return "\n".join(filter(None, said))


def _served(archive: Archive, steps: Sequence[Step]) -> frozenset[str]:
    """The first customer whom the reference finds or is about; nobody where it is about none."""
    for step in steps:
        for value in (step.result, *(value for _, value in leaves(step.call.arguments))):
            if isinstance(value, str) and archive.is_person(value):
                return frozenset({value})
    return frozenset()


def _choices(known: Sequence[Parameter]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Name of a parameter, wherever it stands -> the values that it takes."""
    for parameter in known:
        if parameter.choices:
            yield parameter.name, parameter.choices
        yield from _choices([*parameter.fields, *([parameter.item] if parameter.item else [])])


def _name(path: str) -> str:
    return next((part for part in reversed(parts(path)) if isinstance(part, str)), "")


def _fold(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("#", " ").split())


def _stem(word: str) -> str:
    return word[:4] if len(word) > 4 and not word.isdigit() else word


def _number(fact: str) -> float | None:
    try:
        return float(fact.replace("$", "").replace(",", "").strip())
    except ValueError:
        return None


def _sums(values: Sequence[float]) -> set[float]:
    """The sums of all choices of some of the values."""
    found = {0.0}
    for value in values:
        found |= {round(total + value, 2) for total in found}
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, float)) and float(value).is_integer() and abs(value) <= _PLAIN_COUNT


def _is_code(value: Any) -> bool:
    """Whether a value is a short code, such as of a state or an airport, which the words may spell out."""
    return isinstance(value, str) and len(value) <= _CODE and value.isalpha() and value.isupper()
