"""What a customer asks to be told, in words that say of what: no other value would be an answer to them.

A value of a record is named with its record, unless it is the customer's own; what was reckoned about a change is what
that change is asked with, and only where all its prices went into it. Where words do not determine what is meant, there
are none: `Question.doubt` says why, and whoever words the task gives it up.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from turngap.data.asking import spell, spoken
from turngap.synth.description import Found, Records, article, fits, found_in, spelled
from turngap.synth.inquiry import DIFFERENCE, TOGETHER, amount, named
from turngap.synth.known import Known
from turngap.synth.naming import replaced
from turngap.synth.offer import leaves, parsed, parts
from turngap.synth.phrase import Asked, Phrases
from turngap.synth.plan import Fact, Plan

_HOLE = re.compile(r"\{(\w+)\}")
_INDEX = re.compile(r"\[[^\]]*\]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One fact in words, with the signs that stand for the person."""

    full: str
    """What goes after "I'd like to know"."""
    vague: str
    """The same without a value."""
    change: int | None = None
    """The step that it was reckoned for; None where it is about a record."""
    doubt: str = ""
    """Why the words do not determine it; empty where they do."""


class Questions:
    """Words for the facts of one plan."""

    def __init__(
        self,
        plan: Plan,
        phrases: Phrases,
        records: Callable[[], Records],
        found: Callable[[int, str, Any], Found | None],
        rng: random.Random,
    ) -> None:
        """Take in what is asked.

        Args:
            plan: whose facts they are.
            phrases: how they are asked for.
            records: gives the database, to look up what ids stand for.
            found: gives the record that a leaf of a call stands for (`turngap.synth.wording.Speech.found`).
            rng: chooses among the phrases.
        """
        self._plan = plan
        self._phrases = phrases
        self._records = records
        self._found = found
        self._rng = rng
        self._worded: dict[tuple[int, str], Question] = {}

    def question(self, fact: Fact) -> Question:
        """A fact in words; the same each time."""
        key = (fact.step, fact.path)
        if key not in self._worded:
            self._worded[key] = self._question(fact)
        return self._worded[key]

    def _question(self, fact: Fact) -> Question:
        place = _INDEX.sub("[]", fact.path)
        found = found_in(self._plan.steps[fact.step].result, fact.path) if place else self._reckoned(fact)
        for asked in self._phrases.asked:
            if found is not None and _asks(asked, place, fact) and fits(found.record, asked.when):
                worded = self._by_phrase(asked, found, fact)
                if worded is not None:
                    return worded
        plain = fact.about or f"the {spoken(str((parts(fact.path) or ('result',))[-1]))}"
        vague = re.split(r" (?:of|for|in) ", plain)[0]
        if fact.path:
            return Question(full=self._with_record(plain, fact), vague=vague)
        if plain in (DIFFERENCE, TOGETHER):
            changes = list(self._changes(fact, plain))
            after = [one for one in changes if one[0] > fact.step] or changes
            if not after:
                return Question(full=plain, vague=vague, doubt=f"{plain} is not that of a change that is made")
            step, said = after[0]
            return Question(full=said, vague=said, change=step)
        return Question(full=plain, vague=vague)

    def _by_phrase(self, asked: Asked, found: Found, fact: Fact) -> Question | None:
        """A fact by a phrase that fits; None where it lacks a word, or would be the same for another value."""
        phrase, vague = self._rng.choice(asked.says), self._rng.choice(asked.vague or ("something about it",))
        full = self._filled(phrase, asked, found)
        if full is None:
            return None
        field = str((parts(_INDEX.sub("", fact.path)) or ("",))[-1])
        others = (one for one in found.beside if fits(one, asked.when) and one.get(field) != found.record.get(field))
        if field and any(
            self._filled(phrase, asked, Found({**found.record, **one}, found.beside)) == full for one in others
        ):
            return Question(full=full, vague=vague, doubt=f"{full} could be another one too")
        return Question(full=full, vague=vague)

    def _filled(self, phrase: str, asked: Asked, found: Found) -> str | None:
        told = spelled(found.record)
        if asked.thing and (called := self._named(found, asked.thing)) is not None:
            told["thing"] = article(called, asked.thing, asked.options, self._phrases.options)
        if not all(hole in told for hole in _HOLE.findall(phrase)):
            return None
        return _HOLE.sub(lambda hole: told[hole[1]], phrase)

    def _named(self, found: Found, thing: str) -> Found | None:
        """A record with a name: the one found, or the same in the database where it has one."""
        if thing in found.record:
            return found
        ids = [value for key, value in found.record.items() if key.endswith("id")]
        others = (self._records().find(value) for value in ids)
        return next((one for one in others if one is not None and thing in one.record), None)

    def _reckoned(self, fact: Fact) -> Found | None:
        """The record whose numbers a calculation is made of."""
        numbers = set(self._numbers(fact))
        for step in self._plan.steps[: fact.step]:
            shown = {f"{value:.2f}" for value in _amounts(parsed(step.result))}
            if numbers and numbers <= shown:
                return found_in(step.result, "")
        return None

    def _numbers(self, fact: Fact) -> list[str]:
        given = " ".join(str(value) for _, value in leaves(self._plan.steps[fact.step].call.arguments))
        return [f"{float(number):.2f}" for number in _NUMBER.findall(given)]

    def _with_record(self, plain: str, fact: Fact) -> str:
        """Words that name the record of a value, where a person who is asked can say which one it is."""
        given = [(path, value) for path, value in leaves(self._plan.steps[fact.step].call.arguments)]
        ids = [(path, value) for path, value in given if path.endswith("id") and value != self._plan.customer.key]
        for path, value in ids:
            if value in self._known and not _says(plain, spell(value)):
                return f"{plain} of {named(path, value)}"
        return plain

    @cached_property
    def _known(self) -> Known:
        told = (one.value for one in self._plan.arguments if one.source.step is None)
        return Known(self._plan.customer, told)

    def _changes(self, fact: Fact, plain: str) -> Iterator[tuple[int, str]]:
        """The steps that make a change of which all prices went into what was reckoned, and no others; with words."""
        numbers = Counter(self._numbers(fact))
        for step in self._plan.writes():
            prices = {name: list(self._prices(step, name)) for name in self._lists(step)}
            together = next((name for name, one in prices.items() if Counter(one) == numbers), None)
            if plain == TOGETHER and together is not None:
                # Where things take the place of others, "the items" may be the ones or the others.
                old, new = "what the items that <I> have now cost together", "what the new items cost together"
                one_kind = sum(any(one) for one in prices.values()) < 2
                yield step, plain if one_kind else new if replaced(together) else old
            elif (
                plain == DIFFERENCE
                and numbers
                and Counter(price for one in prices.values() for price in one) == numbers
            ):
                yield step, plain

    def _lists(self, step: int) -> Iterator[str]:
        given: Mapping[str, Any] = self._plan.steps[step].call.arguments or {}
        yield from (name for name, value in given.items() if isinstance(value, list))

    def _prices(self, step: int, name: str) -> Iterator[str]:
        values: Sequence[Any] = (self._plan.steps[step].call.arguments or {})[name]
        for index, value in enumerate(values):
            found = self._found(step, f"{name}[{index}]", value) if not isinstance(value, dict) else Found(value)
            price = None if found is None else amount(found.record)
            yield "" if price is None else f"{price:.2f}"


def _asks(asked: Asked, place: str, fact: Fact) -> bool:
    if place and asked.place:
        return place.endswith(asked.place)
    return not place and bool(asked.about) and fact.about.startswith(asked.about)


def _says(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value.lstrip('#'))}(?!\w)", text, re.IGNORECASE) is not None


def _amounts(value: Any) -> Iterator[float]:
    for _, one in leaves({"value": value}):
        if isinstance(one, (int, float)) and not isinstance(one, bool):
            yield float(one)
