"""What has to be true of synthesised tasks, asked by execution, for tests and for ``benchmarks/synthesis.py``.

Nothing here uses what made the tasks: references are done again call by call, trials are spoilt in ways of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap import users
from turngap.config import ModelConfig
from turngap.data import Acted, Action, AssistantMessage, Spoken, Task, ToolCall, Trajectory, UserMessage
from turngap.data.task import Component
from turngap.domains import LiveDomain
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import package
from turngap.grading.grader import RewardGrader
from turngap.live import Place, Played, run
from turngap.models import Model
from turngap.synth.parameter import parameters


def state(domain: LiveDomain, actions: Sequence[Action]) -> str:
    """The digest of a new world in which these actions were done."""
    world = domain.world()
    for action in actions:
        world.call(action.call())
    return world.digest()


def writes(domain: LiveDomain, task: Task) -> list[int]:
    """The actions of the reference that may change the state, by what the domain says of its tools."""
    kinds = {tool.name: tool.kind for tool in domain.tools}
    return [index for index, action in enumerate(task.criteria.actions) if kinds.get(action.name) == "write"]


def needless(domain: LiveDomain, task: Task) -> list[int]:
    """The writes of the reference without which the final state is the same."""
    actions = task.criteria.actions
    wanted = state(domain, actions)
    return [
        index for index in writes(domain, task) if state(domain, [*actions[:index], *actions[index + 1 :]]) == wanted
    ]


def rewards(agent: Model, domain: LiveDomain, tasks: Sequence[Task], seed: int = 0) -> list[float]:
    """What an agent gets for each task, in conversation with the scripted user."""
    simulator = users.build(ModelConfig(spec="scripted"))
    place = Place(domain=domain, simulator=simulator, max_steps=60, max_errors=20, seed=seed)
    grader = RewardGrader()

    async def work() -> list[float]:
        found = []
        for task in tasks:
            played = await run(agent, place, task, 0)
            assert isinstance(played, Played), played
            found.append((await grader.grade(task, domain, played.trajectory, played.world)).value)
        return found

    return asyncio.run(work())


def choices(domain: LiveDomain) -> dict[tuple[str, str], tuple[Any, ...]]:
    """The values that parameters say they take, for an agent that guesses."""
    found = {(tool.name, one.name): one.choices for tool in domain.tools for one in parameters(tool.spec)}
    return {key: value for key, value in found.items() if value}


# ---- beside tau2's own evaluator


def tau2_twin(name: str, tables: dict[str, Any]) -> Tau2Domain:
    """tau2's own retail domain, its own tools and evaluator, over another database."""

    def environment() -> Any:
        made = package().environment("retail")
        made.tools.db = type(made.tools.db).model_validate(tables)
        return made

    package().offer(name, environment)
    return Tau2Domain(name)


class Trial(msgspec.Struct, frozen=True):
    """A reference done well, or spoilt in one way."""

    fault: str
    """Empty for the reference."""
    actions: tuple[Action, ...]
    said: tuple[str, ...]


def trials(domain: LiveDomain, task: Task) -> Iterator[Trial]:
    """The reference, and all that the task's own material lets one spoil of it."""
    actions, told = task.criteria.actions, task.criteria.communicate
    yield Trial("", actions, told)
    changes = writes(domain, task)
    for index in changes[:1]:
        yield Trial("write dropped", (*actions[:index], *actions[index + 1 :]), told)
    for index in changes[-1:]:
        other = _other(actions[index])
        if other is not None:
            yield Trial("argument changed", (*actions[:index], other, *actions[index + 1 :]), told)
    extra = _extra(domain, actions)
    if extra is not None:
        yield Trial("extra write", (*actions, extra), told)
    if told:
        yield Trial("fact not said", actions, ())


def _other(action: Action) -> Action | None:
    """The same with another value of something that is stored as it is told."""
    replaced = {"reason": ("no longer needed", "ordered by mistake"), "address1": ("1 Nowhere Row", "2 Nowhere Row")}
    for name, values in replaced.items():
        if name in action.arguments:
            value = next(one for one in values if one != action.arguments[name])
            return msgspec.structs.replace(action, arguments={**action.arguments, name: value})
    if len(action.arguments.get("item_ids", ())) > 1:
        fewer = {key: action.arguments[key][:-1] for key in ("item_ids", "new_item_ids") if key in action.arguments}
        return msgspec.structs.replace(action, arguments={**action.arguments, **fewer})
    return None


def _extra(domain: LiveDomain, actions: Sequence[Action]) -> Action | None:
    """A change of an order that the reference leaves alone."""
    world = domain.world()
    for action in actions:
        world.call(action.call())
    for order, record in world.content()["orders"].items():
        if record["status"] == "pending":
            call = Action(name="cancel_pending_order", arguments={"order_id": order, "reason": "no longer needed"})
            if not world.call(call.call()).error:
                return call
    return None


def performed(domain: LiveDomain, task: Task, trial: Trial) -> Played:
    """The trial as a conversation: what is asked for is not said, what is done and told is."""
    world = domain.world()
    events: list[Any] = [Spoken(message=UserMessage(content="Hello."))]
    for action in trial.actions:
        call: ToolCall = action.call()
        events.append(Acted(message=AssistantMessage(calls=(call,)), results=(world.call(call),)))
    # Facts apart from one another: tau2 looks for a text anywhere, "1" in "10" too.
    events.append(Acted(message=AssistantMessage(content="; ".join(trial.said) or "That is all.")))
    trajectory = Trajectory(
        conversation=task.id, events=tuple(events), metadata={"trial": 0, "termination": "user_stop"}, seconds=1.0
    )
    return Played(trajectory=trajectory, world=world)


def both_count(task: Task) -> tuple[Component, ...]:
    """The components that turngap and tau2 both know: of an infeasible task all but `CONSTRAINT`, which tau2 has not.

    Whether an agent tried what is forbidden, and did what shows that it is, cannot be said in tau2's terms; that the
    state is unchanged and what was to be told was told, can.
    """
    return tuple(one for one in task.criteria.reward_basis if one is not Component.CONSTRAINT)


def our_verdict(domain: LiveDomain, task: Task, trial: Trial) -> float:
    """The reward by our grader, of the components that both know."""
    criteria = msgspec.structs.replace(task.criteria, reward_basis=both_count(task))
    played = performed(domain, task, trial)
    held = msgspec.structs.replace(task, criteria=criteria)
    return asyncio.run(RewardGrader().grade(held, domain, played.trajectory, played.world)).value
