"""Rollouts for training: the trials of a run that are verified successes, as conversations.

A trial is kept when its reward is 1 and the user did nothing wrong, by the scores that the run itself reports; nothing
is judged here. What the agent thought is kept with what it said and did. What the user did with tools of their own is
not, since no agent sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from turngap.data import Cause, Conversation, Scenario, Score, Trajectory
from turngap.domains import LiveDomain
from turngap.formats.writer import write_openai
from turngap.grading.conversation import conversation
from turngap.protocols.rollout import SCORERS
from turngap.runs.store import RunStore
from turngap.runs.trials import MAIN

TRIALS = 2
"""Trials of a task where nobody says how many."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the trials of one scenario."""

    scenario: str
    kept: int = 0
    valid: int = 0
    """Trials that were measured and that the user did not spoil; what is kept is among them."""
    user_errors: int = 0
    errored: int = 0

    @property
    def rate(self) -> float | None:
        """Of the valid trials the share that is kept; None without any."""
        return self.kept / self.valid if self.valid else None


def keep(store: RunStore, domain: LiveDomain, path: Path) -> tuple[Kept, ...]:
    """Write the verified successes of a finished run, in the order of tasks and trials.

    Args:
        store: the run; its trials are scored.
        domain: where they took place.
        path: the file, which appears when it is complete.

    Returns:
        The counts of each scenario that has trials.

    Raises:
        UsageError: the file cannot be written.
    """
    scores = {(score.conversation, score.decision): score for _, score in store.scores(SCORERS[MAIN])}
    write_openai(_successes(store, domain, scores), path)
    return tuple(found for scenario in Scenario if (found := _count(scenario, scores)) is not None)


def _successes(
    store: RunStore, domain: LiveDomain, scores: dict[tuple[str, int | None], Score]
) -> Iterator[Conversation]:
    tools = tuple(tool.spec for tool in domain.tools)
    by = {"domain": domain.name, "model": store.rollout.model.spec, "user": store.rollout.user.spec}
    for task in store.trials.tasks():
        for stored in store.trials.of(task.id):
            score = scores.get((task.id, stored.trial))
            if score is None or not score.success or not isinstance(stored.result, Trajectory):
                continue
            reward = score.values["reward"]
            made = conversation(task, stored.result, policy=domain.policy, tools=tools, reward=reward)
            yield msgspec.structs.replace(
                made,
                # With the trial in every id no two can be alike, whatever tasks are called.
                id=f"{task.id}.{stored.trial}",
                metadata={**made.metadata, "reward": reward, **by},
            )


def _count(scenario: Scenario, scores: dict[tuple[str, int | None], Score]) -> Kept | None:
    own = [score for score in scores.values() if score.kind == scenario.value]
    if not own:
        return None
    spoiled = sum(score.cause is Cause.USER for score in own)
    errored = sum(score.cause is not None and score.cause.errored and score.cause is not Cause.USER for score in own)
    return Kept(
        scenario=scenario.value,
        kept=sum(score.success for score in own),
        valid=len(own) - spoiled - errored,
        user_errors=spoiled,
        errored=errored,
    )
