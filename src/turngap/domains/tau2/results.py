"""tau2's ``results.json``, from the trials of a rollout and back.

What is written loads in tau2 (`Results.load`), its viewer and metrics read it, and its evaluator scores it as it scores
runs of its own. The reward in it is tau2's own figure where there is one; turngap's stands beside it, in
``reward_info.info.turngap``. Nothing here needs tau2 to be installed.

Reading takes results of tau2 too, of any version with ``messages``: what turngap does not know is passed over.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import Task, Termination, ToolSpec, Trajectory
from turngap.data.reward import Reward
from turngap.domains.tau2 import messages
from turngap.domains.tau2.messages import OURS, Told
from turngap.errors import DataError

_ENDINGS = {
    Termination.USER_STOP: "user_stop",
    Termination.TRANSFER: "user_stop",
    Termination.OUT_OF_SCOPE: "user_stop",
    Termination.STEP_LIMIT: "max_steps",
    Termination.ERROR_LIMIT: "too_many_errors",
    Termination.EMPTY_ANSWER: "agent_error",
    Termination.CONTEXT_OVERFLOW: "agent_error",
    Termination.USER_ERROR: "user_error",
}
_COMPONENTS = ("DB", "COMMUNICATE", "ACTION", "ENV_ASSERTION", "NL_ASSERTION")


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What tau2 calls the info of a run."""

    domain: str
    """As tau2 calls it: ``retail``."""
    policy: str
    tools: tuple[ToolSpec, ...] = ()
    agent: str
    """Spec of the model."""
    user: str
    """Spec of the user simulator."""
    trials: int = 1
    max_steps: int = 0
    max_errors: int = 0
    seed: int | None = None
    began: dt.datetime | None = None
    """When the run began; None where it is not known."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One finished trial."""

    task: str
    """Id of the task."""
    number: int
    trajectory: Trajectory
    ending: str
    """``termination_reason``, as tau2 calls it."""
    reward: float | None = None
    """tau2's own figure, else turngap's; None when it has not been graded."""
    seed: int | None = None


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A results file that was read."""

    domain: str
    tasks: tuple[dict[str, Any], ...]
    """As the file has them; `turngap.formats.tasks` reads the same form."""
    trials: tuple[Trial, ...]


# ---- writing


def simulation(task: Task, trajectory: Trajectory, reward: Reward | None = None, began: str = "") -> dict[str, Any]:
    """One trial as a simulation of tau2.

    Args:
        task: its ``message_history`` stands before the trajectory, as tau2 has it.
        trajectory: with the metadata of a rollout (``trial``, ``seed``, ``termination``).
        reward: what it is worth; None when it has not been graded.
        began: an ISO time, or nothing.
    """
    known = trajectory.metadata
    number = int(known.get("trial", 0))
    before = list((task.initial_state or {}).get("message_history") or ())
    return {
        "id": f"{jsonio.digest([task.id, number])[:12]}",
        "task_id": task.id,
        "timestamp": began,
        "start_time": began,
        "end_time": _later(began, trajectory.seconds),
        "duration": trajectory.seconds,
        "termination_reason": ending(trajectory),
        "agent_cost": trajectory.usage.cost,
        "user_cost": (known.get("user_usage") or {}).get("cost"),
        "reward_info": None if reward is None else _reward_info(task, reward),
        "messages": [*before, *messages.written(trajectory.events, len(before))],
        "trial": number,
        "seed": known.get("seed"),
    }


def ending(trajectory: Trajectory) -> str:
    """How a trial ended, in tau2's words. Its evaluator scores only what the user or the agent ended."""
    return _ENDINGS[Termination(trajectory.metadata["termination"])]


def document(about: About, tasks: Iterable[Task], simulations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A whole results file."""
    began = about.began.isoformat() if about.began else None
    return {
        "timestamp": began,
        "info": {
            "git_commit": "unknown",
            "num_trials": about.trials,
            "max_steps": about.max_steps,
            "max_errors": about.max_errors,
            "user_info": {"implementation": f"{OURS} {about.user}"},
            "agent_info": {"implementation": OURS, "llm": about.agent},
            "environment_info": {
                "domain_name": about.domain,
                "policy": about.policy,
                "tool_defs": {tool.name: _signature(tool) for tool in about.tools},
            },
            "seed": about.seed,
        },
        "tasks": [task.raw for task in tasks],
        "simulations": list(simulations),
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a results file; indented, as tau2 writes its own.

    Raises:
        DataError: it cannot be written.
    """
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2))
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", file=str(path)) from None


def _signature(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "doc": tool.description, "params": tool.parameters, "returns": {}}


def _later(began: str, seconds: float) -> str:
    return (dt.datetime.fromisoformat(began) + dt.timedelta(seconds=seconds)).isoformat() if began else ""


def _reward_info(task: Task, reward: Reward) -> dict[str, Any]:
    ours = {"reward": reward.value, "components": msgspec.to_builtins(reward.components)}
    if reward.tau2 is not None and reward.tau2.get("reward") is not None:
        info = reward.tau2.get("info")
        return {**reward.tau2, "info": {**(info if isinstance(info, dict) else {}), OURS: ours}}
    counted = {name: grade.value for name, grade in reward.components.items() if grade.counted and name in _COMPONENTS}
    return {
        "reward": reward.value,
        "reward_basis": [name for name in task.criteria.reward_basis if name in _COMPONENTS],
        "reward_breakdown": counted,
        "info": {OURS: ours},
    }


# ---- reading


class _RewardInfo(msgspec.Struct, frozen=True):
    reward: float | None = None


class _Simulation(msgspec.Struct, frozen=True):
    task_id: str
    termination_reason: str
    messages: tuple[Told, ...]
    trial: int | None = None
    seed: int | None = None
    duration: float = 0.0
    reward_info: _RewardInfo | None = None


class _Environment(msgspec.Struct, frozen=True):
    domain_name: str = ""


class _Info(msgspec.Struct, frozen=True):
    environment_info: _Environment = _Environment()


class _Results(msgspec.Struct, frozen=True):
    simulations: tuple[_Simulation, ...]
    tasks: tuple[dict[str, Any], ...] = ()
    info: _Info = _Info()


def read(path: Path) -> Read:
    """Read a results file, of ours or of tau2.

    Raises:
        DataError: it cannot be read, or a simulation in it makes no sense.
    """
    try:
        value = jsonio.loads(path.read_bytes())
        results = msgspec.convert(value, _Results)
    except (OSError, jsonio.JsonError, msgspec.ValidationError) as error:
        raise DataError(f"is no results file of tau2: {error}", file=str(path)) from None
    domain = results.info.environment_info.domain_name
    trials = []
    for number, one in enumerate(results.simulations):
        try:
            trials.append(_trial(one))
        except ValueError as error:
            raise DataError(str(error), file=str(path), field=f"simulations[{number}].messages") from None
    return Read(domain=domain, tasks=results.tasks, trials=tuple(trials))


def _trial(one: _Simulation) -> Trial:
    events = messages.read(one.messages)
    ended = {theirs: ours for ours, theirs in reversed(_ENDINGS.items())}.get(one.termination_reason)
    known = {"task": one.task_id, "trial": one.trial or 0, "seed": one.seed, "termination": ended}
    return Trial(
        task=one.task_id,
        number=one.trial or 0,
        trajectory=Trajectory(
            conversation=one.task_id,
            events=events,
            completed=ended is Termination.USER_STOP,
            steps=sum(message.role == "assistant" for message in one.messages),
            seconds=one.duration,
            metadata={key: value for key, value in known.items() if value is not None},
        ),
        ending=one.termination_reason,
        reward=one.reward_info.reward if one.reward_info is not None else None,
        seed=one.seed,
    )
