"""The filter: which explorations are worth making tasks of.

What a task is graded by is the state that an agent leaves and what it tells; so an exploration is kept that changed the
database, handed the customer over, found out something that the customer asks for, or worked something out. Whether
rules were broken on the way, and what of it all is needed, is asked later (`turngap.synth.ablation`).
"""

from __future__ import annotations

from turngap.synth.plan import Exploration, Loss, LostError
from turngap.synth.replay import is_calculation


def require_use(exploration: Exploration) -> None:
    """Let an exploration pass of which a task can be made.

    Raises:
        LostError: it changed nothing, handed nobody over, and has nothing to tell.
    """
    steps = exploration.steps
    if exploration.facts or any(step.has_effect() or is_calculation(step) for step in steps):
        return
    refused = sum(step.error for step in steps)
    detail = f"{len(steps)} steps, {refused} of them refused; nothing was changed, handed over or told"
    raise LostError(Loss(stage="filter", reason="no effect and no fact", detail=detail))
