"""A run of trials as a results file of tau2, for tau2's own viewer, metrics and evaluator."""

from __future__ import annotations

from typing import Any

from turngap import domains
from turngap.data import Task, Trajectory
from turngap.data.reward import Reward
from turngap.domains.tau2 import results
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.results import About
from turngap.domains.tau2.verdict import peer_of, retold
from turngap.errors import DataFault
from turngap.runs.store import RunStore


def to_results(store: RunStore) -> dict[str, Any]:
    """The trials of a run in the form of `turngap.domains.tau2.results`; those that could not be measured are left out.

    Raises:
        UsageError, MissingExtra: the domain of the run can no longer be built; its policy and tools stand in the file.
    """
    config = store.rollout
    domain = domains.build(config.domain)
    peer = peer_of(domain)
    tasks = list(store.trials.tasks())
    simulations = []
    for task in tasks:
        rewards = store.trials.rewards(task.id)
        for trial in store.trials.of(task.id):
            if isinstance(trial.result, Trajectory):
                _, reward = rewards.get(trial.trial, ("", None))
                told = trial.result if peer is None or peer is domain else _retold(peer, task, trial.result)
                simulations.append(results.simulation(task, told, reward if isinstance(reward, Reward) else None))
    about = About(
        domain=config.domain.partition("?")[0].removeprefix("tau2:"),
        policy=domain.policy,
        tools=tuple(tool.spec for tool in domain.tools),
        agent=config.model.spec,
        user=config.user.spec,
        trials=config.trials,
        max_steps=config.max_steps,
        max_errors=config.max_errors,
        seed=config.seed,
    )
    return results.document(about, tasks, simulations)


def _retold(peer: Tau2Domain, task: Task, trajectory: Trajectory) -> Trajectory:
    """With tau2's own results, which its evaluator wants to see again; as it is where tau2 takes a call otherwise."""
    try:
        return retold(peer, task, trajectory)
    except DataFault:
        return trajectory
