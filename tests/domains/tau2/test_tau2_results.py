"""tau2's results files, written and read."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from turngap.data import (
    Acted,
    AssistantMessage,
    Spoken,
    Task,
    Termination,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from turngap.data.reward import Grade, Reward
from turngap.data.task import Component, Criteria
from turngap.domains.tau2 import results
from turngap.domains.tau2.results import About
from turngap.errors import DataError
from turngap.formats import tasks as task_files

_RAW = {"id": "t1", "user_scenario": {"instructions": "Finish my task."}, "evaluation_criteria": {"actions": []}}
_TASK = Task(id="t1", raw=_RAW, criteria=Criteria(reward_basis=(Component.DB, Component.CONSTRAINT)))
_ABOUT = About(domain="mock", policy="Be kind.", agent="scripted", user="scripted", trials=2, max_steps=30, seed=7)


def _trajectory(ending: Termination = Termination.USER_STOP, trial: int = 1) -> Trajectory:
    call = ToolCall(name="update_task_status", arguments={"task_id": "task_1", "status": "completed"})
    return Trajectory(
        conversation="t1",
        events=(
            Spoken(message=UserMessage(content="Finish it.")),
            Acted(message=AssistantMessage(calls=(call,)), results=(ToolMessage(name=call.name, content="{}"),)),
            Acted(message=AssistantMessage(content="Done.")),
            Spoken(message=UserMessage(content="Thank you.")),
        ),
        completed=True,
        steps=2,
        seconds=1.5,
        metadata={"task": "t1", "trial": trial, "seed": 11, "termination": ending.value, "user_usage": {"cost": 0.25}},
    )


def _document(**changed: Any) -> dict[str, Any]:
    one = results.simulation(_TASK, _trajectory(), **changed)
    return results.document(_ABOUT, [_TASK], [one])


def test_a_trial_comes_back_as_it_was(tmp_path: Path) -> None:
    """Events, ids, seed, ending and reward of a trial survive the file; the tasks are as the task file has them."""
    path = tmp_path / "results.json"
    results.write(path, _document(reward=Reward(value=1.0)))
    found = results.read(path)
    (trial,) = found.trials
    assert (found.domain, found.tasks) == ("mock", (_RAW,))
    assert (trial.task, trial.number, trial.seed, trial.ending, trial.reward) == ("t1", 1, 11, "user_stop", 1.0)
    assert [event.message for event in trial.trajectory.events] == [event.message for event in _trajectory().events]
    assert (trial.trajectory.steps, trial.trajectory.seconds) == (2, 1.5)
    assert trial.trajectory.metadata["termination"] == "user_stop"
    assert task_files.read(path).tasks[0].id == "t1"


@pytest.mark.parametrize("ending", list(Termination))
def test_every_ending_has_tau2s_word(ending: Termination) -> None:
    """Each way a trial can end is one of tau2's, and only what a person ended is a stop."""
    word = results.ending(_trajectory(ending))
    stops = {Termination.USER_STOP, Termination.TRANSFER, Termination.OUT_OF_SCOPE}
    assert (word == "user_stop") == (ending in stops)
    assert word in {"user_stop", "max_steps", "too_many_errors", "agent_error", "user_error"}


def test_the_figure_in_the_file_is_tau2s_where_there_is_one() -> None:
    """tau2's tools read tau2's reward; turngap's and its components stand beside it."""
    components = {
        "DB": Grade(value=1.0, counted=True),
        "CONSTRAINT": Grade(value=0.0, counted=True, detail="forbidden"),
    }
    own = _document(reward=Reward(value=0.0, components=components))["simulations"][0]["reward_info"]
    assert (own["reward"], own["reward_basis"], own["reward_breakdown"]) == (0.0, ["DB"], {"DB": 1.0})
    theirs = {"reward": 1.0, "info": {"env": None}}
    both = _document(reward=Reward(value=0.0, components=components, tau2=theirs))["simulations"][0]["reward_info"]
    assert both["reward"] == 1.0
    assert both["info"]["turngap"]["reward"] == 0.0
    assert both["info"]["turngap"]["components"]["CONSTRAINT"]["detail"] == "forbidden"
    assert _document()["simulations"][0]["reward_info"] is None


def test_the_same_trial_is_written_alike() -> None:
    """Nothing in the file comes from a clock or from chance; times are there when the run's are given."""
    assert _document() == _document()
    began = dt.datetime(2031, 5, 1, 9, 0, tzinfo=dt.UTC).isoformat()
    one = _document(began=began)["simulations"][0]
    assert (one["start_time"], one["end_time"]) == ("2031-05-01T09:00:00+00:00", "2031-05-01T09:00:01.500000+00:00")
    assert one["user_cost"] == 0.25


def test_a_history_stands_before_the_trajectory() -> None:
    """What was said before the episode is the beginning of the messages, word for word, as tau2 has it."""
    history = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}]
    task = Task(id="t1", raw=_RAW, initial_state={"message_history": history})
    messages = results.simulation(task, _trajectory())["messages"]
    assert messages[:2] == history
    assert [one["turn_idx"] for one in messages[2:]] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "no results file of tau2"),
        ('{"simulations": 3}', "no results file of tau2"),
        (
            '{"simulations": [{"task_id": "1", "termination_reason": "x", "messages": [{"role": "tool"}]}]}',
            "without a call",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: str, problem: str) -> None:
    """A file that is no results file, or a simulation that makes no sense, is an error that says where."""
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(DataError, match=problem) as caught:
        results.read(path)
    assert str(path) in str(caught.value)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    """Writing where nothing can be written says so."""
    with pytest.raises(DataError, match="cannot be written"):
        results.write(tmp_path / "no" / "results.json", _document())


def test_the_file_is_read_by_people(tmp_path: Path) -> None:
    """It is indented JSON in UTF-8, as tau2's own files are."""
    path = tmp_path / "results.json"
    results.write(path, _document())
    assert json.loads(path.read_text(encoding="utf-8"))["info"]["agent_info"]["llm"] == "scripted"
    assert path.read_text().startswith('{\n  "timestamp"')
