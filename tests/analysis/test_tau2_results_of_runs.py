"""A run of trials in a domain of tau2, written for tau2, loaded by tau2, and scored by tau2 as it was in the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tau2peer import absent
from typer.testing import CliRunner

from turngap import domains, jsonio
from turngap.cli.main import app
from turngap.config import ModelConfig, RolloutConfig, TaskConfig
from turngap.data import AssistantMessage, Failure, Task, ToolCall, ToolMessage, Trajectory
from turngap.data.reward import Reward
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import package
from turngap.domains.tau2.verdict import judged, verdict
from turngap.engines import Quiet
from turngap.errors import StoreError, UsageError
from turngap.formats import tasks as task_files
from turngap.live import rebuild
from turngap.models import Request
from turngap.models.scripted import Answer, ScriptedModel
from turngap.protocols.taskset import chosen
from turngap.protocols.trials import Cast, perform
from turngap.runs.store import RunStore
from turngap.users.scripted import ScriptedSimulator

_ABSENT = absent()
pytestmark = pytest.mark.skipif(bool(_ABSENT), reason=_ABSENT or "")


class _Tau2Grader:
    """Gives what tau2's evaluator gives."""

    def identity(self) -> dict[str, Any]:
        return {"kind": "tau2"}

    async def grade(self, task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld) -> Reward:
        assert isinstance(domain, Tau2Domain)
        found = verdict(domain, task, trajectory)
        return Reward(value=found["reward"], tau2=found)


def _agent(request: Request) -> Answer:
    """Makes the task that is asked for in one of two conversations, with a malformed and an unknown call on the way."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return "It is there. Is there anything else?"
    if "Goodbye" in last.content or len(request.messages) > 4:
        return "Goodbye."
    made = ToolCall(name="create_task", arguments={"user_id": "user_1", "title": "Important Meeting"})
    wrong = ToolCall(name="cancel_everything", arguments={})
    malformed = ToolCall(name="create_task", arguments=None, raw="{", error="the JSON ends too early")
    return AssistantMessage(calls=(malformed, wrong, made) if request.seat.trial == 0 else (wrong,))


async def _played(tmp_path: Path) -> Path:
    raw = {
        "id": "create",
        "user_scenario": {"instructions": "Have a task created for user_1, titled Important Meeting."},
        "evaluation_criteria": {
            "actions": [
                {
                    "action_id": "1",
                    "name": "create_task",
                    "arguments": {"user_id": "user_1", "title": "Important Meeting"},
                }
            ],
            "reward_basis": ["DB"],
        },
    }
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([raw]))
    config = RolloutConfig(
        domain="tau2:mock", tasks=TaskConfig(path=str(path)), model=ModelConfig(spec="scripted/x"), trials=2
    )
    domain = domains.build(config.domain)
    cast = Cast(model=ScriptedModel(_agent), domain=domain, simulator=ScriptedSimulator(), grader=_Tau2Grader())
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_tasks(task_files.read(path).tasks)
        await perform(store, cast, Quiet())
        for trial in store.trials.of("create"):
            assert not isinstance(trial.result, Failure), trial.result
            world = await rebuild(domain, store.trials.task("create"), trial.result)
            assert world.digest() == trial.result.metadata["digest"]
    return tmp_path / "run"


async def test_tau2_reads_and_scores_our_runs(tmp_path: Path) -> None:
    """tau2 loads what a run writes, and its evaluator says of each trial what it said in the run."""
    run, out = await _played(tmp_path), tmp_path / "results.json"
    done = CliRunner().invoke(app, ["convert", str(run), str(out), "--to", "tau2"])
    assert done.exit_code == 0, done.output
    loaded = package().results.load(out)
    assert [(one.trial, one.termination_reason.value) for one in loaded.simulations] == [
        (0, "user_stop"),
        (1, "user_stop"),
    ]
    assert [one.reward_info.reward for one in loaded.simulations] == [1.0, 0.0]
    assert loaded.info.environment_info.tool_defs["create_task"].params["required"] == ["user_id", "title"]
    domain = domains.build("tau2:mock")
    assert isinstance(domain, Tau2Domain)
    document = jsonio.loads(out.read_bytes())
    for one in document["simulations"]:
        again = judged(domain, document["tasks"][0], one)
        assert {key: one["reward_info"][key] for key in again if key != "info"} == {
            key: value for key, value in again.items() if key != "info"
        }


def test_only_runs_of_trials_can_be_written(tmp_path: Path) -> None:
    """A folder that is no run is named."""
    done = CliRunner().invoke(app, ["convert", str(tmp_path), str(tmp_path / "o.json"), "--to", "tau2"])
    assert isinstance(done.exception, StoreError)


def test_a_task_file_of_the_package_is_named_by_its_domain() -> None:
    """``tau2:airline`` stands for the file that the package holds, splits included; scores name it by its content."""
    file, tasks = chosen(TaskConfig(path="tau2:airline", limit=3))
    assert (len(file.tasks), len(tasks)) == (50, 3)
    assert file.digest == task_files.read(package().task_file("airline")).digest
    assert len(file.splits["base"]) == 50
    with pytest.raises(UsageError, match="has no split"):
        chosen(TaskConfig(path="tau2:airline", split="none"))


def test_task_files_of_two_versions_have_two_names(shared: Path) -> None:
    """The package's airline and retail tasks are not those of tau2's head, and their digests say so."""
    for name in ("airline", "retail"):
        head = task_files.read(shared / "tau2-head" / f"{name}-tasks.json")
        packed = task_files.read(package().task_file(name))
        assert head.name != packed.name
        assert len(head.tasks) == len(packed.tasks)
        for task in (*head.tasks, *packed.tasks):
            package().task.model_validate(task.raw)
