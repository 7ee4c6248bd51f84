"""A plan in words: how a person asks for each thing, and what they say when asked for a value.

A `Speech` words one plan. It chooses among the phrases once, by its generator, and says the same thing the same way
afterwards. Its words carry the signs of `turngap.synth.phrase`, so that one choice serves message and instructions.

Every value that only the person can know is told, in the wish or in a sentence after it; ids that nobody has in mind
are told as what they stand for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from turngap.data import ToolSpec
from turngap.data.asking import spell
from turngap.data.task import hands_over
from turngap.domains import LiveDomain
from turngap.synth.description import (
    SAME,
    Found,
    Records,
    article,
    fits,
    found_in,
    is_plural,
    listed,
    spelled,
    variant,
)
from turngap.synth.offer import parts
from turngap.synth.outline import FROM_USER
from turngap.synth.phrase import Part, Phrases, Slot, Tool, load
from turngap.synth.plain import general_answer, general_topic, general_wish
from turngap.synth.plan import Argument, Fact, Plan
from turngap.synth.question import Question, Questions

_HOLE = re.compile(r"\{(\w+)\}")


class Wording:
    """Words for the plans of one domain."""

    def __init__(
        self,
        domain: LiveDomain,
        phrases: Phrases | None = None,
        content: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """Take in how people talk.

        Args:
            domain: whose tools are asked for.
            phrases: what `turngap.synth.phrase.load` gives; None for what is shipped.
            content: what `LiveWorld.content` gives, where it is at hand.
        """
        self.domain = domain
        self.phrases = phrases or load(domain)
        self.specs: Mapping[str, ToolSpec] = {tool.name: tool.spec for tool in domain.tools}
        self._content = content

    @cached_property
    def records(self) -> Records:
        """The database, to look up what ids stand for."""
        return Records(self.domain.world().content() if self._content is None else self._content)

    def speech(
        self, plan: Plan, rng: random.Random, identity: Mapping[str, str] | None = None, *, strange: bool = False
    ) -> Speech:
        """Words for one plan; the same generator gives the same words.

        Args:
            plan: what is asked for.
            rng: chooses among the phrases.
            identity: what is told of who the person is, so that nothing else tells it too.
            strange: it is about what is somebody else's.
        """
        return Speech(self, plan, rng, identity or {}, strange=strange)


class Speech:
    """One plan in words."""

    def __init__(
        self, wording: Wording, plan: Plan, rng: random.Random, identity: Mapping[str, str], *, strange: bool = False
    ) -> None:
        self.plan = plan
        self._identity = identity
        self._strange = strange
        self._wording = wording
        self._phrases = wording.phrases
        self._rng = rng
        self._used: set[str] = set()
        self._wishes: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._values: dict[tuple[int, str], str] = {}
        self._answers: dict[tuple[int, str], str] = {}
        self._arguments: dict[tuple[int, str], list[Argument]] = {}
        for argument in plan.arguments:
            name = str(parts(argument.path)[0])
            self._arguments.setdefault((argument.step, name), []).append(argument)
        self._questions = Questions(plan, wording.phrases, lambda: wording.records, self.found, rng)

    def told(self, step: int) -> tuple[str, ...]:
        """The arguments of a step that the person has to tell, in the order of the call."""
        return tuple(
            name
            for at, name in self._arguments
            if at == step
            and any(one.source.origin in FROM_USER for one in self._arguments[at, name])
            and self._identity.get(name) != (self.plan.steps[step].call.arguments or {})[name]
        )

    def talk(self, key: str, **words: str) -> str:
        """A turn of phrase with words put in; none twice while there are others."""
        phrases = self._phrases.talk[key]
        fresh = [one for one in phrases if one not in self._used] or list(phrases)
        phrase = self._rng.choice(fresh)
        self._used.add(phrase)
        return self._filled(phrase, words)

    def wish(self, step: int) -> tuple[str, tuple[str, ...]]:
        """What goes after "I'd like to", and sentences for what it leaves out."""
        if step not in self._wishes:
            self._wishes[step] = self._wish(step)
        return self._wishes[step]

    def vague(self, step: int) -> str:
        """What goes after "I'd like to" for somebody who tells no values."""
        name = self.plan.steps[step].call.name
        tool = self._tool(step)
        if tool.vague:
            return self._rng.choice(tool.vague)
        return general_wish(name, self._wording.specs.get(name))

    def why(self, step: int) -> str:
        """A sentence that says why; often empty."""
        reasons = self._tool(step).why
        # Whoever wants a thing once more gives no reason why another would be better.
        if not reasons or self._strange or SAME in self.wish(step)[0]:
            return ""
        several = self._several(step)
        words = {
            "It": "They" if several else "It",
            "is": "are" if several else "is",
            "does": "do" if several else "does",
            "them": "them" if several else "it",
        }
        return self._filled(self._rng.choice(reasons), words)

    def topic(self, step: int) -> str:
        """What a wish is about, where it has to be told from another."""
        name = self.plan.steps[step].call.name
        return self._tool(step).topic or general_topic(name, self._wording.specs.get(name))

    def answer(self, step: int, slot: str) -> str:
        """The sentence that tells the value of an argument of a step."""
        key = (step, slot)
        if key not in self._answers:
            part = self._part_of(step, slot)
            holder = f"part {part}" if part is not None and self._tool(step).parts[part].answer else slot
            if (step, holder) not in self._answers:
                self._answers[step, holder] = self._answer(step, slot, part)
            self._answers[key] = self._answers[step, holder]
        return self._answers[key]

    def words(self, step: int, slot: str) -> list[str]:
        """The value of an argument in words, entry by entry."""
        value = (self.plan.steps[step].call.arguments or {})[slot]
        return self._entries(step, slot) if isinstance(value, list) else [self._word(step, slot)]

    def said(self, step: int) -> list[tuple[str, Any]]:
        """The arguments of a step with their values."""
        return list((self.plan.steps[step].call.arguments or {}).items())

    def about(self, fact: Fact, secrets: Collection[str] = ()) -> str:
        """What goes after "I'd like to know" for a fact.

        Args:
            fact: what has to be told.
            secrets: values that must not be said; what names one is put vaguely then.
        """
        worded = self.question(fact)
        return worded.vague if any(mentions(worded.full, secret) for secret in secrets) else worded.full

    def question(self, fact: Fact) -> Question:
        """A fact in words, with whether they determine it."""
        return self._questions.question(fact)

    def _wish(self, step: int) -> tuple[str, tuple[str, ...]]:
        tool, name = self._tool(step), self.plan.steps[step].call.name
        usable = [one for one in tool.wish if all(self._known(step, hole) for hole in _HOLE.findall(one))]
        if self._strange:
            usable = [one for one in usable if "<my>" not in one] or usable
        phrase = self._rng.choice(usable) if usable else general_wish(name, self._wording.specs.get(name))
        covered = {arg for hole in _HOLE.findall(phrase) for arg in self._covers(step, hole)}
        told = {hole: self._word(step, hole) for hole in _HOLE.findall(phrase)}
        rest = [slot for slot in self.told(step) if slot not in covered]
        return self._filled(phrase, told), tuple(dict.fromkeys(self.answer(step, slot) for slot in rest))

    # The values.

    def _answer(self, step: int, slot: str, part: str | None) -> str:
        tool = self._tool(step)
        phrases = tool.answer.get(slot) or (tool.parts[part].answer if part is not None else ())
        phrases = phrases or self._slot(slot).answer
        usable = [one for one in phrases if all(self._known(step, hole) for hole in _HOLE.findall(one))]
        if usable:
            phrase = self._rng.choice(usable)
            return self._filled(phrase, {hole: self._word(step, hole) for hole in _HOLE.findall(phrase)})
        value = (self.plan.steps[step].call.arguments or {})[slot]
        word = self._word(step, slot)
        return general_answer(slot, value, None if word in ("", spell(value)) else word)

    def _word(self, step: int, name: str) -> str:
        key = (step, name)
        if key not in self._values:
            part = self._tool(step).parts.get(name)
            self._values[key] = self._value(step, name) if part is None else self._together(step, part)
        return self._values[key]

    def _together(self, step: int, part: Part) -> str:
        if part.pair:
            first, second = (self._entries(step, name) for name in part.pair)
            pairs = zip(first, second, strict=False)
            phrase = self._rng.choice(part.each)
            return listed([self._filled(phrase, dict(zip(part.pair, pair, strict=True))) for pair in pairs])
        rows = (" ".join(filter(None, (self._word(step, name) for name in names.split()))) for names in part.join)
        return ", ".join(filter(None, rows))

    def _value(self, step: int, name: str) -> str:
        value = (self.plan.steps[step].call.arguments or {})[name]
        if isinstance(value, list):
            return listed(_counted(self._entries(step, name))) if value else ""
        return self._entry(step, name, value, name)

    def _entries(self, step: int, name: str) -> list[str]:
        values = (self.plan.steps[step].call.arguments or {})[name]
        return [self._entry(step, name, value, f"{name}[{index}]") for index, value in enumerate(values)]

    def _entry(self, step: int, name: str, value: Any, path: str) -> str:
        slot = self._slot(name)
        if isinstance(value, dict):
            return self._object(step, slot, value, path)
        if value in ("", None):
            return ""
        if spell(value) in slot.words:
            return self._rng.choice(slot.words[spell(value)])
        if slot.kinds or slot.thing:
            for found in (self.found(step, path, value), self._wording.records.find(value)):
                told = None if found is None else self._described(step, slot, found, path)
                if told is not None:
                    return told
        return spell(value)

    def _object(self, step: int, slot: Slot, value: dict[str, Any], path: str) -> str:
        if not slot.each:
            return spell(value)
        inner = {key: self._entry(step, key, one, f"{path}.{key}") for key, one in value.items()}
        usable = [one for one in slot.each if all(hole in inner for hole in _HOLE.findall(one))]
        return self._filled(self._rng.choice(usable), inner) if usable else spell(value)

    def _described(self, step: int, slot: Slot, found: Found, path: str) -> str | None:
        record, rules = found.record, self._phrases.options
        if slot.instead_of:
            index = path.removeprefix(str(parts(path)[0]))
            old = _value_at(self.plan.steps[step].call.arguments, f"{slot.instead_of}{index}")
            before = None if old is None else self.found(step, f"{slot.instead_of}{index}", old)
            whole, several = self._rng.random() < 0.3, is_plural(str(record.get(slot.thing, "")))
            return variant(before and before.record, record, slot.options, rules, whole=whole, several=several)
        if slot.thing:
            return article(found, slot.thing, slot.options, rules) if slot.thing in record else None
        for kind in slot.kinds:
            if fits(record, kind.when):
                phrase = self._rng.choice(kind.says)
                told = self._filled(phrase, spelled(record))
                others = (one for one in found.beside if fits(one, kind.when) and not fits(record, one))
                if any(self._filled(phrase, spelled(one)) == told for one in others):
                    return None
                return told.replace("<my>", "their") if self._strange else told
        return None

    def found(self, step: int, path: str, value: Any) -> Found | None:
        """The record that a leaf of a call stands for."""
        for argument in self._arguments.get((step, str(parts(path)[0])), ()):
            if argument.path == path and argument.source.step is not None:
                shown = found_in(self.plan.steps[argument.source.step].result, argument.source.path)
                if shown is not None:
                    return shown
        return self._wording.records.find(value)

    # What the phrases say.

    def _tool(self, step: int) -> Tool:
        name, tools = self.plan.steps[step].call.name, self._phrases.tools
        if name not in tools and hands_over(name):
            # Whoever is handed over wants to speak to a person, whatever the tool is called.
            return next((tool for other, tool in tools.items() if hands_over(other)), Tool())
        return tools.get(name, Tool())

    def _slot(self, name: str) -> Slot:
        return self._phrases.slots.get(name, Slot())

    def _known(self, step: int, hole: str) -> bool:
        given = self.plan.steps[step].call.arguments or {}
        return hole in given or (
            hole in self._tool(step).parts and all(name in given for name in self._tool(step).parts[hole].covers())
        )

    def _covers(self, step: int, hole: str) -> tuple[str, ...]:
        part = self._tool(step).parts.get(hole)
        return (hole,) if part is None else part.covers()

    def _part_of(self, step: int, slot: str) -> str | None:
        return next((name for name, part in self._tool(step).parts.items() if slot in part.covers()), None)

    def _several(self, step: int) -> bool:
        for name, value in (self.plan.steps[step].call.arguments or {}).items():
            if self._slot(name).thing and isinstance(value, list) and value:
                found = self.found(step, f"{name}[0]", value[0])
                thing = found.record.get(self._slot(name).thing, "") if found else ""
                return len(value) > 1 or is_plural(str(thing))
        return False

    def _filled(self, phrase: str, words: Mapping[str, str]) -> str:
        return _HOLE.sub(lambda hole: words.get(hole[1], hole[0]), phrase)


def mentions(text: str, value: str) -> bool:
    """Whether a text names a value, and does not just hold its letters by chance."""
    return re.search(rf"(?<!\w){re.escape(value.lstrip('#'))}(?!\w)", text, re.IGNORECASE) is not None


def told_identity(phrases: Phrases, slots: Mapping[str, str], rng: random.Random) -> list[tuple[tuple[str, ...], str]]:
    """Sentences that say who somebody is, each with the slots that it tells."""
    left = dict(slots)
    said: list[tuple[tuple[str, ...], str]] = []
    for together in phrases.together:
        if all(slot in left for slot in together.slots):
            phrase = rng.choice(together.says)
            said.append((together.slots, _HOLE.sub(lambda hole: spell(slots[hole[1]]), phrase)))
            for slot in together.slots:
                del left[slot]
    for slot, value in left.items():
        sentences = phrases.identity.get(slot)
        if sentences:
            said.append(((slot,), rng.choice(sentences).replace(f"{{{slot}}}", spell(value))))
        else:
            said.append(((slot,), general_answer(slot, value)))
    return said


def _counted(words: Sequence[str]) -> list[str]:
    """Words with equal ones taken together."""
    counts = {word: list(words).count(word) for word in words}
    return [
        word if count == 1 else f"{word} ({'both' if count == 2 else f'all {count}'} of them)"
        for word, count in counts.items()
    ]


def _value_at(arguments: Any, path: str) -> Any:
    value = arguments
    for part in parts(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value
