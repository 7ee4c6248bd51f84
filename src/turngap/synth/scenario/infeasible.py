"""Infeasible: what the customer wants cannot be, and everything that is said of why is verified by doing it.

A call is infeasible for the tool when the world refuses it as it is in the beginning, and for the policy when it would
go through although a rule of the domain forbids it. What made it so is found by trying the call with each argument
changed: an argument is to blame when another value meets another answer. From that follow the forbidden action (the
call, recognised by the record that it is about and by what is to blame) and the diagnosis: the look-ups that show it,
with what they need, such as who the customer is. No look-up is required that a careful agent could do without.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.data import ToolCall
from turngap.data.task import Scenario
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.live import Done
from turngap.synth.ablation import backbone
from turngap.synth.known import Known
from turngap.synth.offer import leaves, offers, parts, placed, token
from turngap.synth.plan import Argument, Draft, Exploration, Loss, LostError, Origin, Plan, Refusal, Step
from turngap.synth.provenance import trace
from turngap.synth.replay import replay

_UNKNOWN = 0.03
"""The share of tasks in which the customer does not say who they are, where the domain has a rule against that."""


class _Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call cannot be."""

    kind: str
    evidence: str


def draft(
    domain: LiveDomain,
    exploration: Exploration,
    rng: random.Random,
    plan: Plan | None = None,  # noqa: ARG001 - as all scenarios
) -> Draft:
    """Something that cannot be, with how one finds that out.

    Args:
        domain: where it took place.
        exploration: what was done.
        rng: chooses among what cannot be.
        plan: of what can be; not needed.

    Raises:
        LostError: everything in the exploration can be. DomainFault: the domain's own code failed.
    """
    if rng.random() < _UNKNOWN:
        nameless = _nameless(domain, exploration, rng)
        if nameless is not None:
            return nameless
    attempts = [index for index, step in enumerate(exploration.steps) if step.kind == "write"]
    rng.shuffle(attempts)
    for index in attempts:
        found = _refused(domain, exploration, index)
        if found is not None:
            return found
    nameless = _nameless(domain, exploration, rng) if rng.random() < _UNKNOWN else None
    if nameless is not None:
        return nameless
    raise LostError(Loss(stage="scenario", reason="nothing infeasible", detail=f"{len(attempts)} changes"))


def _refused(domain: LiveDomain, exploration: Exploration, index: int) -> Draft | None:
    """One attempt of an exploration, where it cannot be in the world as it is in the beginning."""
    call = exploration.steps[index].call
    reads = [step for step in exploration.steps[:index] if step.kind == "read" and not step.error]
    done = replay(domain, reads)
    before = [Done(call=step.call, result=result) for step, result in zip(reads, done.results, strict=True)]
    if done.refused or done.digest != domain.world().digest():
        return None
    why = _why(done.world, call, before)
    if why is None:
        return None
    told = [value for path, value in leaves(call.arguments) if _is_id(path, value)]
    guilty = _guilty(done.world, call, before, why)
    names = tuple(dict.fromkeys(str(parts(path)[0]) for path in guilty))
    entity = _entity(call)
    compared = tuple(name for name in (call.arguments or {}) if name in names or name == entity)
    wanted = _wanted(exploration, reads, call, guilty, told)
    if why.kind == "policy":
        wanted |= _telling(done.world, call, before, why)
    return _drafted(domain, exploration, reads, sorted(wanted), call, why, compared, told)


def _drafted(
    domain: LiveDomain,
    exploration: Exploration,
    reads: Sequence[Step],
    wanted: Sequence[int],
    call: ToolCall,
    why: _Why,
    compared: tuple[str, ...],
    told: Sequence[Any],
) -> Draft | None:
    if not wanted:
        return None
    looked = msgspec.structs.replace(exploration, id=f"{exploration.id}-why", steps=tuple(reads), facts=())
    own = [value for value in told if _stands(value, exploration, reads)]
    strange = [value for value in told if value not in own]
    try:
        plan = backbone(domain, looked, wanted, (), told=strange)
        arguments = _traced(domain, plan, call, strange)
    except LostError:
        return None
    world = replay(domain, plan.steps)
    before = [Done(call=s.call, result=r) for s, r in zip(plan.steps, world.results, strict=True)]
    again = _why(world.world, call, before)
    if world.refused or again is None or again.evidence != why.evidence:
        return None
    refusal = Refusal(
        kind="tool" if why.kind == "tool" else "policy",
        call=call,
        compare_args=compared,
        reason=_reason(why),
        evidence=why.evidence,
        diagnosis=_diagnosis(plan, [reads[index].call for index in wanted]),
        arguments=arguments,
    )
    return Draft(
        id=f"{exploration.id}-infeasible",
        scenario=Scenario.INFEASIBLE,
        seed=exploration.seed,
        plan=plan,
        refusal=refusal,
    )


def _diagnosis(plan: Plan, wanted: Sequence[ToolCall]) -> tuple[int, ...]:
    """The steps that nobody can leave out: those that show it, and those that begin with what only the user says.

    A step between them may only find an id that the user tells anyway.
    """
    told = {one.step for one in plan.arguments if one.source.origin is Origin.USER}
    return tuple(index for index, step in enumerate(plan.steps) if index in told or step.call in wanted)


def _nameless(domain: LiveDomain, exploration: Exploration, rng: random.Random) -> Draft | None:
    """A change of which the customer will not say who asks for it, where a rule forbids to make it then."""
    changes = [step.call for step in exploration.steps if step.changed and not step.error and not step.breaches]
    rng.shuffle(changes)
    world = domain.world()
    for call in changes:
        after_all = replay(domain, [*(s.call for s in exploration.steps if s.kind == "read" and not s.error), call])
        broken = world.breaches(call, ())
        entity = _entity(call)
        if not broken or entity is None or after_all.refused or after_all.steps[-1].breaches:
            continue
        told = [value for path, value in leaves(call.arguments) if _is_id(path, value)]
        if any(value == exploration.customer.key for value in told):
            continue  # to name the account is to say who one is
        plan = Plan(id=f"{exploration.id}-nameless", customer=exploration.customer, steps=(), digest=world.digest())
        why = _Why(kind="policy", evidence=broken[0])
        try:
            arguments = _traced(domain, plan, call, told)
        except LostError:
            continue
        refusal = Refusal(
            kind="policy",
            call=call,
            compare_args=(entity,),
            reason=_reason(why),
            evidence=why.evidence,
            arguments=arguments,
        )
        return Draft(
            id=f"{exploration.id}-infeasible",
            scenario=Scenario.INFEASIBLE,
            seed=exploration.seed,
            plan=plan,
            refusal=refusal,
        )
    return None


def _why(world: LiveWorld, call: ToolCall, before: Sequence[Done]) -> _Why | None:
    """Why a call cannot be in a world, None where it can, or where it is no proper call."""
    reply = world.fork().reply(call)
    if reply.category is not None:
        return None
    if reply.message.error:
        return _Why(kind="tool", evidence=reply.message.content)
    broken = world.breaches(call, before)
    return _Why(kind="policy", evidence=broken[0]) if broken else None


def _guilty(world: LiveWorld, call: ToolCall, before: Sequence[Done], why: _Why) -> list[str]:
    """Paths of the arguments with another value of which the answer is another."""
    guilty = []
    for path, value in leaves(call.arguments):
        other = ToolCall(name=call.name, arguments=placed(call.arguments or {}, path, _otherwise(value)))
        if why.kind == "policy":
            stays = why.evidence in world.breaches(other, before)
        else:
            now = _why(world, other, before)
            stays = now is not None and now.evidence == why.evidence
        if not stays:
            guilty.append(path)
    return guilty


def _otherwise(value: Any) -> Any:
    """Another value of the same kind, which stands for nothing."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value}0" if isinstance(value, str) else value


def _wanted(
    exploration: Exploration, reads: Sequence[Step], call: ToolCall, guilty: Sequence[str], told: Sequence[Any]
) -> set[int]:
    """Indices of the look-ups that show why: of the customer's own record, and of what offers the guilty values."""
    ids = {token(value) for value in told if _stands(value, exploration, reads)}
    values = dict(leaves(call.arguments))
    known = Known(exploration.customer)
    blamed = {token(values[path]) for path in guilty if _is_id(path, values[path]) and values[path] not in known}
    wanted = {
        index
        for index, step in enumerate(reads)
        if ids & {token(value) for _, value in leaves(step.call.arguments)} and step.call.arguments
    }
    for value in blamed:
        holders = [
            index
            for index, step in enumerate(reads)
            if value not in {token(one) for _, one in leaves(step.call.arguments)}
            and any(token(offer.value) == value for offer in offers(step.result))
        ]
        # The last one is the nearest to the thing itself: the product that has the variant, not the list of all.
        wanted |= set(holders[-1:]) if not wanted & set(holders) else set()
    return wanted


def _telling(world: LiveWorld, call: ToolCall, before: Sequence[Done], why: _Why) -> set[int]:
    """Indices of the earlier calls without which the rule would not be broken."""
    return {
        index
        for index in range(len(before))
        if why.evidence not in world.breaches(call, [*before[:index], *before[index + 1 :]])
    }


def _stands(value: Any, exploration: Exploration, reads: Sequence[Step]) -> bool:
    """Whether a value is the customer's own, by what they know or what is found of them."""
    if value in Known(exploration.customer):
        return True
    return any(
        any(token(offer.value) == token(value) for offer in offers(step.result))
        for step in reads
        if token(value) not in {token(one) for _, one in leaves(step.call.arguments)}
    )


def _traced(domain: LiveDomain, plan: Plan, call: ToolCall, told: Sequence[Any]) -> tuple[Argument, ...]:
    """Where the values of the refused call come from; what the diagnosis does not show, the user tells."""
    known = [value for path, value in leaves(call.arguments) if _is_id(path, value)]
    step = Step(call=call, result="", error=True, kind="write")
    traced = trace(domain, plan.customer, (*plan.steps, step), (*told, *known))
    return tuple(argument for argument in traced if argument.step == len(plan.steps))


def _entity(call: ToolCall) -> str | None:
    """The argument that names the record which a call is about."""
    return next((name for name, value in (call.arguments or {}).items() if name.endswith("id") and value), None)


def _is_id(path: str, value: Any) -> bool:
    name = next((str(part) for part in reversed(parts(path)) if isinstance(part, str)), "")
    return isinstance(value, str) and name.rstrip("s").endswith("id") and bool(value)


def _reason(why: _Why) -> str:
    """The refusal as readers want to see it: the tool's words without their wrapping."""
    text = why.evidence
    for found in _error_texts(text):
        text = found
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _error_texts(text: str) -> Iterator[str]:
    value = offers(text)
    yield from (str(one.value) for one in value if one.name == "error")
    if text.startswith("Error: "):
        yield text.removeprefix("Error: ")
