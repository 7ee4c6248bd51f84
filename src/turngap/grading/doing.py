"""Which actions of a task were done in a trial: calls held against actions, each call for one action at most.

A call does an action when it has the same name and, in normal form, the same arguments (`turngap.metrics.matching`);
where the action names the arguments that count, these. A missing or extra argument among them never matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from turngap import jsonio
from turngap.config import MatchConfig
from turngap.data import Acted, Action, Spoken, ToolCall, ToolMessage, Trajectory
from turngap.data.task import Side
from turngap.domains import LiveDomain
from turngap.grading.wanted import cut
from turngap.metrics.matching import Matcher


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a trial."""

    event: int
    """Number of the event in the trajectory."""
    side: Side
    """Who made it."""
    call: ToolCall
    result: ToolMessage

    @property
    def failed(self) -> bool:
        """Whether nothing came of it."""
        return self.result.error


def made(trajectory: Trajectory) -> tuple[Made, ...]:
    """The calls of a trial in order, the user's own ones too."""
    return tuple(_made(trajectory))


def _made(trajectory: Trajectory) -> Iterator[Made]:
    for number, event in enumerate(trajectory.events):
        if isinstance(event, Spoken):
            for call, result in zip(event.calls, event.results, strict=True):
                yield Made(event=number, side="user", call=call, result=result)
        elif isinstance(event, Acted):
            for call, result in zip(event.message.calls, event.results, strict=True):
                yield Made(event=number, side="assistant", call=call, result=result)


def called(call: ToolCall, length: int = 200) -> str:
    """A call or an action as a reader wants to see it, not too long."""
    if call.arguments is None:
        return cut(f"{call.name}({call.raw or 'unreadable'})", length)
    told = ", ".join(f"{name}={jsonio.dumps(value)}" for name, value in call.arguments.items())
    return cut(f"{call.name}({told})", length)


class Deeds:
    """Holds calls of one domain against actions."""

    def __init__(self, domain: LiveDomain) -> None:
        self._specs = {
            "assistant": tuple(tool.spec for tool in domain.tools),
            "user": tuple(tool.spec for tool in domain.user_tools),
        }
        self._matchers: dict[tuple[Side, str, tuple[str, ...] | None], Matcher] = {}

    def does(self, one: Made, action: Action) -> bool:
        """Whether a call does an action, leaving aside what came of it."""
        if one.call.name != action.name or one.side != action.requestor:
            return False
        if action.compare_args == ():
            return True  # any call of the tool is meant, also one whose arguments cannot be read
        return self._matcher(action).same(one.call, action.call())

    def explain(self, one: Made, action: Action) -> str:
        """How a call differs from an action."""
        return self._matcher(action).explain(one.call, action.call())

    def undone(self, actions: Sequence[Action], calls: Sequence[Made]) -> tuple[int, ...]:
        """Indices of the actions that are left when as many as possible get a call of their own that did not fail."""
        done = self.pairs(actions, calls)
        return tuple(index for index in range(len(actions)) if index not in done)

    def pairs(self, actions: Sequence[Action], calls: Sequence[Made]) -> dict[int, int]:
        """Index of an action -> index of the call that did it, for as many actions as possible."""
        fit = [[index for index, one in enumerate(calls) if not one.failed and self.does(one, a)] for a in actions]
        taken: dict[int, int] = {}

        def place(action: int, tried: set[int]) -> bool:
            for call in fit[action]:
                if call not in tried:
                    tried.add(call)
                    if call not in taken or place(taken[call], tried):
                        taken[call] = action
                        return True
            return False

        for index in range(len(actions)):
            place(index, set())
        return {action: call for call, action in taken.items()}

    def _matcher(self, action: Action) -> Matcher:
        key = (action.requestor, action.name, action.compare_args)
        if key not in self._matchers:
            compared = {} if action.compare_args is None else {action.name: action.compare_args}
            self._matchers[key] = Matcher(self._specs[action.requestor], MatchConfig(), compared)
        return self._matchers[key]
