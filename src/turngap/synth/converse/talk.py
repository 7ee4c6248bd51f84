"""Two parties talk about a scenario: an agent and a user, each an instance of its own, and tools that answer.

In a domain this is a live trial (`turngap.live`); without one the tools are simulated, and all else is the same.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap import live
from turngap.data import Conversation, Failure, Termination, Trajectory, UserMessage
from turngap.engines.capture import capture
from turngap.episode import Brief, play
from turngap.grading.conversation import messages
from turngap.models import Examined, Model, Request, Seat
from turngap.synth.converse.desk import Desk
from turngap.synth.converse.simulated import ToolSimulator
from turngap.synth.converse.situation import Situation
from turngap.users import Part, Simulator


class Parties(msgspec.Struct, frozen=True, kw_only=True):
    """Who talks, and where."""

    desk: Desk
    agent: Model
    users: Simulator
    tools: ToolSimulator | None
    """Answers calls where the desk has no domain."""
    max_steps: int
    max_errors: int
    seed: int

    def identity(self) -> dict[str, Any]:
        """Everything of them that can change what is said."""
        return {
            "desk": self.desk.identity(),
            "agent": self.agent.identity(),
            "user": self.users.identity(),
            "tools": None if self.tools is None else self.tools.identity(),
        }

    async def look(self, situation: Situation) -> None:
        """Look at the agent's server once, with a request such as a first one."""
        task = situation.task
        if isinstance(self.agent, Examined):
            opening = task.intent.opening if task.intent is not None else "Hello."
            await self.agent.preflight(
                Request(
                    policy=self.desk.policy,
                    tools=self.desk.tools,
                    messages=(*task.given, UserMessage(content=opening)),
                    seat=Seat(conversation=task.id, protocol="rollout", decision=None),
                )
            )

    async def talk(self, situation: Situation) -> Trajectory | Failure:
        """Let the conversation take place; what a server, a tool or a user spoiled comes back as a `Failure`."""
        if self.desk.domain is None:
            return await capture(self._simulated(situation))
        place = live.Place(
            domain=self.desk.domain,
            simulator=self.users,
            max_steps=self.max_steps,
            max_errors=self.max_errors,
            seed=self.seed,
        )
        played = await live.run(self.agent, place, situation.task, 0)
        return played if isinstance(played, Failure) else played.trajectory

    async def _simulated(self, situation: Situation) -> Trajectory:
        assert self.tools is not None  # noqa: S101 - `ConverseConfig` sees to it
        task = situation.task
        seed = live.trial_seed(self.seed, task.id, 0)
        world = self.tools.world(situation)
        user = self.users.user(Part(task=task, seed=seed, writes=self.desk.writes))
        brief = Brief(
            conversation=task.id,
            policy=self.desk.policy,
            tools=self.desk.tools,
            step_limit=self.max_steps,
            error_limit=self.max_errors,
            given=task.given,
            task=task,
        )
        trajectory = await play(self.agent, user, world, brief)
        known = {
            "task": task.id,
            "trial": 0,
            "seed": seed,
            "lapses": msgspec.to_builtins(user.lapses),
            "user_usage": msgspec.to_builtins(user.usage),
            "simulator_usage": msgspec.to_builtins(world.usage),
            "simulator_asks": world.asks,
        }
        return msgspec.structs.replace(trajectory, metadata={**known, **trajectory.metadata})

    async def aclose(self) -> None:
        """Release what they hold."""
        for one in (self.agent, self.users, self.tools):
            if one is not None:
                await one.aclose()


def user_failed(trajectory: Trajectory) -> str | None:
    """What was wrong where the user fell silent; None where it did not."""
    if live.termination(trajectory) is not Termination.USER_ERROR:
        return None
    return str(trajectory.metadata.get("user_fault", {}).get("detail", "the user failed"))


def recording(situation: Situation, desk: Desk, trajectory: Trajectory, reward: float | None = None) -> Conversation:
    """The conversation as a recording, such as formats write and all else reads.

    Args:
        situation: what it was about.
        desk: where it took place.
        trajectory: what was said and done.
        reward: what it is worth, where that is known.
    """
    task = situation.task
    return Conversation(
        id=task.id,
        policy=desk.policy,
        tools=desk.tools,
        messages=messages(task, trajectory),
        goal=task.instructions.text() or situation.objective or None,
        reward=reward,
        metadata={"task": task.id, "trial": 0, "scenario": task.scenario.value, "domain": desk.name},
    )
