"""Put a draft into words: the seam, and the summariser that needs no model.

A task says the same thing three times over: `Instructions` in the second person for a model that plays the user (also
tau2's), an `Intent` in the first person for the scripted user, and `Criteria` for the grader. Which sentence asks for
which reference action stands in ``made["wishes"]``, so that wish and reference can be held against each other.

`TemplateSummariser` words drafts by `turngap.synth.wording`: the same draft gives the same task. Non-goals: judging
whether a task is any good (`turngap.synth.validity`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec

from turngap.data.asking import answer, spell, spoken
from turngap.data.task import Change, Fact, Instructions, Intent, Scenario, Task
from turngap.domains import LiveDomain
from turngap.synth.outline import Outline, Part, Telling, Wish, criteria, made, name_of, outline, purpose, said_before
from turngap.synth.phrase import Phrases, Voice, load, voiced
from turngap.synth.plan import Argument, Draft, Loss, LostError
from turngap.synth.plan import Fact as Asked
from turngap.synth.wording import Speech, Wording, mentions, told_identity

VERSION = 1
"""Raised when the same draft may give other words than before."""

_LOWERED = re.compile(r"(It's|It|The|That's|That|Please|Well|In|From|To)\b")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_INSISTS = (1, 2, 2)

_ATTEMPTS = 4
"""How often other words are tried where the first ones say what is to be told."""

_SHORT = 80
"""Characters of a wish after which "instead" would come too late."""


class Summariser(Protocol):
    """Something that words drafts. Implementations are safe to use from many tasks of one event loop."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its words, as plain values without secrets."""
        ...

    async def summarise(self, draft: Draft, domain: LiveDomain) -> Task:
        """The task of a draft.

        Raises:
            LostError: no words could be found that tell what has to be told and nothing else. EndpointError: a model's
                server failed.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class TemplateSummariser:
    """Words drafts by phrases."""

    def __init__(
        self,
        domain: LiveDomain,
        *,
        phrases: Sequence[Path] = (),
        content: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """Take in how people talk.

        Args:
            domain: whose drafts are worded.
            phrases: files of the person's own, on top of those that are shipped.
            content: what `LiveWorld.content` gives, where it is at hand.

        Raises:
            DataError: a file is not of the form.
        """
        self._phrases = load(domain, phrases)
        self._wording = Wording(domain, self._phrases, content)

    def identity(self) -> dict[str, Any]:
        """The version, and the phrases by their digest."""
        return {"summariser": "template", "version": VERSION, "phrases": self._phrases.digest}

    async def summarise(self, draft: Draft, domain: LiveDomain) -> Task:
        """Word a draft. See `Summariser.summarise`."""
        for attempt in range(_ATTEMPTS):
            task = _Summary(draft, domain, self._wording, self._phrases, attempt).task()
            if not list(said_before(task)):
                break
        return task

    async def aclose(self) -> None:
        """Nothing is held."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """A wish in words, with the signs that stand for the person."""

    wish: Wish
    what: str
    """What goes after "I'd like to", or after "I'd like to know"."""
    rest: tuple[str, ...] = ()
    """Sentences that belong to it."""
    text: str
    """All of it as it is said."""


class _Summary:
    """One draft on its way to a task."""

    def __init__(self, draft: Draft, domain: LiveDomain, wording: Wording, phrases: Phrases, attempt: int) -> None:
        self._draft = draft
        self._domain = domain
        self._phrases = phrases
        self._rng = random.Random(f"{draft.seed}/{draft.id}/summary{attempt or ''}")
        self._outline: Outline = outline(draft, domain)
        self._hidden = draft.scenario is Scenario.AMBIGUOUS
        strange = self._outline.strange
        who = self._outline.identity
        self._speeches = [wording.speech(part.plan, self._rng, who, strange=strange) for part in self._outline.parts]
        self._secrets: tuple[str, ...] = ()
        if self._hidden:
            values = [spell(draft.plan.arguments[index].value) for index in draft.withheld]
            things = [
                word
                for telling in self._outline.opening.tellings
                for word in self._speeches[0].words(telling.step, telling.slot)
            ]
            self._secrets = tuple(filter(None, (*values, *things)))
        self._who = told_identity(phrases, self._outline.identity, self._rng)
        self._drifts = self._outline.change == "drift"
        self._asked: set[tuple[int, str]] = set()
        self._first = list(self._lines(0))
        later = self._outline.later is not None
        self._later = list(self._drifted() if self._drifts else self._lines(1, "addition") if later else ())

    def task(self) -> Task:
        """The task."""
        draft = self._draft
        changes = self._changes()
        return Task(
            id=draft.id,
            domain=self._domain.name,
            scenario=draft.scenario,
            persona=self._talk("persona"),
            instructions=self._instructions(),
            purpose=purpose(draft),
            criteria=criteria(draft),
            intent=Intent(
                opening=voiced(self._opening(), Voice.SELF),
                facts=(*self._identity_facts(), *self._facts(0)),
                unknown=self._outline.unknown,
                changes=changes,
                insist=self._insist,
                closing=self._talk("accepting" if draft.refusal is not None else "closing"),
            ),
            made={**made(draft), "wishes": [*self._made()]},
        )

    def _made(self) -> Iterator[dict[str, str]]:
        for line in (*self._first, *self._later):
            yield {"wish": line.wish.id, "text": voiced(line.text, Voice.SELF)}

    # What is said.

    def _lines(self, part: int, lead: str = "") -> Iterator[_Line]:
        """The wishes of a part in words; `lead` is how the first one begins."""
        wishes = self._outline.parts[part].wishes
        told: set[str] = set()
        for number, wish in enumerate(wishes):
            line = self._line(part, wish, "" if number else lead, first=not number)
            told |= {_key(slot, value) for slot, value in self._speeches[part].said(wish.step)}
            if number == len(wishes) - 1 and not self._hidden:
                left = tuple(self._left(part, told, line))
                line = msgspec.structs.replace(line, rest=(*line.rest, *left), text=" ".join((line.text, *left)))
            yield line

    def _line(self, part: int, wish: Wish, lead: str, *, first: bool, topic: str = "") -> _Line:
        speech = self._speeches[part]
        if wish.fact is not None:
            about = self._about(part, wish.fact)
            key = ("addition_ask" if lead == "addition" else "ask_only") if first else "ask"
            return _Line(wish=wish, what=about, text=_sentence(self._talk(key, about=about)))
        rest: tuple[str, ...] = ()
        if self._hidden:
            what = speech.vague(wish.step)
        else:
            what, further = speech.wish(wish.step)
            # A correction has the reason that the wish had before.
            rest = tuple(filter(None, (*further, "" if lead == "drift_same" else speech.why(wish.step))))
        key = lead or ("wish" if first else "next")
        said = self._talk(key, wish=what, topic=topic)
        return _Line(wish=wish, what=what, rest=rest, text=" ".join((_sentence(said), *rest)))

    def _about(self, part: int, fact: Asked) -> str:
        """What a fact is; with the wish that it belongs to, where it could be taken for that of another."""
        speech, here = self._speeches[part], self._outline.parts[part]
        question = speech.question(fact)
        choosing = [wish.step for wish in _choosing(here)]
        if question.doubt or (question.change is not None and question.change not in choosing):
            raise _unclear(question.doubt or f"{question.full} is that of a change which is not spoken of yet")
        about = speech.about(fact, self._secrets)
        if question.change is not None and len(choosing) > 1:
            topics = [(step, speech.topic(step)) for step in choosing]
            about = f"{about} for {_counted_off(speech.topic(question.change), question.change, topics)}"
        if (part, about) in self._asked:
            raise _unclear(f"{about}, twice")
        self._asked.add((part, about))
        return about

    def _left(self, part: int, told: set[str], line: _Line) -> Iterator[str]:
        """Sentences for values of look-ups that nothing else tells; what was reckoned says of itself what it is of."""
        here = self._outline.parts[part]
        asked = [wish.fact.step for wish in here.wishes if wish.fact is not None and wish.fact.path]
        for telling in here.tellings:
            known = _key(telling.slot, telling.value) in told or mentions(line.text, spell(telling.value))
            if telling.step in asked and here.plan.steps[telling.step].kind == "read" and not known:
                yield self._speeches[part].answer(telling.step, telling.slot)

    def _drifted(self) -> Iterator[_Line]:
        """What is wanted after a drift; what was asked for in the beginning and still holds is not said again."""
        first = {self._call(0, line.wish): line for line in self._first if line.wish.fact is None}
        wishes = self._outline.parts[1].wishes
        now = {self._call(1, wish) for wish in wishes if wish.fact is None}
        gone = next((line.wish.step for call, line in first.items() if call not in now), 0)
        lead = "drift_one" if len(first) > 1 else "drift"
        changed = [wish.step for wish in wishes if wish.fact is None and self._call(1, wish) not in first]
        if len(first) == 1 and changed and self._tool(1, changed[0]) == self._tool(0, gone):
            lead = "drift_same"
        for wish in wishes:
            stayed = first.get(self._call(1, wish)) if wish.fact is None else None
            if stayed is not None:
                yield msgspec.structs.replace(stayed, wish=wish)
            elif wish.fact is not None:
                yield self._line(1, wish, "", first=False)
            else:
                steps = [line.wish.step for line in self._first if line.wish.fact is None]
                topics = [(step, self._speeches[0].topic(step)) for step in steps]
                topic = _counted_off(self._speeches[0].topic(gone), gone, topics)
                yield self._line(1, wish, lead, first=False, topic=topic)
                lead = ""

    def _tool(self, part: int, step: int) -> str:
        return self._outline.parts[part].plan.steps[step].call.name

    def _call(self, part: int, wish: Wish) -> str:
        call = self._outline.parts[part].plan.steps[wish.step].call
        return f"{call.name} {call.arguments}"

    def _opening(self) -> str:
        texts = [line.text for line in self._first]
        greeting = self._talk("greeting")
        texts[0] = f"{greeting}, {texts[0]}" if texts[0].startswith("<I") else f"{greeting}! {texts[0]}"
        texts += self._circumstances()
        # A request for a detail stands better at the end than before who it is that asks.
        who = [] if self._hidden else [sentence for _, sentence in self._who]
        return " ".join([*texts, *who])

    def _circumstances(self) -> list[str]:
        """What else there is to say of something that cannot be."""
        refusal = self._draft.refusal
        if refusal is None:
            return []
        if not self._outline.identity:
            return [self._nameless]
        return [self._not_own] if self._outline.strange else []

    @cached_property
    def _nameless(self) -> str:
        return self._talk("nameless")

    @cached_property
    def _not_own(self) -> str:
        return self._talk("not_own")

    def _changes(self) -> tuple[Change, ...]:
        if not self._later:
            return ()
        before = {line.text for line in self._first}
        says = " ".join(line.text for line in self._later if line.text not in before)
        change = Change(
            says=voiced(says, Voice.SELF),
            when="confirm" if self._drifts else "done",
            facts=tuple(self._facts(1)),
            kind="drift" if self._drifts else "addition",
        )
        return (change,)

    @cached_property
    def _insist(self) -> tuple[str, ...]:
        if self._draft.refusal is None:
            return ()
        return tuple(self._rng.sample(self._phrases.talk["insist"], self._rng.choice(_INSISTS)))

    # What is told when asked for.

    def _identity_facts(self) -> Iterator[Fact]:
        for slots, sentence in self._who:
            for slot in slots:
                value = self._outline.identity[slot]
                yield Fact(slot=slot, value=value, says=voiced(sentence, Voice.SELF), told=not self._hidden)
        for slot, value in self._outline.known.items():
            yield Fact(slot=slot, value=value, says=answer(slot, value))

    def _facts(self, part: int) -> Iterator[Fact]:
        for telling, says in self._answers(part):
            said = voiced(says, Voice.SELF)
            yield Fact(slot=telling.slot, value=telling.value, says=said, told=not self._hidden)

    def _answers(self, part: int) -> Iterator[tuple[Telling, str]]:
        """What is told when asked for, each sentence by itself."""
        here, speech = self._outline.parts[part], self._speeches[part]
        yield from self._meant(part)
        for telling in here.tellings:
            yield telling, self._apart(here, speech, telling, speech.answer(telling.step, telling.slot))

    def _meant(self, part: int) -> Iterator[tuple[Telling, str]]:
        """What a question means that was put vaguely, to whoever asks for the value that it leaves out."""
        here, speech = self._outline.parts[part], self._speeches[part]
        for wish in here.wishes:
            if wish.fact is None or speech.about(wish.fact, self._secrets) == speech.about(wish.fact):
                continue
            full = speech.about(wish.fact)
            withheld = [here.plan.arguments[index] for index in self._draft.withheld]
            telling = next((one for one in map(_telling, withheld) if self._is_of(speech, full, one)), None)
            if telling is None:
                raise _unclear(f"{full}, which nobody asks for")
            yield telling, self._talk("meant", about=full)

    def _is_of(self, speech: Speech, full: str, telling: Telling) -> bool:
        """Whether a question is about a value, by itself or in words."""
        words = [spell(telling.value), *speech.words(telling.step, telling.slot)]
        return any(mentions(full, word) for word in words if word)

    def _apart(self, here: Part, speech: Speech, telling: Telling, says: str) -> str:
        """An answer that says what it is about, where the same is told for another wish too."""
        twins = [one for one in here.tellings if one.slot == telling.slot]
        asked = telling.slot in self._outline.identity
        if (len(twins) < 2 and not asked) or here.plan.steps[telling.step].kind == "read":
            return says
        topics = [(one.step, speech.topic(one.step)) for one in twins]
        topic = _counted_off(speech.topic(telling.step), telling.step, topics)
        return f"For {topic}: {_inside(says)}"

    # What the one is told who plays the customer.

    def _instructions(self) -> Instructions:
        known = [sentence for _, sentence in self._who]
        known += [answer(slot, value).replace("My ", "<My> ") for slot, value in self._outline.known.items()]
        if self._hidden:
            known += list(dict.fromkeys(says for _, says in self._answers(0)))
        reason = [*_told(self._first), *self._circumstances()]
        return Instructions(
            reason=voiced(" ".join(reason), Voice.TO),
            known=voiced(" ".join(known), Voice.TO),
            unknown=" ".join(
                f"You cannot recall the {spoken(slot)} of your account." for slot in self._outline.unknown
            ),
            further=voiced(" ".join(self._further()), Voice.TO),
        )

    def _further(self) -> Iterator[str]:
        if self._hidden:
            yield "In the beginning, say only what you want in general."
            yield "Tell each detail when the agent asks for it, not before."
        if self._later:
            lines = [line for line in self._later if line.text not in {one.text for one in self._first}]
            wanted = " ".join(_told(lines, instead=self._drifts))
            if self._drifts:
                yield f"The first time the agent asks you to confirm something, change your mind. {wanted}"
            else:
                yield f"When that is done, bring up something else. {wanted}"
            yield "Do not mention that before."
        if self._draft.refusal is not None:
            if not self._outline.identity:
                yield "Do not say who you are, whatever the agent asks."
            times = "once" if len(self._insist) == 1 else "twice"
            yield f"When the agent refuses, insist {times}, then accept it. Settle for nothing else in its place."

    def _talk(self, key: str, **words: str) -> str:
        return self._speeches[0].talk(key, **words)


def _counted_off(topic: str, step: int, topics: Sequence[tuple[int, str]]) -> str:
    """A topic, as the first or second one where several steps have the same."""
    alike = [at for at, other in topics if other == topic]
    if len(alike) < 2 or step not in alike:
        return topic
    count = _ORDINALS[alike.index(step) % len(_ORDINALS)]
    return f"the {count} {topic.removeprefix('the ')}" if topic.startswith("the ") else f"{topic} (the {count} one)"


def _choosing(part: Part) -> list[Wish]:
    """The wishes that choose among things, so that something can be reckoned of each."""
    called = ((wish, part.plan.steps[wish.step].call.arguments or {}) for wish in part.wishes if wish.fact is None)
    return [wish for wish, arguments in called if any(isinstance(value, list) for value in arguments.values())]


def _told(lines: Sequence[_Line], *, instead: bool = False) -> Iterator[str]:
    """Wishes as instructions."""
    for number, line in enumerate(lines):
        also = "also " if number else ""
        if line.wish.fact is not None:
            yield _sentence(f"<I> {also}want to know {line.what}")
        else:
            now = (
                " instead" if instead and not number and "instead" not in line.what and len(line.what) < _SHORT else ""
            )
            yield _sentence(f"<I> {also}want to {line.what}{now}")
        yield from line.rest


def _telling(argument: Argument) -> Telling:
    return Telling(step=argument.step, slot=name_of(argument), value=argument.value)


def _unclear(detail: str) -> LostError:
    return LostError(Loss(stage="summarise", reason="a question that words do not determine", detail=detail))


def _key(slot: str, value: Any) -> str:
    return f"{slot} {value}"


def _sentence(text: str) -> str:
    """A text as a sentence of its own."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _inside(text: str) -> str:
    """A sentence as it goes on after a comma or a colon."""
    return text[:1].lower() + text[1:] if _LOWERED.match(text) else text
