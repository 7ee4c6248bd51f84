"""Protocol `rollout`: what one trial of a live task counts for.

What is measured is the reward that the grader gives for the finished trial (`turngap.live`). A trial in which the user
failed keeps its trajectory and its reward for the reader, but its cause is the user, so that it counts neither for nor
against the agent. One whose model, judge or domain failed has no trajectory or no reward, and counts as errored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from turngap.data import Acted, Cause, Failure, Finish, Score, Task, Termination, Trajectory, Usage
from turngap.data.reward import Reward
from turngap.live import termination
from turngap.metrics.passk import succeeded
from turngap.protocols.unit import blame
from turngap.runs.trials import AUDIT, MAIN, Player

SCORERS: dict[Player, str] = {MAIN: "reward", AUDIT: "audit"}
"""Who played the user -> the scorer of these trials."""
_MOST_DETAIL = 500  # characters of a score's detail


def score(
    task: Task,
    trial: int,
    result: Trajectory | Failure,
    reward: Reward | Failure,
    lapses: Sequence[str],
) -> Score:
    """Score one trial.

    Args:
        task: the task.
        trial: its number.
        result: what happened, or why nothing is known.
        reward: what it is worth, or why nobody knows.
        lapses: what the user did wrong and did not mend, one line each.
    """
    if isinstance(result, Failure):
        return _unscored(task, trial, result)
    if isinstance(reward, Failure):
        return _unscored(task, trial, reward)
    ending = termination(result)
    failed = ending is Termination.USER_ERROR or bool(lapses)
    success = succeeded(reward.value) and not failed
    if failed:
        cause: Cause | None = Cause.USER
        detail = "; ".join(lapses) or str(result.metadata.get("user_fault", {}).get("detail", ""))
    else:
        cause = None if success else _cause(result)
        detail = reward.detail or (result.problems[0].detail if result.problems else "")
    return Score(
        protocol="rollout",
        conversation=task.id,
        decision=trial,
        kind=task.scenario.value,
        success=success,
        cause=cause,
        values={**_worth(reward), **_costs(result)},
        category=ending.value,
        detail=_cut(detail, _MOST_DETAIL),
    )


def _unscored(task: Task, trial: int, failure: Failure) -> Score:
    return Score(
        protocol="rollout",
        conversation=task.id,
        decision=trial,
        kind=task.scenario.value,
        success=False,
        cause=failure.cause,
        category=failure.kind,
        detail=failure.reason,
    )


def _worth(reward: Reward) -> dict[str, float]:
    found = {"reward": reward.value}
    for name, grade in reward.components.items():
        found[f"{'reward' if grade.counted else 'observed'}.{name.lower()}"] = grade.value
    if reward.tau2 is not None:
        found["tau2.reward"] = float(reward.tau2["reward"])
    return found


def _costs(trajectory: Trajectory) -> dict[str, float]:
    usage, user = trajectory.usage, msgspec.convert(trajectory.metadata.get("user_usage", {}), Usage)
    found = {
        "steps": float(trajectory.steps),
        "seconds": trajectory.seconds,
        "tokens": float(usage.prompt_tokens + usage.completion_tokens),
        "user_tokens": float(user.prompt_tokens + user.completion_tokens),
    }
    if trajectory.steps:
        found["answer_seconds"] = trajectory.metadata.get("answer_seconds", 0.0) / trajectory.steps
    costs: Mapping[str, float | None] = {"cost": usage.cost, "user_cost": user.cost}
    return found | {name: cost for name, cost in costs.items() if cost is not None}


def _cause(trajectory: Trajectory) -> Cause:
    """The agent's own: an answer that was cut anywhere, else what is wrong with its last message."""
    acted = [event for event in trajectory.events if isinstance(event, Acted)]
    if any(event.finish is Finish.LENGTH for event in acted):
        return Cause.CUT
    return blame(acted[-1].message, acted[-1].finish) if acted else Cause.WRONG


def _cut(text: str, length: int = 80) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else f"{flat[:length]}..."
