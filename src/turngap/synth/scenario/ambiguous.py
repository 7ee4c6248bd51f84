"""Ambiguous: the same plan, but what only the customer can say is not said before it is asked for.

Withheld are exactly the values that come from the user or from a choice among what results offer. There have to be such
in something that changes the state, and so many to choose from that nobody gets through by guessing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from turngap.data import ToolCall
from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.synth.ablation import backbone
from turngap.synth.offer import parts, placed
from turngap.synth.parameter import parameters
from turngap.synth.plan import Argument, Draft, Exploration, Loss, LostError, Origin, Plan
from turngap.synth.replay import replay

MOST_LUCK = 0.02
"""The chance beyond which a guess is too good."""


def draft(
    domain: LiveDomain,
    exploration: Exploration,
    rng: random.Random,  # noqa: ARG001 - as all scenarios
    plan: Plan | None = None,
) -> Draft:
    """The plan of an exploration with what has to be asked for.

    Args:
        domain: where it took place.
        exploration: what was done.
        rng: nothing is left to chance.
        plan: the exploration's backbone, where it is at hand.

    Raises:
        LostError: there is no plan in it, or too little to ask for. DomainFault: the domain's own code failed.
    """
    plan = plan or backbone(domain, exploration)
    withheld = tuple(index for index, one in enumerate(plan.arguments) if from_user(one))
    chance = luck(domain, plan)
    if chance > MOST_LUCK:
        detail = f"a guess would do in {chance:.0%} of cases"
        raise LostError(Loss(stage="scenario", reason="too few choices", detail=detail))
    return Draft(
        id=f"{exploration.id}-ambiguous",
        scenario=Scenario.AMBIGUOUS,
        seed=exploration.seed,
        plan=plan,
        withheld=withheld,
    )


def from_user(argument: Argument) -> bool:
    """Whether only the user can say the value."""
    return argument.source.origin in (Origin.USER, Origin.CHOICE)


def luck(domain: LiveDomain, plan: Plan) -> float:
    """The chance that somebody who knows who the customer is, and what is wanted but no value, guesses all of them."""
    choices = _choices(domain)
    chance = 1.0
    free: list[Argument] = []
    guessed: set[object] = set()
    for argument in plan.arguments:
        step = plan.steps[argument.step]
        said = (parts(argument.path)[0], str(argument.value))
        if step.kind != "write" or not from_user(argument) or said in guessed:
            continue
        guessed.add(said)  # what was guessed once is known the second time
        count = choices.get((step.call.name, str(parts(argument.path)[0])), 0)
        if argument.source.origin is Origin.CHOICE:
            chance /= max(argument.source.among, 1)
        elif count or argument.value in ("", None) or isinstance(argument.value, bool):
            chance /= count or 2
        else:
            free.append(argument)
    if chance > MOST_LUCK and any(_matters(domain, plan, argument) for argument in free):
        return 0.0
    return chance


def _matters(domain: LiveDomain, plan: Plan, argument: Argument) -> bool:
    """Whether another value would be noticed: a reason that nobody writes down is none that has to be asked for."""
    call = plan.steps[argument.step].call
    value = argument.value + 1 if isinstance(argument.value, (int, float)) else f"{argument.value}?"
    other = ToolCall(name=call.name, arguments=placed(call.arguments or {}, argument.path, value))
    calls = [other if index == argument.step else step.call for index, step in enumerate(plan.steps)]
    return replay(domain, calls).digest != plan.digest


def _choices(domain: LiveDomain) -> Mapping[tuple[str, str], int]:
    return {
        (tool.name, parameter.name): len(parameter.choices)
        for tool in domain.tools
        for parameter in parameters(tool.spec)
        if parameter.choices
    }
