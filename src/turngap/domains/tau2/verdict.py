"""What tau2's own evaluator says of a trial: its code, unchanged, its lenient places included.

The evaluator builds the environment twice for each trial. Here it is handed forks of the domain's own environment
instead, which are equal to what it would build, cost nothing and are cheap to digest (`turngap.domains.tau2.light`);
what it does with them is up to it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import Any

import msgspec

from turngap.data import Event, Spoken, Task, ToolCall, ToolMessage, Trajectory
from turngap.data.task import Side
from turngap.domains.blame import Blame
from turngap.domains.live import LiveDomain
from turngap.domains.loading import DomainSpec
from turngap.domains.retail.domain import OnTau2
from turngap.domains.tau2.domain import Tau2Domain, build
from turngap.domains.tau2.package import package
from turngap.domains.tau2.results import simulation
from turngap.errors import DataFault

_OFFERED: set[str] = set()
_OFFERING = threading.Lock()


def peer_of(domain: LiveDomain) -> Tau2Domain | None:
    """The domain of tau2 in which a trial can be scored: the one where it took place, or that of our shop's database.

    None: there is none.
    """
    if isinstance(domain, OnTau2):
        return build(DomainSpec(text="tau2:retail", name="tau2", argument="retail"))
    return domain if isinstance(domain, Tau2Domain) else None


def verdict(domain: Tau2Domain, task: Task, trajectory: Trajectory) -> dict[str, Any]:
    """tau2's own figure for a finished trial.

    Args:
        domain: where it is scored; its environment makes every call of the trajectory again.
        task: in tau2's form (`Task.raw`).
        trajectory: of a rollout.

    Returns:
        tau2's reward info as JSON values: ``reward``, ``reward_basis``, ``reward_breakdown``, ``db_check``,
        ``action_checks``, ``communicate_checks``, ``env_assertions``, ``info``.

    Raises:
        DataFault: tau2 cannot score it: an assertion in natural language counts, which needs a model; or a call of the
            trajectory has another result in tau2's environment.
    """
    return judged(domain, task.raw, simulation(task, trajectory))


def judged(domain: Tau2Domain, task: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    """The same for a task and a simulation in tau2's own form. See `verdict`."""
    loaded = package()
    with Blame("tau2's evaluator", raises=DataFault), warnings.catch_warnings():
        # It makes the calls again, of which a world tells what is wrong with them.
        warnings.simplefilter("ignore")
        read = loaded.task.model_validate(task)
        found = loaded.evaluate(loaded.simulation.model_validate(one), read, _forks_of(domain))
    plain: dict[str, Any] = found.model_dump(mode="json")
    return plain


def retold(domain: Tau2Domain, task: Task, trajectory: Trajectory) -> Trajectory:
    """A trajectory of another implementation of the domain, with the results that tau2 gives to its calls.

    tau2's evaluator makes every call again and wants the very result, in which implementations may differ: in how they
    word a refusal, say. What they may not differ in is whether they refuse.

    Raises:
        DataFault: tau2 takes a call that was refused, or refuses one that was taken.
    """
    world = domain.world(0, task.initial_state)

    def again(calls: Sequence[ToolCall], results: Sequence[ToolMessage], side: Side) -> tuple[ToolMessage, ...]:
        found = []
        for call, result in zip(calls, results, strict=True):
            now = world.call(call, requestor=side)
            if now.error != result.error:
                raise DataFault(
                    f"{call.name}: {'tau2 refuses' if now.error else 'tau2 accepts'} a call that was "
                    f"{'refused' if result.error else 'accepted'}: {now.content[:200]}"
                )
            found.append(now)
        return tuple(found)

    events: list[Event] = []
    for event in trajectory.events:
        if isinstance(event, Spoken):
            results = again(event.calls, event.results, "user")
        else:
            results = again(event.message.calls, event.results, "assistant")
        events.append(msgspec.structs.replace(event, results=results))
    return msgspec.structs.replace(trajectory, events=tuple(events))


def _forks_of(domain: Tau2Domain) -> str:
    """The name under which tau2's evaluator finds the domain's forks."""
    name = f"turngap {domain.name}"
    with _OFFERING:
        if name not in _OFFERED:
            package().offer(name, lambda solo_mode=False: domain.light_environment())  # noqa: ARG005 - tau2's signature
            _OFFERED.add(name)
    return name
