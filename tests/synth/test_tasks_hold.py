"""Tasks from the program's explorations: the reference agent solves them, and agents that go wrong do not."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

import pytest
from synthtasks import drafts, programs, worded
from wrongagents import FirstIntent, Forbidden, NeverAsks

from turngap import users
from turngap.config import ModelConfig
from turngap.data.task import Scenario, Task
from turngap.domains import LiveDomain
from turngap.grading.grader import RewardGrader
from turngap.live import Place, Played, run
from turngap.synth.check import Checker
from turngap.synth.parameter import parameters
from turngap.synth.player import Player
from turngap.synth.validity import require_valid

COUNT = 10


@lru_cache
def _tasks(name: str, wanted: Scenario) -> tuple[LiveDomain, list[Task]]:
    domain, explorations = programs(name, COUNT)
    checker = Checker(domain)
    made = []
    for draft in drafts(domain, explorations, wanted):
        task = worded(draft, domain)
        require_valid(task, draft, domain, checker)
        made.append(task)
    return domain, made


def _reward(agent: Any, domain: LiveDomain, task: Task) -> float:
    place = Place(
        domain=domain, simulator=users.build(ModelConfig(spec="scripted")), max_steps=60, max_errors=20, seed=0
    )

    async def play() -> float:
        played = await run(agent, place, task, 0)
        assert isinstance(played, Played), played
        return (await RewardGrader().grade(task, domain, played.trajectory, played.world)).value

    return asyncio.run(play())


@pytest.mark.parametrize("wanted", list(Scenario))
def test_the_reference_agent_solves_every_task(wanted: Scenario) -> None:
    """With the scripted user, and without a lapse of either; every draft of these gives a valid task."""
    domain, tasks = _tasks("retail", wanted)
    player = Player(domain)
    for task in tasks:
        asyncio.run(player.play(task))
    assert len(tasks) >= 3


@pytest.mark.parametrize("wanted", [Scenario.CHANGING, Scenario.INFEASIBLE, Scenario.AMBIGUOUS])
def test_a_wrong_agent_solves_none(wanted: Scenario) -> None:
    """Deaf to the change, doing what is forbidden, guessing what it should ask for."""
    domain, tasks = _tasks("retail", wanted)
    choices = {(tool.name, one.name): one.choices for tool in domain.tools for one in parameters(tool.spec)}
    agents = {
        Scenario.CHANGING: FirstIntent(),
        Scenario.INFEASIBLE: Forbidden(),
        Scenario.AMBIGUOUS: NeverAsks({key: value for key, value in choices.items() if value}),
    }
    assert tasks
    assert [_reward(agents[wanted], domain, task) for task in tasks] == [0.0] * len(tasks)


@pytest.mark.parametrize("wanted", list(Scenario))
def test_openings_are_varied(wanted: Scenario) -> None:
    """No two tasks begin with the same words."""
    _, tasks = _tasks("retail", wanted)
    openings = [task.intent.opening for task in tasks if task.intent is not None]
    assert len(set(openings)) == len(openings)
