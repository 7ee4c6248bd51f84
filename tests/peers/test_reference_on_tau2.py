"""The reference baseline on tau2's retail tasks, and our rewards beside tau2's own and those of recorded runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tau2peer import absent

from turngap import domains, live
from turngap.config import ModelConfig
from turngap.data import (
    Acted,
    Action,
    AssistantMessage,
    Event,
    Failure,
    Spoken,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    UserMessage,
)
from turngap.data.reward import Reward
from turngap.data.task import Criteria, Instructions
from turngap.domains.live import LiveDomain
from turngap.domains.tau2.domain import Tau2Domain
from turngap.formats import tasks as task_files
from turngap.grading.grader import RewardGrader
from turngap.live import Place, Played
from turngap.models import build
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
            played: Played | Failure = await live.run(model, place, task, 0)
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


def test_recorded_airline_runs_get_their_rewards_and_every_failure_a_symptom(shared: Path) -> None:
    """All 100 recorded tau-bench runs are graded as they were, and no failed one is without a symptom."""
    domain = domains.build("tau2:airline")
    records = json.loads((shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json").read_text(encoding="utf-8"))
    rewards = [_recorded(domain, record) for record in records]
    assert [reward.value for reward in rewards] == [record["reward"] for record in records]
    assert sum(reward.value < 1 for reward in rewards) == 69
    assert all(reward.symptoms for reward in rewards if reward.value < 1)


def _recorded(domain: LiveDomain, record: dict[str, Any]) -> Reward:
    """Make the calls of a recorded run again, and grade it. Only the first call of a message was ever run."""
    world = domain.world()
    events: list[Event] = []
    for message in record["traj"]:
        if message["role"] == "user":
            events.append(Spoken(message=UserMessage(content=message["content"])))
        elif message["role"] == "assistant":
            functions = [call["function"] for call in message.get("tool_calls") or ()][:1]
            calls = tuple(ToolCall(name=one["name"], arguments=json.loads(one["arguments"])) for one in functions)
            said = AssistantMessage(content=message.get("content") or "", calls=calls)
            events.append(Acted(message=said, results=tuple(map(world.call, calls))))
    told = record["info"]["task"]
    task = Task(
        id=str(record["task_id"]),
        instructions=Instructions(reason=told["instruction"]),
        criteria=Criteria(
            actions=tuple(Action(name=one["name"], arguments=one["kwargs"]) for one in told["actions"]),
            communicate=tuple(told.get("outputs") or ()),
        ),
    )
    finished = record["info"]["reward_info"] is not None
    ending = Termination.USER_STOP if finished else Termination.STEP_LIMIT
    trajectory = Trajectory(conversation=task.id, events=tuple(events), metadata={"termination": ending.value})
    return asyncio.run(RewardGrader().grade(task, domain, trajectory, world))
