"""A finished trial as a recorded conversation, for whatever works on recordings: evaluation, examples, other tools.

It holds what the agent saw and did, and nothing else: the user's own tools and the marks with which a simulated user
leaves are left out, and so is a last message in which the agent said nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.data import AssistantMessage, Conversation, Message, Task, ToolSpec, Trajectory, UserMessage
from turngap.users.signals import parse


def conversation(
    task: Task, trajectory: Trajectory, *, policy: str, tools: Sequence[ToolSpec], reward: float | None = None
) -> Conversation:
    """The conversation of one trial.

    Args:
        task: what the user wanted; gives the goal, what was said before, and which arguments count.
        trajectory: of a rollout.
        policy: what the agent was instructed with.
        tools: what it was told of.
        reward: what the trial is worth, where that is known.
    """
    known = trajectory.metadata
    kept: dict[str, Any] = {key: known[key] for key in ("task", "trial", "seed", "termination") if key in known}
    return Conversation(
        id=f"{task.id}/{known.get('trial', 0)}",
        policy=policy,
        tools=tuple(tools),
        messages=messages(task, trajectory),
        goal=task.instructions.text() or None,
        reward=reward,
        compare_args=_compared(task),
        metadata={**kept, "scenario": task.scenario.value},
    )


def messages(task: Task, trajectory: Trajectory) -> tuple[Message, ...]:
    """What was said and done in a trial as the agent knows it, with what it was given before; no marks of users."""
    return tuple(_told((*task.given, *trajectory.messages())))


def _told(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if isinstance(message, UserMessage):
            words, _ = parse(message.content)
            if words:
                yield msgspec.structs.replace(message, content=words)
        elif not isinstance(message, AssistantMessage) or message.content or message.calls:
            yield message


def _compared(task: Task) -> dict[str, tuple[str, ...]]:
    """Tools whose compared arguments are restricted in the same way by every reference action that calls them."""
    found: dict[str, set[tuple[str, ...] | None]] = {}
    for action in task.criteria.actions:
        if action.requestor == "assistant":
            found.setdefault(action.name, set()).add(action.compare_args)
    return {tool: one for tool, every in found.items() if len(every) == 1 for one in every if one is not None}
