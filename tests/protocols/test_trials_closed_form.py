"""pass^k of an agent with known rates against its closed form, through whole trials."""

from __future__ import annotations

from pathlib import Path

import boats
import msgspec
import pytest

from turngap import models
from turngap.analysis.rollout import summarise
from turngap.config import ModelConfig, RolloutConfig, TaskConfig
from turngap.data.task import Component
from turngap.engines import Quiet
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
