"""A scenario: what somebody wants, how things stand, and how one would see that they got it.

It holds a `Task`, by which user and agent play, and says the same for judges in five parts: objective, initial state,
desired state, what the user knows, expected operations, observable criteria. Of a task with a reference the states are
found by doing the reference actions; a scenario that a model writes brings its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import Action, Scenario, Task, Usage
from turngap.data.asking import answer
from turngap.data.task import Component
from turngap.domains import LiveDomain

_MOST_SHOWN = 1500
"""Characters of one record in the initial state."""
_MOST_CHANGES = 30


class Situation(msgspec.Struct, frozen=True, kw_only=True, tag="situation"):
    """One scenario."""

    id: str
    """Of the task."""
    task: Task
    objective: str
    initial: tuple[str, ...] = ()
    """How things stand, as far as it matters."""
    desired: tuple[str, ...] = ()
    """What should have become of them."""
    knows: tuple[str, ...] = ()
    """What the user can tell."""
    expected: tuple[Action, ...] = ()
    """The operations of the agent; without arguments where the writer left them open."""
    criteria: tuple[str, ...] = ()
    """How success shows."""
    writer: str = "template"
    asks: int = 0
    usage: Usage = Usage()

    def shown(self) -> dict[str, Any]:
        """All of it that judges and readers see."""
        return {
            "kind": self.task.scenario.value,
            "objective": self.objective,
            "initial_state": list(self.initial),
            "desired_state": list(self.desired),
            "customer_knows": list(self.knows),
            "expected_operations": [
                {"tool": action.name, "arguments": action.arguments} if action.arguments else {"tool": action.name}
                for action in self.expected
            ],
            "criteria": list(self.criteria),
        }


class Lost(msgspec.Struct, frozen=True, kw_only=True, tag="lost"):
    """A conversation that was given up before anybody judged it."""

    reason: str
    """One of a few short phrases, so that they can be counted."""
    detail: str = ""
    """This case, for readers."""


def of_task(task: Task, domain: LiveDomain) -> Situation:
    """The scenario of a task with a reference. Actions that the domain refuses are nothing that anybody has to do.

    Raises:
        DataFault: the initial state does not fit the domain. DomainFault: its code failed.
    """
    world = domain.world(0, task.initial_state)
    reads = {tool.name for tool in domain.tools if tool.kind == "read"}
    stands: dict[str, None] = {}
    expected: list[Action] = []
    for action in _due(task):
        result = world.call(action.call(), requestor=action.requestor)
        if result.error:
            continue
        if action.requestor == "assistant":
            expected.append(action)
        if action.name in reads:
            stands[f"{action.name}({jsonio.dumps(action.arguments)}) gives {_cut(result.content)}"] = None
    return Situation(
        id=task.id,
        task=task,
        objective=task.instructions.reason or task.instructions.text(),
        initial=tuple(stands),
        desired=tuple(map(str, world.changes()[:_MOST_CHANGES])) or ("nothing is changed",),
        knows=tuple(_known(task)),
        expected=tuple(expected),
        criteria=tuple(_criteria(task)),
    )


def _due(task: Task) -> Iterator[Action]:
    """The reference actions, and what is required besides."""
    done = [(action.name, action.arguments) for action in task.criteria.actions]
    yield from task.criteria.actions
    yield from (action for action in task.criteria.required if (action.name, action.arguments) not in done)


def _known(task: Task) -> Iterator[str]:
    if task.instructions.known:
        yield task.instructions.known
    for fact in task.intent.facts if task.intent is not None else ():
        yield fact.says or answer(fact.slot, fact.value)
    for change in task.intent.changes if task.intent is not None else ():
        yield f"changes course: {change.says}"


def _criteria(task: Task) -> Iterator[str]:
    criteria = task.criteria
    if Component.DB in criteria.reward_basis:
        yield "at the end the records are in the desired state, and nothing else is changed"
    if criteria.communicate:
        yield f"the customer is told: {'; '.join(criteria.communicate)}"
    yield from criteria.nl_assertions
    if criteria.required:
        yield f"these are done: {', '.join(action.name for action in criteria.required)}"
    if criteria.forbidden:
        yield f"these are not even attempted: {', '.join(action.name for action in criteria.forbidden)}"
    if task.scenario is Scenario.INFEASIBLE and criteria.reason:
        yield f"the customer's wish cannot be met, and is refused: {criteria.reason}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
