"""The double of a model: answers from a list, or from a function of the request; for tests and try-outs.

It obeys the `Model` contract (an answer may also be an exception, which is raised) and keeps every request it saw, so
that a test can look at what a protocol asked. It never asks a server and never awaits anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turngap.data import AssistantMessage, Prediction, ToolCall
from turngap.errors import HarnessFault
from turngap.models.base import Request

Answer = Prediction | AssistantMessage | ToolCall | str | Exception
"""What a script may say: a whole prediction, a message, one call, a text, or an error to raise."""


class ScriptedModel:
    """A model that says what it was told to say.

    Args:
        script: answers in the order of the requests, or a function that answers each request.
        label: how tables name it.
    """

    def __init__(self, script: Iterable[Answer] | Callable[[Request], Answer], *, label: str = "scripted") -> None:
        self.label = label
        self.requests: list[Request] = []
        """Every request so far, in order."""
        self.closed = False
        self._answer = script if callable(script) else _in_order(script)

    def identity(self) -> dict[str, Any]:
        """Its label; a script has no other identity."""
        return {"kind": "scripted", "label": self.label}

    async def act(self, request: Request) -> Prediction:
        """Answer by the script.

        Raises:
            HarnessFault: a list of answers is used up. Any exception that the script gives as an answer.
        """
        self.requests.append(request)
        return prediction(self._answer(request))

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def prediction(answer: Answer) -> Prediction:
    """Turn what a script says into a prediction; an exception is raised."""
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, Prediction):
        return answer
    if isinstance(answer, ToolCall):
        answer = AssistantMessage(calls=(answer,))
    elif isinstance(answer, str):
        answer = AssistantMessage(content=answer)
    return Prediction(message=answer)


def _in_order(script: Iterable[Answer]) -> Callable[[Request], Answer]:
    answers = list(script)
    position = 0

    def answer(request: Request) -> Answer:
        nonlocal position
        if position == len(answers):
            seat = request.seat
            raise HarnessFault(
                f"the script has {len(answers)} answers, and {seat.conversation!r} (decision {seat.decision}, "
                f"attempt {seat.attempt}) asks for one more"
            )
        position += 1
        return answers[position - 1]

    return answer
