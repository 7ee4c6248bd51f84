"""Users that say what was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from talk import play, said

from turngap import formats
from turngap.config import DataConfig, ModelConfig
from turngap.data import AssistantMessage, Conversation, Task, Termination, UserMessage
from turngap.errors import DataError
from turngap.models import ModelContext
from turngap.users import Part, build
from turngap.users.recorded import RecordedSimulator


def run(task: str, *texts: str) -> Conversation:
    """A recorded run of a task: user and agent take turns."""
    sides = (UserMessage, AssistantMessage)
    messages = tuple(sides[index % 2](content=text) for index, text in enumerate(texts))
    return Conversation(id=f"run-{task}", messages=messages, metadata={"task_id": task})


async def test_a_recorded_user_says_its_turns_and_leaves_at_the_mark() -> None:
    """Whatever the agent does; the mark of the end ends the trial."""
    simulator = RecordedSimulator([run("7", "Hi.", "Hello.", "Bye. ###STOP###", "Bye.")])
    task = Task(id="7")
    user = simulator.user(Part(task=task))
    trajectory, _ = await play(["One.", "Two.", "Three."], user, task)
    assert said(trajectory) == ["Hi.", "Bye. ###STOP###"]
    assert user.left is Termination.USER_STOP
    assert await user.speak([]) is None


async def test_trials_take_the_recorded_runs_in_turn() -> None:
    """Trial 0 the first, trial 1 the second, and round again."""
    simulator = RecordedSimulator([run("7", "First."), run("7", "Second.")])
    for trial, words in enumerate(("First.", "Second.", "First.")):
        assert await simulator.user(Part(task=Task(id="7"), trial=trial)).speak([]) == (UserMessage(content=words),)


def test_what_was_not_recorded_cannot_be_played() -> None:
    """A task without a recorded run, and recordings that name no task, are errors that say so."""
    simulator = RecordedSimulator([run("7", "Hi.")], label="recorded/a.json")
    with pytest.raises(DataError, match=r"a\.json: no recorded run of task '8'"):
        simulator.user(Part(task=Task(id="8")))
    with pytest.raises(DataError, match="no recorded run names its task"):
        RecordedSimulator([msgspec.structs.replace(run("7", "Hi."), metadata={})])


async def test_recordings_are_read_from_a_file(tmp_path: Path) -> None:
    """``recorded/FILE`` reads any known format; what is said is its identity."""
    simulation = {
        "id": "s",
        "task_id": "7",
        "termination_reason": "user_stop",
        "messages": [{"role": "user", "content": "Move it."}, {"role": "assistant", "content": "Done."}],
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"info": {}, "tasks": [], "simulations": [simulation]}), encoding="utf-8")
    context = ModelContext(load=lambda file: formats.read(DataConfig(paths=(str(file),))))
    simulator = build(ModelConfig(spec=f"recorded/{path}"), context)
    assert await simulator.user(Part(task=Task(id="7"))).speak([]) == (UserMessage(content="Move it."),)
    assert simulator.identity() == RecordedSimulator([run("7", "Move it.", "Done.")]).identity()
