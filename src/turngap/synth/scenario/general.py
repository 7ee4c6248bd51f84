"""General: the customer says all that is needed at once. The plan as it is."""

from __future__ import annotations

import random

from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.synth.ablation import backbone
from turngap.synth.plan import Draft, Exploration, Plan


def draft(
    domain: LiveDomain,
    exploration: Exploration,
    rng: random.Random,  # noqa: ARG001 - as all scenarios
    plan: Plan | None = None,
) -> Draft:
    """The plan of an exploration, to be asked for in so many words.

    Args:
        domain: where it took place.
        exploration: what was done.
        rng: nothing is left to chance.
        plan: the exploration's backbone, where it is at hand.

    Raises:
        LostError: there is no plan in it. DomainFault: the domain's own code failed.
    """
    plan = plan or backbone(domain, exploration)
    return Draft(id=f"{exploration.id}-general", scenario=Scenario.GENERAL, seed=exploration.seed, plan=plan)
