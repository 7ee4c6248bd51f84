"""Changing: the customer changes course on the way.

Drift: something else was wanted first, of the same customer and about the same thing, and is taken back when the agent
asks for a yes. What was wanted first is a plan of its own, which the world takes and which leads to another state.
Addition: with the first issue done, a second one comes up. In both, what is wanted in the end is the draft's plan.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from turngap.data import ToolCall
from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.synth.ablation import backbone
from turngap.synth.offer import token
from turngap.synth.plan import Draft, Exploration, Loss, LostError, Plan
from turngap.synth.provenance import trace
from turngap.synth.replay import replay
from turngap.synth.scenario.alternative import others

_DRIFTS = 0.6
"""The share of drifts where either could be drafted."""


def draft(domain: LiveDomain, exploration: Exploration, rng: random.Random, plan: Plan | None = None) -> Draft:
    """A plan of an exploration with a change of course.

    Args:
        domain: where it took place.
        exploration: what was done.
        rng: chooses what was wanted first, or what comes up later.
        plan: the exploration's backbone, where it is at hand.

    Raises:
        LostError: there is no plan in it, or nothing that could have been wanted first or next. DomainFault: the
            domain's own code failed.
    """
    whole = plan or backbone(domain, exploration)
    goals = _goals(exploration, whole)
    ways = [_drift, _addition] if rng.random() < _DRIFTS else [_addition, _drift]
    for way in ways:
        found = way(domain, exploration, whole, goals, rng)
        if found is not None:
            return found
    raise LostError(Loss(stage="scenario", reason="no change of course", detail=f"{len(goals)} effects"))


def _goals(exploration: Exploration, plan: Plan) -> list[int]:
    """Indices of the steps of the exploration that are the effects of a plan."""
    wanted = [_key(plan.steps[index].call) for index in plan.writes()]
    goals = []
    for index, step in enumerate(exploration.steps):
        if step.has_effect() and _key(step.call) in wanted:
            wanted.remove(_key(step.call))
            goals.append(index)
    return goals


def _drift(
    domain: LiveDomain, exploration: Exploration, whole: Plan, goals: Sequence[int], rng: random.Random
) -> Draft | None:
    changes = [index for index in goals if exploration.steps[index].changed]
    # The change of mind is about what comes first, so that it is the first thing that the agent asks a yes for.
    attempts = [list(goals)] if goals and goals[0] in changes and rng.random() < 0.4 else []
    attempts += [[index] for index in rng.sample(changes, len(changes))]
    for wanted in attempts:
        plan = whole if wanted == list(goals) else _backbone(domain, exploration, wanted)
        if plan is None or not plan.writes():
            continue
        goal = plan.writes()[0]
        for call in others(domain, plan, goal, exploration.steps, rng):
            abandoned = _abandoned(domain, exploration, plan, goal, call)
            if abandoned is not None:
                return Draft(
                    id=f"{exploration.id}-changing",
                    scenario=Scenario.CHANGING,
                    seed=exploration.seed,
                    plan=plan,
                    abandoned=abandoned,
                )
    return None


def _abandoned(domain: LiveDomain, exploration: Exploration, plan: Plan, goal: int, call: ToolCall) -> Plan | None:
    """The plan with one step replaced, where the world takes it and ends elsewhere."""
    calls = [*(step.call for step in plan.steps[:goal]), call, *(step.call for step in plan.steps[goal + 1 :])]
    done = replay(domain, calls)
    if done.refused or done.breaching or not done.steps[goal].changed or done.digest == plan.digest:
        return None
    other = msgspec.structs.replace(exploration, id=f"{exploration.id}-first", steps=done.steps, facts=())
    found = _backbone(domain, other, None)
    if found is None or found.digest == plan.digest or _key(call) not in [_key(step.call) for step in found.steps]:
        return None
    return found


def _addition(
    domain: LiveDomain, exploration: Exploration, whole: Plan, goals: Sequence[int], rng: random.Random
) -> Draft | None:
    if len(goals) < 2:
        return None
    first = _backbone(domain, exploration, goals[: rng.randint(1, len(goals) - 1)])
    if first is None or (first.digest == whole.digest and all(step.changed for step in whole.steps)):
        return None
    plan = _ordered(domain, first, whole)
    if plan is None or len(plan.steps) == len(first.steps):
        return None
    return Draft(
        id=f"{exploration.id}-changing",
        scenario=Scenario.CHANGING,
        seed=exploration.seed,
        plan=plan,
        added_from=len(first.steps),
    )


def _ordered(domain: LiveDomain, first: Plan, whole: Plan) -> Plan | None:
    """The whole plan with the steps of the first issue in front, where that comes to the same."""
    left = [_key(step.call) for step in first.steps]
    places: list[int] = []
    for key in left:
        place = next((i for i, step in enumerate(whole.steps) if _key(step.call) == key and i not in places), None)
        if place is None:
            return None
        places.append(place)
    order = [*places, *(index for index in range(len(whole.steps)) if index not in places)]
    done = replay(domain, [whole.steps[index].call for index in order])
    if done.refused or done.breaching or done.digest != whole.digest:
        return None
    try:
        arguments = trace(domain, whole.customer, done.steps)
    except LostError:
        return None
    facts = tuple(msgspec.structs.replace(fact, step=order.index(fact.step)) for fact in whole.facts)
    return msgspec.structs.replace(whole, steps=done.steps, arguments=arguments, facts=facts)


def _backbone(domain: LiveDomain, exploration: Exploration, goals: Sequence[int] | None) -> Plan | None:
    try:
        return backbone(domain, exploration, goals)
    except LostError:
        return None


def _key(call: ToolCall) -> tuple[str, str]:
    return call.name, token(call.arguments)
