"""From an exploration to drafts of tasks, one module a scenario, each with ``draft(domain, exploration, rng)``."""

from __future__ import annotations

import random

from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.synth.plan import Draft, Exploration, Plan
from turngap.synth.scenario import ambiguous, changing, general, infeasible

_DRAFTS = {
    Scenario.GENERAL: general.draft,
    Scenario.AMBIGUOUS: ambiguous.draft,
    Scenario.CHANGING: changing.draft,
    Scenario.INFEASIBLE: infeasible.draft,
}


def draft(
    domain: LiveDomain, exploration: Exploration, scenario: Scenario, seed: int = 0, plan: Plan | None = None
) -> Draft:
    """One draft of a scenario from an exploration. The same seed and exploration always give the same.

    Args:
        domain: where the exploration took place.
        exploration: what was done.
        scenario: what should make the task hard.
        seed: of what is left to chance.
        plan: what `turngap.synth.ablation.backbone` gives of the whole exploration; all scenarios but infeasible need
            it, so that whoever drafts several makes it once.

    Raises:
        LostError: the exploration gives none. DomainFault: the domain's own code failed.
    """
    rng = random.Random(f"{seed}/draft/{exploration.id}/{scenario.value}")
    return _DRAFTS[scenario](domain, exploration, rng, plan)


__all__ = ["draft"]
