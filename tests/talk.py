"""What the tests of users share: a world in which an agent may do anything, a trial with it, and hands that work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from turngap import episode
from turngap.data import (
    Acted,
    AssistantMessage,
    Category,
    Finish,
    Message,
    Repaired,
    Spoken,
    Task,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
)
from turngap.domains.base import Expectation, Outcome
from turngap.models import Request
from turngap.models.scripted import Answer, ScriptedModel
from turngap.users import LiveUser

POLICY = "You work for a boat hire. MARK-77."
MOVE = ToolSpec(name="move_booking", parameters={"type": "object"})


class OpenWorld:
    """Lets everything happen: each call gets "ok", each text ends the agent's turn."""

    def __init__(self) -> None:
        self._spoke = False

    def turn_begins(self) -> None:
        """The agent has not spoken yet."""
        self._spoke = False

    def turn_is_over(self) -> bool:
        """Once the agent has spoken."""
        return self._spoke

    def expected(self) -> Expectation:
        """Nothing in particular."""
        return Expectation()

    def answer(self, message: AssistantMessage, finish: Finish) -> Outcome:
        """Say ok."""
        del finish
        self._spoke = not message.calls
        return Outcome(results=tuple(ToolMessage(name=call.name, content="ok") for call in message.calls))

    def repair(self) -> Repaired | None:
        """Nothing is ever broken."""
        return None

    def outgrown(self, history: Sequence[Message]) -> bool:
        """All of it is talk."""
        del history
        return True

    def close(self) -> tuple[Category, int | None, str] | None:
        """Nothing is left undone."""
        return None


class Phone:
    """Hands with a phone, which show what they were used for."""

    def __init__(self, *names: str) -> None:
        self.tools = tuple(ToolSpec(name=name, parameters={"type": "object"}) for name in names)
        self.used: list[ToolCall] = []

    async def use(self, call: ToolCall) -> ToolMessage:
        """Do it."""
        self.used.append(call)
        return ToolMessage(name=call.name, content=f"{call.name} done")


async def play(
    agent: Iterable[Answer] | Callable[[Request], Answer], user: LiveUser, task: Task, *, steps: int = 20
) -> tuple[Trajectory, ScriptedModel]:
    """One trial of an agent that says what it is told to; the trajectory and the agent with the requests it saw."""
    model = ScriptedModel(agent)
    brief = episode.Brief(conversation=task.id, policy=POLICY, tools=(MOVE,), step_limit=steps, task=task)
    return await episode.play(model, user, OpenWorld(), brief), model


def told(*texts: str) -> list[Message]:
    """A history in which user and agent took turns, beginning with the user."""
    sides = (UserMessage, AssistantMessage)
    return [sides[index % 2](content=text) for index, text in enumerate(texts)]


def said(trajectory: Trajectory) -> list[str]:
    """What the user said."""
    return [event.message.content for event in trajectory.events if isinstance(event, Spoken)]


def trial(*turns: str | AssistantMessage | Spoken) -> Trajectory:
    """A finished trial: a plain text is the user's, an `AssistantMessage` the agent's."""
    events: list[Spoken | Acted] = []
    for turn in turns:
        if isinstance(turn, str):
            events.append(Spoken(message=UserMessage(content=turn)))
        elif isinstance(turn, Spoken):
            events.append(turn)
        else:
            events.append(Acted(message=turn))
    return Trajectory(conversation="t", events=tuple(events))
