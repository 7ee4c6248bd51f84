"""A run of trials as recorded conversations, in the order of tasks and trials."""

from __future__ import annotations

from collections.abc import Iterator

from turngap import domains
from turngap.analysis.trial import REWARD
from turngap.data import Conversation, Trajectory
from turngap.data.reward import Reward
from turngap.errors import ConfigError
from turngap.grading.conversation import conversation
from turngap.runs.store import RunStore


def conversations(store: RunStore, *, only_successful: bool = False) -> Iterator[Conversation]:
    """The trials that took place; `only_successful` those that count as a success.

    Raises:
        UsageError, MissingExtra: the domain of the run, whose policy and tools stand in each, can no longer be built.
        ConfigError: its policy or tools are no longer those that the agent was given.
    """
    domain = domains.build(store.rollout.domain)
    before, now = store.note("domain", {}), domain.identity()
    if changed := [part for part in ("policy", "tools") if part in before and before[part] != now.get(part)]:
        raise ConfigError(
            f"{store.directory}: the {' and '.join(changed)} of {store.rollout.domain} are not what the agent of the "
            "stored trials was given; bring the domain back as it was"
        )
    tools = tuple(tool.spec for tool in domain.tools)
    good = {(score.conversation, score.decision) for _, score in store.scores(REWARD) if score.success}
    for task in store.trials.tasks():
        rewards = store.trials.rewards(task.id)
        for trial in store.trials.of(task.id):
            _, reward = rewards.get(trial.trial, ("", None))
            if isinstance(trial.result, Trajectory) and (not only_successful or (task.id, trial.trial) in good):
                worth = reward.value if isinstance(reward, Reward) else None
                yield conversation(task, trial.result, policy=domain.policy, tools=tools, reward=worth)
