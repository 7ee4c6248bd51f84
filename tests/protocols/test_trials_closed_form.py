"""pass^k of an agent with known rates against its closed form, through whole trials."""

from __future__ import annotations

from pathlib import Path

import boats
import msgspec
import pytest

from turngap import models
from turngap.analysis.rollout import summarise
from turngap.config import ModelConfig, RolloutConfig, TaskConfig
from turngap.data.task import Action, Component, Criteria, Task
from turngap.engines import Quiet
from turngap.grading.grader import RewardGrader
from turngap.protocols.trials import Cast, perform
from turngap.runs.store import RunStore
from turngap.users.scripted import ScriptedSimulator

_TASKS, _TRIALS = 60, 6


@pytest.mark.parametrize(("p_tool", "seed"), [(0.5, 0), (0.8, 1), (0.95, 2)])
async def test_pass_hat_k_of_independent_trials_is_a_power(tmp_path: Path, p_tool: float, seed: int) -> None:
    """One change that goes wrong with probability 1 - p, independently in every trial: pass^k is p^k."""
    config = RolloutConfig(
        domain="boats",
        tasks=TaskConfig(path="tasks.json"),
        model=ModelConfig(spec=f"baseline/noisy?p_tool={p_tool}&seed={seed}"),
        trials=_TRIALS,
    )
    task = boats.task(1)
    only_db = msgspec.structs.replace(task.criteria, communicate=(), reward_basis=(Component.DB,))
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_tasks([msgspec.structs.replace(task, id=f"t{at}", criteria=only_db) for at in range(_TASKS)])
        cast = Cast(
            model=models.build(config.model),
            domain=boats.DOMAIN,
            simulator=ScriptedSimulator(),
            grader=boats.DateGrader(),
        )
        await perform(store, cast, Quiet())
        summary = summarise(store)
    assert summary.n["valid"] == _TASKS * _TRIALS
    for k in range(1, _TRIALS + 1):
        figure = summary.metrics[f"pass^{k}"]
        assert figure.value is not None and figure.ci95 is not None
        # Four standard errors of a mean of values in [0, 1] over so many tasks, which a right estimator stays within.
        assert abs(figure.value - p_tool**k) < 4 * (p_tool**k * (1 - p_tool**k) / _TASKS) ** 0.5
    assert summary.metrics["pass^1"].ci95 is not None
    low, high = summary.metrics["pass^1"].ci95
    assert low - 0.05 < p_tool < high + 0.05


_FACT = "RC-7731"
"""Nobody says it on the way."""


def _wanting(changes: int, facts: int) -> Task:
    """A task of so many changes and facts."""
    moves = tuple(
        Action(name="move_booking", arguments={"booking_id": f"BK-{number + 1}", "date": "2031-05-02"})
        for number in range(changes)
    )
    criteria = Criteria(actions=moves, communicate=(_FACT,) * facts)
    return msgspec.structs.replace(boats.task(1), id=f"{changes}-{facts}", criteria=criteria)


@pytest.mark.parametrize(("p_tool", "p_text", "seed"), [(0.8, 0.7, 0), (0.6, 0.9, 1)])
async def test_pass_hat_k_is_the_mean_over_tasks_of_different_weight(
    tmp_path: Path, p_tool: float, p_text: float, seed: int
) -> None:
    """A task of w changes and f facts is passed with p_tool^w p_text^f; pass^k is the mean of its k-th power."""
    config = RolloutConfig(
        domain="boats",
        tasks=TaskConfig(path="tasks.json"),
        model=ModelConfig(spec=f"baseline/noisy?p_tool={p_tool}&p_text={p_text}&seed={seed}"),
        trials=_TRIALS,
    )
    weights = [(1, 0), (2, 0), (0, 1), (2, 1)]
    tasks = [
        msgspec.structs.replace(_wanting(*weight), id=f"{weight}-{at}")
        for weight in weights
        for at in range(_TASKS // len(weights))
    ]
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_tasks(tasks)
        cast = Cast(
            model=models.build(config.model), domain=boats.DOMAIN, simulator=ScriptedSimulator(), grader=RewardGrader()
        )
        await perform(store, cast, Quiet())
        summary = summarise(store)
    assert summary.n["valid"] == len(tasks) * _TRIALS
    chances = [p_tool**changes * p_text**facts for changes, facts in weights]
    for k in range(1, _TRIALS + 1):
        value = summary.metrics[f"pass^{k}"].value
        wanted = [chance**k for chance in chances]
        # Four standard errors; those of a task are no larger than if it had a single choice of k trials.
        spread = sum(one * (1 - one) for one in wanted) / len(wanted) / len(tasks)
        assert value == pytest.approx(sum(wanted) / len(wanted), abs=4 * spread**0.5)
    for reward, component, chance in (("reward.db", 0, p_tool), ("reward.communicate", 1, p_text)):
        # A database to end with every task has; facts to tell, those alone that ask for them.
        powers = [chance ** weight[component] for weight in weights if component == 0 or weight[component]]
        assert summary.metrics[reward].value == pytest.approx(sum(powers) / len(powers), abs=0.1)
