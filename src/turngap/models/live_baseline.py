"""Baselines of live conversations: agents of known quality that need no language model.

* ``baseline/reference`` does the reference actions of the task through real conversation: it asks for values that
  nobody has named yet, describes every change and waits for a yes, says the facts that have to be said, and closes.
* ``baseline/noisy?p_tool=0.9&p_text=0.8&seed=1`` does so with gaps: each reference action that changes something is
  done with probability `p_tool`, otherwise a tool that does not exist is called in its place; each fact is said with
  probability `p_text`, otherwise left out. A trial of a task with w changes and f facts succeeds with probability
  p_tool^w * p_text^f, independently of the others, so that pass^k can be held against a closed form. (Where a change
  has no effect in the end, or a fact is said on the way, it succeeds more often.)
* ``baseline/nothing`` never calls a tool and closes at once; ``baseline/transfer`` refuses and hands everybody over.
  What they reach is the floor of a task set.

What `reference` knows comes from `Seat.task`; what it has done so far, it reads off the history
(`turngap.models.course`), so it keeps nothing between requests, and has advice for conversations that another model
began. Where a synthesised task says what the user wants first, and at which action another wish begins (`Task.made`),
it proposes the first and waits for the other, as an agent would who does not know the task.

It is no contestant, and it works around nothing: where a user does not answer a question, or does not say yes when
asked twice, it goes on as the reference does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from turngap.data import AssistantMessage, Message, Prediction, Task, ToolCall, ToolSpec
from turngap.data.asking import ANYTHING_ELSE, HANDED_OVER
from turngap.data.task import hands_over
from turngap.models.base import Request
from turngap.models.course import REFUSAL, Course, Errs, never


def act(request: Request, errs: Errs = never) -> Prediction:
    """What the reference does next in a rollout.

    Args:
        request: its seat names the task.
        errs: where to fail instead.
    """
    task = request.seat.task
    if task is None:
        return Prediction(message=AssistantMessage(content=ANYTHING_ELSE))
    return Prediction(message=_followed(task, request.tools, request.messages, errs).next())


def advice(task: Task, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> AssistantMessage:
    """What the reference would do next, whoever made the history.

    Args:
        task: what the user wants.
        tools: the agent's.
        messages: all that the agent knows, `Task.given` included.
    """
    return _followed(task, tools, messages, never).next()


def departures(task: Task, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> Iterator[bool]:
    """For each decision behind `Task.given`, whether it differs from the advice there (`Course.differs`).

    Args:
        task: what the user wants.
        tools: the agent's.
        messages: all that the agent knows, `Task.given` included.
    """
    course = Course(task, tools)
    for message in messages[len(task.given) :]:
        if isinstance(message, AssistantMessage):
            yield course.differs(message)
        course.follow(message)


def _followed(task: Task, tools: Sequence[ToolSpec], messages: Sequence[Message], errs: Errs) -> Course:
    course = Course(task, tools, errs)
    for message in messages[len(task.given) :]:
        course.follow(message)
    return course


class Nothing:
    """Says good-bye without having done anything."""

    def __init__(self, label: str = "baseline/nothing") -> None:
        self.label = label

    def identity(self) -> dict[str, Any]:
        """Its name is all there is."""
        return {"model": "baseline/nothing"}

    async def act(self, request: Request) -> Prediction:  # noqa: ARG002 - the seam's signature
        """Answer whatever it is asked with the same words."""
        return Prediction(message=AssistantMessage(content=ANYTHING_ELSE))

    async def aclose(self) -> None:
        """Nothing to release."""


class Transfer:
    """Refuses and hands the user over to a person, by the domain's tool for that where it has one."""

    def __init__(self, label: str = "baseline/transfer") -> None:
        self.label = label

    def identity(self) -> dict[str, Any]:
        """Its name is all there is."""
        return {"model": "baseline/transfer"}

    async def act(self, request: Request) -> Prediction:
        """Hand over at once, then say so."""
        tool = next((tool for tool in request.tools if hands_over(tool.name)), None)
        called = any(isinstance(message, AssistantMessage) and message.calls for message in request.messages)
        if tool is None or called:
            return Prediction(message=AssistantMessage(content=f"{REFUSAL} {HANDED_OVER}"))
        call = ToolCall(name=tool.name, arguments=dict(_fillers(tool)))
        return Prediction(message=AssistantMessage(calls=(call,)))

    async def aclose(self) -> None:
        """Nothing to release."""


def _fillers(tool: ToolSpec) -> Iterator[tuple[str, Any]]:
    """A value for each argument that has to be given: the first allowed one, or a few words."""
    properties = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        choices = properties.get(name, {}).get("enum")
        yield name, choices[0] if choices else "The user asks for something that I do not do."
