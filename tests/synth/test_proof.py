"""What synthesised tasks promise, on a small shop: every write is needed, what is asked of them is fair."""

from __future__ import annotations

import asyncio

import pytest
from madeshop import made_shop
from synthproof import choices, needless, rewards, writes
from wrongagents import FirstIntent, Forbidden, NeverAsks

from turngap import domains, models
from turngap.config import ModelConfig, SynthConfig
from turngap.data import Task
from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.engines.base import Quiet
from turngap.synth.export import kept
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore

Made = tuple[LiveDomain, tuple[Task, ...]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A shop of 30 customers, and the tasks of twelve explorations."""
    folder = tmp_path_factory.mktemp("proof")
    shop = made_shop(folder)
    asyncio.run(synthesise(SynthConfig(domain=shop, explorations=12, seed=2), folder / "s", Quiet()))
    with SynthStore.open(folder / "s") as store:
        found = [candidate.task for candidate in kept(store, store.config)]
    return domains.build(shop), tuple(task for task in found if task is not None)


def test_without_any_one_write_the_state_is_another(made: Made) -> None:
    """Every write of every reference is necessary."""
    domain, tasks = made
    assert [(task.id, needless(domain, task)) for task in tasks if needless(domain, task)] == []
    assert sum(len(writes(domain, task)) for task in tasks) > len(tasks)


def test_the_reference_solves_what_was_kept_under_other_seeds(made: Made) -> None:
    """`baseline/reference` with a scripted user of another seed than the one by which tasks were kept gets them all."""
    domain, tasks = made
    reference = models.build(ModelConfig(spec="baseline/reference"))
    assert rewards(reference, domain, tasks, seed=9) == [1.0] * len(tasks)


@pytest.mark.parametrize("scenario", [Scenario.CHANGING, Scenario.INFEASIBLE, Scenario.AMBIGUOUS])
def test_a_wrong_agent_gets_none(made: Made, scenario: Scenario) -> None:
    """Not the one that is deaf to a change, nor the one that does what is forbidden, nor the one that never asks."""
    domain, tasks = made
    agents = {
        Scenario.CHANGING: FirstIntent(),
        Scenario.INFEASIBLE: Forbidden(),
        Scenario.AMBIGUOUS: NeverAsks(choices(domain)),
    }
    chosen = [task for task in tasks if task.scenario is scenario]
    assert len(chosen) >= 3
    assert rewards(agents[scenario], domain, chosen) == [0.0] * len(chosen)
