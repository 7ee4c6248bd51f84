"""The summariser that a language model is: it gets everything that is known of a draft, and writes the customer's part.

What the task is held against, which values are told and which wishes there are is settled by the draft; the model only
words it: the first message, an answer for each value, what is said at a change of course, to refusals, and the
instructions of whoever plays the customer. For each wish it quotes the sentence that asks for it. Its words go through
the same checks as all others (`turngap.synth.validity.words`); what they find is told to it once, and after that the
draft is given up.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from turngap import jsonio
from turngap.data.asking import answer as plain_answer
from turngap.data.task import Change, Fact, Instructions, Intent, Scenario, Task
from turngap.domains import LiveDomain
from turngap.models import Model
from turngap.synth.consult import READING, Flaw, consult
from turngap.synth.outline import Outline, Telling, criteria, made, outline, purpose
from turngap.synth.phrase import Voice, load, voiced
from turngap.synth.plan import Draft
from turngap.synth.validity import unspoken, withheld, words
from turngap.synth.wording import Speech, Wording

_TASK = """\
You write the customer's part of a conversation with a service desk. You are given what a service agent should have done
in the end, step by step with the results, and what of it the customer has to ask for and to tell. From that you write
what the customer says, as a real person would in a chat: plain, varied, with a motive where one is natural.

Rules
- The customer asks for every wish in the list, and for nothing that is not in it.
- A customer speaks of things by what they are ("the blue one in size M", "my Visa ending in 1234"), never by ids of
  items, products or payment methods. An order number, an e-mail address and the like are what people have at hand.
- Say values exactly; make up none.
- The words are English. Sentences of the customer are in the first person, instructions in the second ("You want ...").
{scenario}
Answer with one JSON object of these fields:
- persona: one sentence on what the customer is like, addressed to whoever plays them ("You are ...").
- opening: the first message.
- answers: an object with a sentence for each key of the values that are told when asked for.
- {later}closing: the last words, when all is done.
- wishes: an object with, for each id of a wish, the sentence that asks for it, copied letter by letter from what the
  customer says in the opening or later.
- reason, known, further: the instructions for whoever plays the customer: why they make contact and what they want;
  what they know, with every value; how to go about it, and what to do when.
"""
_SCENARIO = {
    Scenario.GENERAL: "- The opening tells all that is asked for with every value, and who the customer is.",
    Scenario.AMBIGUOUS: (
        "- The opening says only in general what is wanted. It holds none of the values, neither in figures nor in "
        "words, and not who the customer is; each is told when the agent asks for it, and the instructions say so."
    ),
    Scenario.CHANGING: (
        "- The customer changes course on the way: the opening has what is wanted first, with every value and who the "
        "customer is; `change` is what they say {when}. The opening does not hint at it; the instructions say when."
    ),
    Scenario.INFEASIBLE: (
        "- What is wanted cannot be. The customer does not know that: the opening asks for it with every value{who}. "
        "`insist` is one or two sentences said to refusals, one after the other; then the customer accepts."
    ),
}
_LATER = {
    Scenario.CHANGING: "change: what is said at the change of course.\n- ",
    Scenario.INFEASIBLE: "insist: a list of one or two sentences.\n- ",
}
_WHEN = {
    "drift": "the first time the agent asks for a yes: that they want something else instead",
    "addition": "when the first matter is done: that there is one more thing",
}


class AskedSummariser:
    """Words the drafts of one domain by asking a model. Implements `turngap.synth.summary.Summariser`."""

    def __init__(
        self,
        model: Model,
        domain: LiveDomain,
        *,
        phrases: Sequence[Path] = (),
        content: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """Ask a model.

        Args:
            model: which; it is closed with the summariser.
            domain: whose drafts are worded.
            phrases: files of phrases: by them values are described to the model.
            content: what `LiveWorld.content` gives, where it is at hand.
        """
        self._model = model
        self._phrases = load(domain, phrases)
        self._wording = Wording(domain, self._phrases, content)

    def identity(self) -> dict[str, Any]:
        """The prompt by its digest, the phrases, and the model."""
        told = [_TASK, {str(k): v for k, v in (*_SCENARIO.items(), *_LATER.items())}, _WHEN, READING]
        return {
            "summariser": "llm",
            "prompt": jsonio.digest(told)[:16],
            "phrases": self._phrases.digest,
            "model": self._model.identity(),
        }

    async def summarise(self, draft: Draft, domain: LiveDomain) -> Task:
        """Word a draft. See `turngap.synth.summary.Summariser`."""
        told = outline(draft, domain)
        keyed = _keyed(told)

        def read(answer: dict[str, Any]) -> Task | Flaw:
            missing = _missing(answer, told, keyed)
            if missing is not None:
                return missing
            task = _task(answer, told, domain, keyed)
            flaw = next(words(task, draft, domain), None)
            return task if flaw is None else Flaw(*flaw)

        said = await consult(
            self._model, ("summarise", draft.id), instructions(told), self._material(told, domain, keyed), read
        )
        how: dict[str, Any] = {"by": self._model.label, "asks": said.asks}
        if said.mishaps:
            how["mishaps"] = said.mishaps
        return msgspec.structs.replace(said.answer, made={**said.answer.made, "summary": how})

    async def aclose(self) -> None:
        """Release the model."""
        await self._model.aclose()

    def _material(
        self, told: Outline, domain: LiveDomain, keyed: dict[str, tuple[int, Telling]]
    ) -> list[tuple[str, Any]]:
        """Everything that there is to know of a draft."""
        draft, plan = told.draft, told.draft.plan
        rng = random.Random(f"{draft.seed}/{draft.id}/asked")
        speeches = [self._wording.speech(part.plan, rng, told.identity, strange=told.strange) for part in told.parts]
        used = {step.call.name for part in told.parts for step in part.plan.steps}
        never = {value: None for part in told.parts for value in unspoken(part.plan)}
        material: list[tuple[str, Any]] = [
            ("The policy of the desk", domain.policy),
            ("The tools that are used", [tool.spec for tool in domain.tools if tool.name in used]),
            ("The customer's record", {"key": plan.customer.key, **plan.customer.record}),
            ("What the agent should have done in the end", _steps(told.parts[-1].plan.steps)),
            ("What the customer wants", _wishes(told, speeches)),
            ("Who the customer says they are", {**told.identity}),
            ("What the customer tells", _values(keyed, speeches)),
            ("What nobody says, since no customer has it in mind", list(never)),
        ]
        if told.change == "drift":
            material.append(("What would have been done for the first wish", _steps(told.opening.plan.steps)))
        if draft.withheld:
            withhold = [{"slot": one.path, "value": one.value} for one in withheld(draft)]
            material.append(("What must not be in the opening", withhold))
        if draft.refusal is not None:
            refusal = {"kind": draft.refusal.kind, "reason": draft.refusal.reason, "evidence": draft.refusal.evidence}
            refusal["own"] = "no: it is somebody else's, and the customer says so" if told.strange else "yes"
            material.append(("Why it cannot be", refusal))
        return material


def instructions(told: Outline) -> str:
    """What a model is told before the material."""
    who = " and who the customer is" if told.identity else "; the customer refuses to say who they are"
    rule = _SCENARIO[told.draft.scenario].format(when=_WHEN.get(told.change or "", ""), who=who)
    return _TASK.format(scenario=rule, later=_LATER.get(told.draft.scenario, ""))


def _keyed(told: Outline) -> dict[str, tuple[int, Telling]]:
    """The values that are told, under keys by which the model names them."""
    tellings = [(number, telling) for number, part in enumerate(told.parts) for telling in part.tellings]
    return {f"v{index + 1}": one for index, one in enumerate(tellings)}


def _steps(steps: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"call": step.call.name, "arguments": step.call.arguments, "result": step.result} for step in steps]


def _wishes(told: Outline, speeches: Sequence[Speech]) -> list[dict[str, Any]]:
    wishes = []
    for part, speech, place in zip(told.parts, speeches, ("opening", "change"), strict=False):
        for wish in part.wishes:
            call = part.plan.steps[wish.step].call
            one: dict[str, Any] = {"wish": wish.id, "asked_for_in": place}
            if wish.fact is not None:
                one |= {"to_be_told": speech.about(wish.fact), "value": wish.fact.value}
            else:
                one |= {"call": call.name, "arguments": call.arguments}
            wishes.append(one)
    return wishes


def _values(keyed: dict[str, tuple[int, Telling]], speeches: Sequence[Speech]) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "slot": telling.slot,
            "value": telling.value,
            "in_words": voiced(speeches[part].answer(telling.step, telling.slot), Voice.SELF),
            "for_step": telling.step + 1,
        }
        for key, (part, telling) in keyed.items()
    ]


def _missing(answer: dict[str, Any], told: Outline, keyed: dict[str, tuple[int, Telling]]) -> Flaw | None:
    """The first field that an answer lacks."""
    wanted = ["opening", "closing", "reason", "further", *(["change"] if told.later is not None else [])]
    for field in wanted:
        if not isinstance(answer.get(field), str) or not answer[field].strip():
            return Flaw("incomplete summary", f"{field} should be a text")
    answers, wishes = answer.get("answers"), answer.get("wishes")
    for key in keyed:
        if not isinstance(answers, dict) or not isinstance(answers.get(key), str) or not answers[key].strip():
            return Flaw("incomplete summary", f"answers.{key} should be a sentence")
    if not isinstance(wishes, dict):
        return Flaw("incomplete summary", "wishes should be an object of sentences by the ids of wishes")
    insist = answer.get("insist")
    if told.draft.refusal is not None and not (
        isinstance(insist, list) and insist and all(map(str.strip, map(str, insist)))
    ):
        return Flaw("incomplete summary", "insist should be a list of one or two sentences")
    return None


def _task(answer: dict[str, Any], told: Outline, domain: LiveDomain, keyed: dict[str, tuple[int, Telling]]) -> Task:
    """The task that an answer words."""
    draft = told.draft
    hidden = draft.scenario is Scenario.AMBIGUOUS

    def facts(part: int) -> tuple[Fact, ...]:
        return tuple(
            Fact(slot=one.slot, value=one.value, says=answer["answers"][key].strip(), told=not hidden)
            for key, (number, one) in keyed.items()
            if number == part
        )

    who = [
        Fact(slot=slot, value=value, says=plain_answer(slot, value), told=not hidden)
        for slot, value in told.identity.items()
    ]
    who += [Fact(slot=slot, value=value, says=plain_answer(slot, value)) for slot, value in told.known.items()]
    changes: tuple[Change, ...] = ()
    if told.change is not None:
        when: Literal["confirm", "done"] = "confirm" if told.change == "drift" else "done"
        changes = (Change(says=answer["change"].strip(), when=when, kind=told.change, facts=facts(1)),)
    insist = tuple(str(one).strip() for one in answer.get("insist") or ()) if draft.refusal is not None else ()
    return Task(
        id=draft.id,
        domain=domain.name,
        scenario=draft.scenario,
        persona=str(answer.get("persona") or "").strip(),
        instructions=Instructions(
            reason=answer["reason"].strip(),
            known=str(answer.get("known") or "").strip(),
            unknown=" ".join(
                f"You cannot recall the {slot.replace('_', ' ')} of your account." for slot in told.unknown
            ),
            further=answer["further"].strip(),
        ),
        purpose=purpose(draft),
        criteria=criteria(draft),
        intent=Intent(
            opening=answer["opening"].strip(),
            facts=(*who, *facts(0)),
            unknown=told.unknown,
            changes=changes,
            insist=insist,
            closing=answer["closing"].strip(),
        ),
        made={**made(draft), "wishes": [{"wish": str(k), "text": str(v)} for k, v in answer["wishes"].items()]},
    )
