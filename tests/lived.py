"""Runs of live trials for the tests of reports: played at the boat-hire desk, or made up trial by trial."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boats
import msgspec

from turngap.config import AuditConfig, ModelConfig, RolloutConfig, TaskConfig
from turngap.data import Acted, AssistantMessage, Cause, Score, Spoken, ToolCall, ToolMessage, Trajectory, UserMessage
from turngap.data.reward import Grade, Reward
from turngap.data.task import Action, Criteria, Instructions, Task
from turngap.engines import Quiet
from turngap.formats import tasks as task_files
from turngap.protocols.evaluate import Services
from turngap.protocols.trials import roll_out
from turngap.runs.store import RunStore


def played(directory: Path, tasks: Sequence[Task], model: str, **settings: Any) -> Path:
    """Let a baseline serve users at the desk; the run directory."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    path = directory.parent / f"{directory.name}-tasks.json"
    task_files.write(path, list(tasks))
    config = RolloutConfig(
        domain=str(Path(boats.__file__)),
        tasks=TaskConfig(path=str(path)),
        model=ModelConfig(spec=model),
        **settings,
    )
    with ThreadPoolExecutor(1) as thread:  # a browser that is open occupies this thread's event loop
        thread.submit(lambda: asyncio.run(roll_out(config, directory, Services(progress=Quiet())))).result()
    return directory


WORDS = ("Please move BK-1.", "Shall I?", "Yes.", "Done.")
"""What user and agent say in a made-up trial, with a call between the last two."""


def course(*words: str, **metadata: Any) -> Trajectory:
    """A trial of six events: user, agent, user, a call of the agent, agent, user."""
    opening, question, yes, last = words or WORDS
    call = ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-05-03"})
    events = (
        Spoken(message=UserMessage(content=opening)),
        Acted(message=AssistantMessage(content=question)),
        Spoken(message=UserMessage(content=yes)),
        Acted(message=AssistantMessage(calls=(call,)), results=(ToolMessage(name="move_booking", content="ok"),)),
        Acted(message=AssistantMessage(content=last)),
        Spoken(message=UserMessage(content="###STOP###")),
    )
    return Trajectory(conversation="t", events=events, steps=3, metadata={"termination": "user_stop", **metadata})


def reward(value: float = 0.0, **parts: Any) -> Reward:
    """A reward with one component, `DB`, of the same value, and whatever else."""
    grades = {"DB": Grade(value=value, counted=True, detail="" if value else "bookings[BK-1].date differs")}
    return msgspec.structs.replace(Reward(value=value, components=grades), **parts)


def made_up(
    directory: Path,
    trials: Mapping[str, Sequence[tuple[Reward, Cause | None]]],
    *,
    trajectory: Trajectory | None = None,
    instructions: str = "You want to move BK-1.",
    audit: AuditConfig | None = None,
    model: str = "openai/pelican",
) -> RunStore:
    """An open, finished run: task -> what each trial was worth, and its cause; the user's faults have theirs as detail."""
    config = RolloutConfig(
        domain="boats",
        tasks=TaskConfig(path="folder/tasks.json"),
        model=ModelConfig(spec=model),
        trials=max(map(len, trials.values())),
        audit=audit,
    )
    store = RunStore.create(directory, config)
    action = Action(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-05-02"})
    store.add_tasks(
        [
            Task(
                id=name,
                instructions=Instructions(reason=instructions),
                criteria=Criteria(actions=(action,), communicate=("2031-05-02",)),
            )
            for name in trials
        ]
    )
    scores = []
    for name, results in trials.items():
        for trial, (worth, cause) in enumerate(results):
            store.trials.put(name, trial, trajectory or course())
            store.trials.put_reward(name, trial, worth, "key")
            values = {"reward": worth.value, **({} if worth.tau2 is None else {"tau2.reward": worth.tau2["reward"]})}
            scores.append(
                Score(
                    protocol="rollout",
                    conversation=name,
                    decision=trial,
                    kind="general",
                    success=cause is None,
                    cause=cause,
                    values={**values, "steps": 3.0, "seconds": 1.5, "tokens": 100.0, "cost": 0.01},
                    category="user_stop",
                    detail="repeats_itself in turn 2: SAID AGAIN" if cause is Cause.USER else worth.detail,
                )
            )
    store.replace_scores("reward", scores)
    store.set_note("state", "finished")
    return store
