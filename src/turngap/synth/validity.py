"""Whether a task may be kept: hard checks first, each by execution or by comparison, then what a model thinks of it.

The hard checks hold a task against its draft. Its reference leads to the plan's state, with no refused call and no
broken rule; every wish of the draft is asked for in words that the customer says, and nothing else is said to be
wished; every value that only the customer knows can be had from them, in words that a person can say; nothing that is
to be asked for stands in the first message; the customer's own words do not tell what is to be told; nobody speaks of
ids that no person has in mind; `turngap.synth.check` finds no error.

`Scorer` is the seam of what a model thinks; `turngap.synth.asked_scorer` asks one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from turngap.data.asking import spell
from turngap.data.task import Component, Intent, Scenario, Task
from turngap.domains import LiveDomain
from turngap.synth.check import Checker
from turngap.synth.known import Known
from turngap.synth.offer import leaves, token
from turngap.synth.outline import Outline, criteria, name_of, outline, said_before
from turngap.synth.plain import can_be_said
from turngap.synth.plan import Argument, Draft, Loss, LostError, Plan
from turngap.synth.replay import replay
from turngap.synth.wording import mentions
from turngap.users.faults import recital

LEAST = 7
"""The lowest score that a model may give, of 10."""


class Scorer(Protocol):
    """Something that has an opinion of tasks. Implementations are safe to use from many tasks of one event loop."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its opinion, as plain values without secrets."""
        ...

    async def score(self, task: Task, draft: Draft) -> Task:
        """The task with its scores, from 0 to 10, under ``scores`` of `Task.made`.

        Raises:
            LostError: a score is too low, or none could be had. EndpointError: a model's server failed.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


def require_valid(task: Task, draft: Draft, domain: LiveDomain, checker: Checker | None = None) -> None:
    """Make every hard check.

    Args:
        task: what a summariser made of the draft.
        draft: what it has to tell.
        domain: where it takes place.
        checker: of the domain; one for many tasks reads the database once.

    Raises:
        LostError: a check fails. DomainFault: the domain's own code failed.
    """
    told = outline(draft, domain)
    for check in (_executes, _asks, _speakable, _tells, _keeps_silent):
        for reason, detail in check(task, told, domain):
            raise LostError(Loss(stage="validate", reason=reason, detail=detail))
    finding = next((one for one in (checker or Checker(domain)).check(task) if one.severity == "error"), None)
    if finding is not None:
        raise LostError(Loss(stage="validate", reason=f"check: {finding.flaw}", detail=finding.detail))


Flaws = Iterator[tuple[str, str]]
"""Reason and detail of what is wrong."""


def words(task: Task, draft: Draft, domain: LiveDomain) -> Flaws:
    """What is wrong with the words of a task, without a look at what they lead to."""
    told = outline(draft, domain)
    for check in (_asks, _speakable, _tells, _keeps_silent):
        yield from check(task, told, domain)


def _executes(task: Task, told: Outline, domain: LiveDomain) -> Flaws:
    """The reference leads where the plan led, and the criteria are the draft's."""
    draft = told.draft
    done = replay(domain, [action.call() for action in task.criteria.actions], task.initial_state)
    if done.refused:
        step = done.steps[done.refused[0]]
        yield "the reference is refused", f"{step.call.name}: {step.result}"
    if done.breaching:
        step = done.steps[done.breaching[0]]
        yield "the reference breaks a rule", f"{step.call.name}: {step.breaches[0]}"
    if done.digest != draft.plan.digest:
        yield "another final state", "the reference does not lead to the plan's state"
    if task.criteria != criteria(draft):
        yield "other criteria", "the criteria are not those of the draft"
    if task.scenario is Scenario.CHANGING and draft.abandoned is not None:
        first = replay(domain, draft.abandoned.steps)
        if first.refused or first.breaching or first.digest in (done.digest, domain.world().digest()):
            yield "no other first wish", "what is wanted first cannot be, or comes to the same"
    if draft.refusal is not None and Component.CONSTRAINT not in task.criteria.reward_basis:
        yield "no constraint", "what is forbidden is not counted"


def _asks(task: Task, told: Outline, domain: LiveDomain) -> Flaws:
    """Every wish is in the words, and what is in the words as a wish is one."""
    del domain
    intent = task.intent or Intent(opening="")
    words = _folded(" ".join([intent.opening, *(change.says for change in intent.changes)]))
    said = {str(one.get("wish")): str(one.get("text") or "") for one in task.made.get("wishes", ())}
    wanted = [wish.id for part in told.parts for wish in part.wishes]
    for wish in wanted:
        if not said.get(wish, "").strip():
            yield "a wish is not asked for", wish
        elif _folded(said[wish]) not in words:
            yield "a wish is not asked for", f"{wish}: nobody says {said[wish]!r}"
    for wish, text in said.items():
        if wish not in wanted:
            yield "a wish without an action", f"{wish}: {text}"
    if (told.change is not None) != bool(intent.changes):
        yield "no change of course" if told.change else "an uncalled-for change of course", task.scenario.value
    if (told.draft.refusal is not None) != bool(intent.insist):
        yield "no insisting" if told.draft.refusal else "uncalled-for insisting", task.scenario.value


def _tells(task: Task, told: Outline, domain: LiveDomain) -> Flaws:
    """What only the customer knows can be had from them."""
    del domain
    intent = task.intent or Intent(opening="")
    facts = [*intent.facts, *(fact for change in intent.changes for fact in change.facts)]
    for part in told.parts:
        known = Known(part.plan.customer, told.identity.values())
        for telling in part.tellings:
            answers = [
                fact for fact in facts if fact.slot == telling.slot and token(fact.value) == token(telling.value)
            ]
            if not answers:
                yield "a value cannot be had", f"{telling.slot} {spell(telling.value)}"
            for _, value in leaves({telling.slot: telling.value}):
                plain = isinstance(value, str) and value in known and any(sign.isdigit() for sign in value)
                if plain and not any(mentions(fact.says or spell(fact.value), value) for fact in answers):
                    yield "a value cannot be had", f"the answer to {telling.slot} does not tell {value}"
    for slot, value in told.identity.items():
        if not any(fact.slot == slot and fact.value == value for fact in facts):
            yield "a value cannot be had", f"{slot} {value}"


def _speakable(task: Task, told: Outline, domain: LiveDomain) -> Flaws:
    """A person can say every value that is told; nothing at all only where that is a value, as in a second address."""
    del task, domain
    named = [(one.slot, one.value) for part in told.parts for one in part.tellings]
    for slot, value in (*told.identity.items(), *named):
        nothing = not spell(value).strip()
        if not can_be_said(value) and (not nothing or slot in told.identity or slot.endswith("id")):
            yield "a value that nobody can say", f"{slot} {spell(value)!r}"


def _keeps_silent(task: Task, told: Outline, domain: LiveDomain) -> Flaws:
    """What is withheld is not in the first message, what comes later not before its time, and nobody speaks in ids."""
    del domain
    intent = task.intent or Intent(opening="")
    for fact in said_before(task):
        yield "the customer says what is to be told", fact
    for argument in withheld(told.draft):
        value = spell(argument.value)
        if telling(value) and mentions(intent.opening, value):
            yield "leaks a withheld value", f"{name_of(argument)} {value} in the first message"
    texts = [
        intent.opening,
        *(fact.says for fact in intent.facts),
        *(change.says for change in intent.changes),
        *(fact.says for change in intent.changes for fact in change.facts),
        *intent.insist,
        task.instructions.text(),
    ]
    for text in texts[:-1]:
        if recited := recital(text, task.instructions.text()):
            yield "recites the instructions", recited
    for part in told.parts:
        for value in unspoken(part.plan):
            if any(mentions(text, value) for text in texts):
                yield "speaks of an id", f"{value}, which no customer has in mind"


def withheld(draft: Draft) -> tuple[Argument, ...]:
    """The values that must not be told before they are asked for."""
    return tuple(draft.plan.arguments[index] for index in draft.withheld)


def telling(value: str) -> bool:
    """Whether a value gives itself away where it stands in a text: short words may stand there by chance."""
    return len(value) >= 4 or any(sign.isdigit() for sign in value)


def unspoken(plan: Plan) -> tuple[str, ...]:
    """The ids of a plan that nobody has in mind: found in results, and not the customer's own."""
    known = Known(plan.customer)
    return tuple(
        dict.fromkeys(
            argument.value
            for argument in plan.arguments
            if isinstance(argument.value, str)
            and re.fullmatch(r"(?=\S*\d)\S{5,}", argument.value)
            and argument.source.step is not None
            and name_of(argument).rstrip("s").endswith("id")
            and argument.value not in known
        )
    )


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
