"""The reference baseline with the scripted user on tau2's retail tasks, and our rewards beside tau2's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from tau2peer import absent

from turngap import domains
from turngap.config import ModelConfig
from turngap.data import Failure, Task
from turngap.data.reward import Reward
from turngap.domains.live import LiveDomain
from turngap.domains.tau2.domain import Tau2Domain
from turngap.formats import tasks as task_files
from turngap.grading.grader import RewardGrader
from turngap.models import build
from turngap.protocols import rollout
from turngap.protocols.rollout import Place, Played
from turngap.users.scripted import ScriptedSimulator

_ABSENT = absent()
pytestmark = pytest.mark.skipif(bool(_ABSENT), reason=_ABSENT or "")


def _retail() -> Tau2Domain:
    found = domains.build("tau2:retail")
    assert isinstance(found, Tau2Domain)
    return found


def _tasks(domain: Tau2Domain) -> tuple[Task, ...]:
    # Sentences do not count in these tasks, and only a model could judge them.
    found = task_files.read(domain.task_file).tasks
    return tuple(
        msgspec.structs.replace(task, criteria=msgspec.structs.replace(task.criteria, nl_assertions=()))
        for task in found
    )


def _graded(domain: LiveDomain, tasks: Sequence[Task], spec: str) -> list[Reward]:
    model, grader = build(ModelConfig(spec=spec)), RewardGrader()
    place = Place(domain=domain, simulator=ScriptedSimulator(), max_steps=100, max_errors=10, seed=0)

    async def work() -> list[Reward]:
        found = []
        for task in tasks:
            played: Played | Failure = await rollout.run(model, place, task, 0)
            assert isinstance(played, Played), played
            found.append(await grader.grade(task, domain, played.trajectory, played.world))
        return found

    return asyncio.run(work())


def test_the_reference_gets_every_retail_task_in_our_retail() -> None:
    """On tau2's database and 114 tasks: all of them, though 18 have a reference action that the domain refuses."""
    tau2 = _retail()
    tasks = _tasks(tau2)
    ours = domains.build(f"retail?db={tau2.task_file.parent / 'db.json'}")
    rewards = _graded(ours, tasks, "baseline/reference")
    assert len(rewards) == 114
    assert [task.id for task, reward in zip(tasks, rewards, strict=True) if reward.value != 1] == []
    assert all(reward.symptoms == () for reward in rewards)
    refused = 0
    for task in tasks:
        world = ours.world()
        refused += bool([action for action in task.criteria.actions if world.call(action.call()).error])
    assert refused == 18


def test_rewards_are_tau2s_own() -> None:
    """On tau2:retail the first tasks, done right, with gaps, and handed over: our reward and tau2's are the same."""
    domain = _retail()
    tasks = _tasks(domain)[:4]
    for spec, least, most in (
        ("baseline/reference", 4, 4),
        ("baseline/noisy?p_tool=0.5&seed=2", 0, 3),
        ("baseline/transfer", 0, 0),
    ):
        rewards = _graded(domain, tasks, spec)
        assert [reward.value for reward in rewards] == [reward.tau2 and reward.tau2["reward"] for reward in rewards]
        assert least <= sum(reward.value for reward in rewards) <= most
