"""Agents that go wrong in one way each, as doubles for tests of tasks: whoever grades them well grades nothing.

Each knows the task as `baseline/reference` does, and does all that a good agent does but for its one fault.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.data import Action, AssistantMessage, Prediction, Task, ToolCall, ToolMessage
from turngap.data.asking import ANYTHING_ELSE
from turngap.data.task import is_write
from turngap.models import Request
from turngap.synth.offer import leaves, offers, parts, placed, token


class _Agent:
    """Does a list of calls one after the other, whatever is said, and closes."""

    label = "wrong"

    def identity(self) -> dict[str, Any]:
        """Its name is all there is."""
        return {"model": self.label}

    async def act(self, request: Request) -> Prediction:
        """The next call, else good-bye."""
        task = request.seat.task
        assert task is not None
        done = [m for m in request.messages if isinstance(m, AssistantMessage) and m.calls]
        results = [m.content for m in request.messages if isinstance(m, ToolMessage)]
        calls = list(self.calls(task, results))
        if len(done) < len(calls):
            return Prediction(message=AssistantMessage(calls=(calls[len(done)],)))
        told = "; ".join(task.criteria.communicate)
        return Prediction(message=AssistantMessage(content=f"{told}. {ANYTHING_ELSE}"))

    def calls(self, task: Task, results: Sequence[str]) -> Iterator[ToolCall]:
        """What it does, given the results so far."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing is held."""


class FirstIntent(_Agent):
    """Does what the user wanted first, and does not hear the change: for changing tasks."""

    label = "first intent"

    def calls(self, task: Task, results: Sequence[str]) -> Iterator[ToolCall]:
        """The look-ups, then the changes of the first wish; of an addition, those before it."""
        del results
        first = task.made.get("first")
        if first is None:
            yield from (action.call() for action in task.criteria.actions[: task.made["added_from"]])
            return
        yield from (action.call() for action in task.criteria.actions if not is_write(action.name))
        yield from (ToolCall(name=one["name"], arguments=one["arguments"]) for one in first)


class Forbidden(_Agent):
    """Finds out what is required, and then does what is forbidden: for infeasible tasks."""

    label = "forbidden"

    def calls(self, task: Task, results: Sequence[str]) -> Iterator[ToolCall]:
        """All that is asked for."""
        del results
        yield from (action.call() for action in task.criteria.actions)
        yield from (action.call() for action in task.criteria.forbidden)


class NeverAsks(_Agent):
    """Knows who the customer is and what kind of thing is wanted, and guesses every value that is withheld.

    It guesses as well as one can: an id among those of its kind in the results, a choice among those that its tool
    names. What stands in no result, it makes up.
    """

    label = "never asks"

    def __init__(self, choices: dict[tuple[str, str], tuple[Any, ...]]) -> None:
        self._choices = choices

    def calls(self, task: Task, results: Sequence[str]) -> Iterator[ToolCall]:
        """The reference with guesses; its look-ups are done rightly, so that it has something to guess from."""
        withheld = {(one["slot"], token(one["value"])) for one in task.made["withheld"]}
        guesses: dict[tuple[str, str], Any] = {}
        for action in task.criteria.actions:
            yield self._guessed(action, withheld, guesses, results) if is_write(action.name) else action.call()

    def _guessed(
        self,
        action: Action,
        withheld: set[tuple[str, str]],
        guesses: dict[tuple[str, str], Any],
        results: Sequence[str],
    ) -> ToolCall:
        arguments: Any = action.arguments
        for path, value in leaves(action.arguments):
            slot = str(parts(path)[0])
            key = (slot, token(value))
            if key not in withheld:
                continue
            if key not in guesses:
                options = self._choices.get((action.name, slot)) or _beside(results, value) or ["a guess"]
                # As random as a guess is, and the same whenever the conversation is looked at again.
                guesses[key] = random.Random(f"{key}/{results[:1]}").choice(options)
            arguments = placed(arguments, path, guesses[key])
        return msgspec.structs.replace(action, arguments=arguments).call()


def _beside(results: Sequence[str], value: Any) -> list[Any]:
    """The values of one kind among which a result offers this one."""
    for result in results:
        offered = offers(result)
        kinds = {one.kind for one in offered if token(one.value) == token(value)}
        found = [one.value for one in offered if one.kind in kinds]
        if len(found) > 1:
            return sorted(set(map(str, found)))
    return []
