"""The last proof of a task: the reference agent does it, in conversation with the scripted user, and is rewarded.

The reference agent asks for what the user withholds and for a yes, tells the facts and follows a change of course. In
the end the state and the facts have to be those that are wanted, and the user must have had no lapse. A task of which
it is not so is given up. Non-goal: whether the answers would do for an agent that does not know the reference; that is
for `turngap.synth.validity`.
"""

from __future__ import annotations

from turngap import models, users
from turngap.config import ModelConfig
from turngap.data import Failure, Task, Trajectory
from turngap.domains import LiveDomain
from turngap.grading.grader import RewardGrader
from turngap.live import Place, run
from turngap.metrics.passk import succeeded
from turngap.synth.plan import Loss, LostError

MOST_STEPS, MOST_ERRORS = 60, 10
"""Messages of the agent and refused calls, after which a task is given up."""


class Player:
    """Plays tasks of one domain."""

    def __init__(self, domain: LiveDomain, seed: int = 0) -> None:
        self._domain = domain
        self._agent = models.build(ModelConfig(spec="baseline/reference"))
        self._grader = RewardGrader()
        self._place = Place(
            domain=domain,
            simulator=users.build(ModelConfig(spec="scripted")),
            max_steps=MOST_STEPS,
            max_errors=MOST_ERRORS,
            seed=seed,
        )

    async def play(self, task: Task) -> Trajectory:
        """Have the reference agent do a task.

        Raises:
            LostError: it was not rewarded. DomainFault: the domain's own code failed.
        """
        played = await run(self._agent, self._place, task, 0)
        if isinstance(played, Failure):
            raise LostError(Loss(stage="play", reason=f"{played.cause.value} fault", detail=played.reason))
        reward = await self._grader.grade(task, self._domain, played.trajectory, played.world, beside=False)
        lapses = played.trajectory.metadata["lapses"]
        if not succeeded(reward.value) or lapses:
            wrong = [*map(str, lapses), *(symptom.detail for symptom in reward.symptoms)]
            detail = reward.detail or "; ".join(wrong) or f"ended by {played.trajectory.metadata['termination']}"
            raise LostError(Loss(stage="play", reason="the reference agent does not get through", detail=detail))
        return played.trajectory
