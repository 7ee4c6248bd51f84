"""One live trial: a task, an agent and a simulated user in a world of its own.

A trial is an `episode` in a live domain. Everything that is left to chance hangs on the trial's seed, which is made
from the run's seed, the task and the number of the trial: neither order nor concurrency nor resuming changes it. What
a trial is worth is for `turngap.grading` to say.
"""

from __future__ import annotations

import hashlib

import msgspec

from turngap import jsonio
from turngap.config import RolloutConfig
from turngap.data import (
    Acted,
    Conversation,
    Failure,
    Message,
    Spoken,
    Task,
    Termination,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
)
from turngap.domains import LiveDomain, LiveWorld
from turngap.engines.capture import capture
from turngap.episode import Brief, play
from turngap.errors import DomainFault
from turngap.models import Model
from turngap.users import Part, Simulator


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where trials take place: a domain, who plays the user, and the limits."""

    domain: LiveDomain
    simulator: Simulator
    max_steps: int
    max_errors: int
    seed: int

    @classmethod
    def of(cls, domain: LiveDomain, simulator: Simulator, config: RolloutConfig) -> Place:
        """With the limits of a configuration."""
        return cls(
            domain=domain,
            simulator=simulator,
            max_steps=config.max_steps,
            max_errors=config.max_errors,
            seed=config.seed,
        )


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that has just ended, with the world as it was left."""

    trajectory: Trajectory
    world: LiveWorld


class Hand:
    """The user's tools in a world."""

    def __init__(self, domain: LiveDomain, world: LiveWorld) -> None:
        self._specs = tuple(tool.spec for tool in domain.user_tools)
        self._world = world

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the user can do."""
        return self._specs

    async def use(self, call: ToolCall) -> ToolMessage:
        """Do it."""
        return (await self._world.reply_soon(call, requestor="user")).message


def trial_seed(seed: int, task: str, trial: int) -> int:
    """The seed of one trial: 31 bits that say nothing about those of other trials."""
    key = jsonio.encode([seed, task, trial])
    return int.from_bytes(hashlib.blake2b(key, digest_size=4, person=b"tg-trial-1").digest(), "big") >> 1


async def run(model: Model, place: Place, task: Task, trial: int) -> Played | Failure:
    """Let one trial take place; what could not be measured comes back as a `Failure`."""
    return await capture(_run(model, place, task, trial))


async def _run(model: Model, place: Place, task: Task, trial: int) -> Played:
    domain = place.domain
    seed = trial_seed(place.seed, task.id, trial)
    world = domain.world(seed, task.initial_state)
    hands = Hand(domain, world) if domain.user_tools else None
    user = place.simulator.user(Part(task=task, trial=trial, seed=seed, hands=hands))
    brief = Brief(
        conversation=task.id,
        policy=domain.policy,
        tools=tuple(tool.spec for tool in domain.tools),
        step_limit=place.max_steps,
        error_limit=place.max_errors,
        given=task.given,
        trial=trial,
        task=task,
    )
    trajectory = await play(model, user, world, brief)
    known = {
        "task": task.id,
        "trial": trial,
        "seed": seed,
        "digest": world.digest(),
        "lapses": msgspec.to_builtins(user.lapses),
        "user_usage": msgspec.to_builtins(user.usage),
    }
    return Played(
        trajectory=msgspec.structs.replace(trajectory, metadata={**known, **trajectory.metadata}),
        world=world,
    )


async def rebuild(domain: LiveDomain, task: Task, trajectory: Trajectory) -> LiveWorld:
    """The world as a stored trial left it: a new one in which the same calls are made in the same order.

    Raises:
        DomainFault: the domain no longer answers as it did, or ends elsewhere; names the first difference.
    """
    world = domain.world(trajectory.metadata.get("seed", 0), task.initial_state)
    for number, event in enumerate(trajectory.events):
        if isinstance(event, Spoken):
            for call, result in zip(event.calls, event.results, strict=True):
                _same(number, result, (await world.reply_soon(call, requestor="user")).message)
        elif isinstance(event, Acted):
            for call, result in zip(event.message.calls, event.results, strict=True):
                _same(number, result, (await world.reply_soon(call)).message)
    digest = trajectory.metadata.get("digest")
    if digest is not None and digest != world.digest():
        raise _changed("the same calls lead to another state than they did")
    return world


def _same(number: int, stored: ToolMessage, now: ToolMessage) -> None:
    if stored != now:
        raise _changed(
            f"event {number}: {now.name or 'a tool'} answers {_cut(now.content)}, and did {_cut(stored.content)}"
        )


def _changed(problem: str) -> DomainFault:
    error = DomainFault(f"the stored trial cannot be graded again in this domain: {problem}")
    error.kind = "domain_changed"
    return error


def _cut(text: str, length: int = 80) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else f"{flat[:length]}..."


def termination(trajectory: Trajectory) -> Termination:
    """How a trial ended."""
    return Termination(trajectory.metadata["termination"])


def messages(task: Task, trajectory: Trajectory) -> tuple[Message, ...]:
    """What was said and done in a trial, as the agent knows it, with what it was given before."""
    found: list[Message] = [*task.given]
    for event in trajectory.events:
        found.append(event.message)
        if not isinstance(event, Spoken):
            found.extend(event.results)
    return tuple(found)


def recorded(task: Task, domain: LiveDomain, trajectory: Trajectory, reward: float | None = None) -> Conversation:
    """A trial as a recording, such as formats write and all else reads. What the user did by hand is left out.

    Args:
        task: what was wanted.
        domain: where it took place.
        trajectory: what was said and done.
        reward: what it is worth, where that is known.
    """
    number = trajectory.metadata.get("trial", 0)
    return Conversation(
        id=f"{task.id}-{number}" if number else task.id,
        policy=domain.policy,
        tools=tuple(tool.spec for tool in domain.tools),
        messages=messages(task, trajectory),
        goal=task.instructions.text() or None,
        reward=reward,
        metadata={"task": task.id, "trial": number, "scenario": task.scenario.value, "domain": domain.name},
    )
