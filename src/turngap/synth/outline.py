"""What a task of a draft has to tell, whoever words it: wishes, values, who the customer is; and its criteria.

An `Outline` is the draft looked at from the customer's side. Every effect of the plan is a wish, so is every fact that
has to be told, and a refused call is the one wish of an infeasible task. Nothing here is words.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from turngap.data.task import Action, Component, Criteria, Intent, Scenario, Task, hands_over
from turngap.domains import LiveDomain
from turngap.grading.saying import says
from turngap.synth.known import Known
from turngap.synth.naming import key_name
from turngap.synth.offer import parts
from turngap.synth.plan import Argument, Customer, Draft, Fact, Origin, Plan, Step

FROM_USER = (Origin.USER, Origin.CHOICE)
"""Where values come from that a person has to tell."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the customer wants."""

    id: str
    """The action of the criteria that fulfils it, ``fact 1`` for the first thing to be told, ``refused`` for what
    cannot be, ``first 2`` for the third action of what was wanted first."""
    step: int
    """Index in its plan."""
    fact: Fact | None = None
    """What the customer wants to know; None where something is to be done."""


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """One argument whose value the customer tells."""

    step: int
    slot: str
    value: Any
    """The whole argument."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Wishes that come up together."""

    plan: Plan
    """Whose steps they are; for infeasible tasks with the refused call as its last step."""
    wishes: tuple[Wish, ...]
    tellings: tuple[Telling, ...]


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """All that a task of a draft has to tell."""

    draft: Draft
    opening: Part
    """What the customer comes with."""
    later: Part | None = None
    """What it comes to on the way."""
    change: Literal["drift", "addition"] | None = None
    identity: dict[str, str]
    """Slot -> value by which the customer says who they are; empty where that is refused."""
    known: dict[str, str]
    """Further slots of the customer's own record, told when asked for."""
    unknown: tuple[str, ...]
    """Slots that the customer has no answer to."""
    strange: bool = False
    """What cannot be is about something that is not the customer's own."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts in their order."""
        return (self.opening,) if self.later is None else (self.opening, self.later)


def outline(draft: Draft, domain: LiveDomain) -> Outline:
    """The outline of a draft."""
    plan = _with_refused(draft)
    identity = _identity(draft, domain)
    known, unknown = _others(domain, plan.customer, identity) if identity else ({}, ())
    shared: dict[str, Any] = {
        "draft": draft,
        "identity": identity,
        "known": known,
        "unknown": unknown,
        "strange": _is_strange(plan),
    }
    if draft.abandoned is not None:
        return Outline(
            opening=_part(draft.abandoned, range(len(draft.abandoned.steps)), identity, prefix="first "),
            later=_part(plan, range(len(plan.steps)), identity),
            change="drift",
            **shared,
        )
    if draft.added_from is not None:
        return Outline(
            opening=_part(plan, range(draft.added_from), identity),
            later=_part(plan, range(draft.added_from, len(plan.steps)), identity),
            change="addition",
            **shared,
        )
    return Outline(opening=_part(plan, range(len(plan.steps)), identity), **shared)


def criteria(draft: Draft) -> Criteria:
    """What a trial of the task is held against."""
    plan, refusal = draft.plan, draft.refusal
    actions = tuple(_action(plan, index) for index in range(len(plan.steps)))
    basis = [Component.DB, Component.COMMUNICATE]
    required = tuple(action for action in actions if hands_over(action.name))
    forbidden: tuple[Action, ...] = ()
    if refusal is not None:
        required = tuple(actions[index] for index in refusal.diagnosis)
        call = refusal.call
        forbidden = (
            Action(
                id="refused",
                name=call.name,
                arguments=call.arguments or {},
                compare_args=refusal.compare_args,
                info=refusal.reason,
            ),
        )
    if required or forbidden:
        # A hand-over changes nothing in the database, so that it has to be looked for.
        basis.append(Component.CONSTRAINT)
    return Criteria(
        actions=actions,
        communicate=tuple(fact.value for fact in plan.facts),
        reward_basis=tuple(basis),
        required=required,
        forbidden=forbidden,
        reason=refusal.reason if refusal is not None else "",
    )


def made(draft: Draft) -> dict[str, Any]:
    """How a task was made, as far as the draft knows: for `turngap.data.Task.made`."""
    found: dict[str, Any] = {"draft": draft.id, "seed": draft.seed, "customer": draft.plan.customer.key}
    found["digest"] = draft.plan.digest
    if draft.abandoned is not None:
        first = [_action(draft.abandoned, index) for index in draft.abandoned.writes()]
        found["first"] = [{"name": action.name, "arguments": action.arguments} for action in first]
    if draft.added_from is not None:
        found["added_from"] = draft.added_from
    if draft.withheld:
        found["withheld"] = [
            {"slot": name_of(argument), "value": argument.value, "origin": argument.source.origin.value}
            for argument in (draft.plan.arguments[index] for index in draft.withheld)
        ]
    return found


def said_before(task: Task) -> Iterator[str]:
    """The facts of a task that the customer's own words say: to be told them would be to be told nothing."""
    intent = task.intent or Intent(opening="")
    told = [*intent.facts, *(fact for change in intent.changes for fact in change.facts)]
    texts = [intent.opening, *(change.says for change in intent.changes), *(fact.says for fact in told), *intent.insist]
    yield from (fact for fact in task.criteria.communicate if any(says(text, fact) for text in texts))


def name_of(argument: Argument) -> str:
    """The parameter that a leaf belongs to."""
    return str(parts(argument.path)[0])


def action_id(index: int) -> str:
    """The id of the action that stands for a step."""
    return f"step {index + 1}"


def _action(plan: Plan, index: int) -> Action:
    call = plan.steps[index].call
    worded = {name_of(one) for one in plan.arguments if one.step == index and one.source.origin is Origin.AGENT}
    compared = tuple(name for name in call.arguments or {} if name not in worded) if worded else None
    return Action(id=action_id(index), name=call.name, arguments=call.arguments or {}, compare_args=compared)


def _with_refused(draft: Draft) -> Plan:
    plan, refusal = draft.plan, draft.refusal
    if refusal is None:
        return plan
    refused = Step(call=refusal.call, result=refusal.evidence, error=True, kind="write")
    return msgspec.structs.replace(
        plan, steps=(*plan.steps, refused), arguments=(*plan.arguments, *refusal.arguments), facts=()
    )


def _is_strange(plan: Plan) -> bool:
    """Whether a refused call is about a record that is neither known to be the customer's nor found among theirs."""
    if not plan.steps or not plan.steps[-1].error:
        return False
    last = len(plan.steps) - 1
    about = next((one for one in plan.arguments if one.step == last and name_of(one).endswith("id")), None)
    return about is not None and about.source.origin is Origin.USER and about.value not in Known(plan.customer)


def _part(plan: Plan, steps: range, identity: dict[str, str], prefix: str = "") -> Part:
    wishes = [
        Wish(
            id=f"{prefix}{index}" if prefix else "refused" if plan.steps[index].error else action_id(index), step=index
        )
        for index in steps
        if plan.steps[index].has_effect() or plan.steps[index].error
    ]
    wishes += [
        Wish(id=f"fact {number + 1}", step=fact.step, fact=fact)
        for number, fact in enumerate(plan.facts)
        if fact.step in steps
    ]
    return Part(plan=plan, wishes=tuple(wishes), tellings=tuple(_tellings(plan, steps, identity)))


def _tellings(plan: Plan, steps: Sequence[int], identity: dict[str, str]) -> Iterator[Telling]:
    """What the customer tells: of what is asked for everything, of look-ups only what a person has in mind."""
    asked = [index for index in steps if plan.steps[index].has_effect() or plan.steps[index].error]
    said: set[tuple[str, str]] = set()
    known = Known(plan.customer)
    rest = [index for index in steps if index not in asked]
    for index in (*asked, *rest):
        call = plan.steps[index].call
        for slot in dict.fromkeys(
            name_of(one) for one in plan.arguments if one.step == index and one.source.origin in FROM_USER
        ):
            value = (call.arguments or {})[slot]
            key = (slot, str(value))
            own = slot in identity and identity[slot] == value
            if own or (index in rest and (key in said or not _in_mind(plan, index, slot, known))):
                continue
            said.add(key)
            yield Telling(step=index, slot=slot, value=value)


def _in_mind(plan: Plan, step: int, slot: str, known: Known) -> bool:
    """Whether the customer can say the value of an argument of a look-up: it is known, or made up by them."""
    leaves = [one for one in plan.arguments if one.step == step and name_of(one) == slot]
    return all(one.value in known or one.source.origin is Origin.USER for one in leaves)


def _identity(draft: Draft, domain: LiveDomain) -> dict[str, str]:
    """The values by which the agent finds the customer; where the plan looks nobody up, those by which it could."""
    plan = draft.plan
    if draft.refusal is not None and not plan.steps:
        return {}
    fields = _fields(plan.customer)
    for index, step in enumerate(plan.steps):
        own = {
            name_of(one): str(one.value)
            for one in plan.arguments
            if one.step == index and one.source.origin is Origin.USER and fields.get(name_of(one)) == one.value
        }
        if step.kind == "read" and own:
            return own
    ways = list(_ways(domain, fields))
    natural = [way for way in ways if key_name(plan.customer.table) not in way]
    return random.Random(f"{draft.seed}/identity").choice(natural or ways) if ways else {}


def _ways(domain: LiveDomain, fields: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The ways in which a person can say who they are: all arguments of a tool that reads, from their own record."""
    for tool in domain.tools:
        wanted = tool.spec.parameters.get("required", [])
        if tool.kind == "read" and wanted and all(isinstance(fields.get(name), str) for name in wanted):
            yield {name: fields[name] for name in wanted}


def _fields(customer: Customer) -> dict[str, Any]:
    """The plain fields of a person's record and of the objects in it; those of the record itself count first."""
    inner = [value for value in customer.record.values() if isinstance(value, dict)]
    found = {key: value for one in reversed(inner) for key, value in one.items() if not isinstance(value, (dict, list))}
    found |= {key: value for key, value in customer.record.items() if not isinstance(value, (dict, list))}
    return found | {key_name(customer.table): customer.key}


def _others(domain: LiveDomain, customer: Customer, identity: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """What the customer says of themselves beside: all other ways to say who they are but for the last word of each.

    Which look-up finds the customer is then no matter of taste.
    """
    known: dict[str, str] = {}
    unknown: list[str] = []
    own = key_name(customer.table)
    for way in _ways(domain, _fields(customer)):
        rest = [slot for slot in way if slot not in identity]
        known |= {slot: way[slot] for slot in rest[:-1]}
        unknown += rest[-1:]
    unknown += [own] if own not in identity else []
    return known, tuple(dict.fromkeys(slot for slot in unknown if slot not in known))


def purpose(draft: Draft) -> str:
    """What a task tests, in one line for readers."""
    if draft.scenario is Scenario.INFEASIBLE and draft.refusal is not None:
        return f"Infeasible ({draft.refusal.kind}): {draft.refusal.reason}"
    names = [draft.plan.steps[index].call.name for index in draft.plan.writes()] or ["telling"]
    first = draft.abandoned
    if first is not None:
        taken = ", ".join(first.steps[index].call.name for index in first.writes())
        return f"A change of mind: {taken} first, then {', '.join(names)}"
    kind = {Scenario.GENERAL: "All said at once", Scenario.AMBIGUOUS: "Nothing said unasked"}.get(
        draft.scenario, "One more wish"
    )
    return f"{kind}: {', '.join(names)}"
