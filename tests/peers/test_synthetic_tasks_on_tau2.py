"""Synthesised tasks in tau2's own code: its evaluator, on its retail tools over the same database, says what ours says."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from madeshop import made_shop
from synthproof import both_count, our_verdict, performed, tau2_twin, trials
from tau2peer import absent

from turngap import domains
from turngap.config import SynthConfig
from turngap.data import Task
from turngap.data.task import Component, Scenario
from turngap.domains import LiveDomain
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.verdict import verdict
from turngap.engines.base import Quiet
from turngap.formats import tasks as task_files
from turngap.synth.export import TASKS, export
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore

_ABSENT = absent()
pytestmark = pytest.mark.skipif(bool(_ABSENT), reason=_ABSENT or "")
Made = tuple[LiveDomain, Tau2Domain, tuple[Task, ...]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Tasks of a made-up shop as they are read from their file, the shop, and tau2's retail over its database."""
    folder = tmp_path_factory.mktemp("synthetic")
    shop = made_shop(folder)
    asyncio.run(synthesise(SynthConfig(domain=shop, explorations=12), folder / "s", Quiet()))
    with SynthStore.open(folder / "s") as store:
        export(store)
    tables = json.loads((folder / "shop5.json").read_bytes())
    return domains.build(shop), tau2_twin("retail-made-up", tables), task_files.read(folder / "s" / TASKS).tasks


def test_both_say_the_same_of_references_and_of_spoilt_trials(made: Made) -> None:
    """The reference is rewarded; with a write dropped, an argument changed, a write too many, a fact not said it is not."""
    ours, theirs, tasks = made
    seen: Counter[tuple[Scenario, str]] = Counter()
    for task in tasks:
        for trial in trials(ours, task):
            expected = float(not trial.fault)
            told = verdict(theirs, task, performed(theirs, task, trial).trajectory)
            assert our_verdict(ours, task, trial) == expected, (task.id, trial.fault)
            assert told["reward"] == expected, (task.id, trial.fault, told)
            seen[task.scenario, trial.fault] += 1
    assert {scenario for scenario, _ in seen} == set(Scenario)
    for fault in ("", "write dropped", "argument changed", "extra write", "fact not said"):
        assert sum(count for (_, name), count in seen.items() if name == fault) >= 3, fault
    assert seen[Scenario.INFEASIBLE, "extra write"] >= 3


def test_what_tau2_cannot_see_is_the_constraint_alone(made: Made) -> None:
    """Infeasible tasks are compared on what both know; to tau2 nothing else of a task is missing."""
    _, theirs, tasks = made
    del theirs
    for task in tasks:
        left = set(task.criteria.reward_basis) - set(both_count(task))
        assert left == ({Component.CONSTRAINT} if task.scenario is Scenario.INFEASIBLE else set())
        basis: Any = task.raw["evaluation_criteria"]["reward_basis"]
        assert basis == [component.value for component in both_count(task)]
