"""The seam of graders: who says what a finished trial is worth."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from turngap import judges
from turngap.config import MatchConfig, RolloutConfig
from turngap.data import Cause, Failure, Task, Trajectory
from turngap.data.reward import Reward
from turngap.domains import LiveDomain, LiveWorld
from turngap.engines.capture import capture
from turngap.grading.grader import RewardGrader
from turngap.judges.llm import LlmJudge
from turngap.judges.sentences import LlmSentenceJudge
from turngap.models import ModelContext
from turngap.protocols.evaluate import Services


class Grader(Protocol):
    """Says what finished trials are worth."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change a reward, as plain values without secrets."""
        ...

    async def grade(self, task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld) -> Reward:
        """Grade one trial by what was said and done, and by the world as it was left.

        Raises:
            JudgeError, EndpointError: no verdict could be had. DataFault, DomainFault: task and domain do not fit.
        """
        ...

    async def aclose(self) -> None:
        """Release the judge, where there is one."""
        ...


def open_grader(config: RolloutConfig, context: ModelContext, services: Services) -> Grader:
    """Build the grader of a configuration: the first judge that is a language model judges sentences.

    Raises:
        UsageError: an unknown judge.
    """
    for spec in config.judge.specs:
        judge = judges.build(spec, config.judge, MatchConfig(), context, services.save_prompt)
        if isinstance(judge, LlmJudge):
            return RewardGrader(LlmSentenceJudge(judge))
    return RewardGrader()


async def graded(
    grader: Grader, task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld
) -> Reward | Failure:
    """Have a trial graded; a grader that fails comes back as a `Failure`."""
    result = await capture(grader.grade(task, domain, trajectory, world))
    if isinstance(result, Failure) and result.cause is Cause.ENDPOINT:
        return msgspec.structs.replace(result, cause=Cause.JUDGE)  # the only server that a grader asks is the judge's
    return result
