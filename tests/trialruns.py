"""Runs of trials made up from a few words, for the tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from turngap.config import AuditConfig, ModelConfig, RolloutConfig, TaskConfig
from turngap.data import Cause, Failure, Score, Trajectory
from turngap.data.task import Action, Criteria, Scenario, Task
from turngap.runs.store import RunStore

ASKING = Criteria(communicate=("a fact",), actions=(Action(name="move"),))
"""What the tasks of a run are held against unless told otherwise."""
ENDPOINT = Failure(cause=Cause.ENDPOINT, reason="503 after 5 attempts", kind="EndpointError")

Marks = Mapping[str, Sequence[float | str | None]]
"""Task -> what its trials came to: a reward, ``endpoint``, ``user`` (a reward of 0 behind it), or None for no row."""


def score(task: str, trial: int, mark: float | str, *, scenario: str = "general", **values: float) -> Score:
    """The score of one trial."""
    if mark == "endpoint":
        return Score(
            protocol="rollout", conversation=task, decision=trial, kind=scenario, success=False,
            cause=Cause.ENDPOINT, category="EndpointError", detail="503 after 5 attempts",
        )  # fmt: skip
    if mark == "user":
        return Score(
            protocol="rollout", conversation=task, decision=trial, kind=scenario, success=False, cause=Cause.USER,
            values={"reward": 0.0, **values}, category="user_stop", detail="repeats_itself in turn 2",
        )  # fmt: skip
    reward = float(mark)
    success = abs(reward - 1) <= 1e-6
    return Score(
        protocol="rollout", conversation=task, decision=trial, kind=scenario, success=success,
        cause=None if success else Cause.WRONG, values={"reward": reward, **values}, category="user_stop",
    )  # fmt: skip


def trial_run(
    directory: Path,
    marks: Marks,
    *,
    scenarios: Mapping[str, str] | None = None,
    trials: int | None = None,
    audit: Marks | None = None,
    criteria: Mapping[str, Criteria] | None = None,
    model: str = "openai/pelican",
) -> RunStore:
    """An open, finished run with these scores; trials of `marks` that took place have an empty trajectory."""
    scenarios, criteria = scenarios or {}, criteria or {}
    config = RolloutConfig(
        domain="boats",
        tasks=TaskConfig(path="tasks.json"),
        model=ModelConfig(spec=model),
        trials=trials or max(map(len, marks.values())),
        audit=AuditConfig(user=ModelConfig(spec="llm/openai/heron")) if audit else None,
    )
    store = RunStore.create(directory, config)
    store.add_tasks(
        Task(id=task, scenario=Scenario(scenarios.get(task, "general")), criteria=criteria.get(task, ASKING))
        for task in marks
    )
    for scorer, given in (("reward", marks), ("audit", audit or {})):
        rows = [
            score(task, trial, mark, scenario=scenarios.get(task, "general"))
            for task, results in given.items()
            for trial, mark in enumerate(results)
            if mark is not None
        ]
        store.replace_scores(scorer, rows)
        for row in rows:
            if row.decision is not None and scorer == "reward":
                result = ENDPOINT if row.cause is Cause.ENDPOINT else Trajectory(conversation=row.conversation)
                store.trials.put(row.conversation, row.decision, result)
    store.set_note("state", "finished")
    return store
