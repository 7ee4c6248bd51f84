"""What a history holds that a call or a text can be made of: every value with the place it stands at.

A `Ground` is a read-only view of one history: arguments of earlier calls, leaves of tool results, and what was said.
It is what `turngap.models.slots` traces values to and refills them from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from turngap.data import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

Path = tuple[str | int, ...]
"""Where a leaf stands inside JSON: keys and list positions."""
Scalar = str | int | float | bool
_MAX_LEAVES = 4000
"""Leaves of one result that are looked at; search results can be huge, and what matters stands early."""


class Leaf(NamedTuple):
    """One value inside a call or a result."""

    tool: str
    path: Path
    value: Scalar


class Saying(NamedTuple):
    """One message of the customer or the agent."""

    speaker: str
    """``user`` or ``agent``."""
    text: str


class Ground:
    """The values of one history; built once, asked often."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.called: list[Leaf] = []
        """Leaves of call arguments, in order."""
        self.returned: list[Leaf] = []
        """Leaves of results, in order."""
        self.calls_with: dict[str, Leaf] = {}
        """Value, by `spelling` -> the latest call argument that held it."""
        self.results_with: dict[str, dict[str, Leaf]] = {}
        """Value, by `spelling` -> tool -> the latest place in its results that held it."""
        self.results: dict[str, Any] = {}
        """Tool -> its latest result that is JSON and no error."""
        self.sayings: list[Saying] = []
        self.made: set[str] = set()
        """Calls that were made, by `signature`."""
        self.traced: dict[tuple[str, Scalar, str], tuple[Any, ...]] = {}
        """What `turngap.models.slots.trace` found here before; a neighbour is asked about the same value often."""
        waiting: list[ToolCall] = []
        for message in messages:
            if isinstance(message, AssistantMessage):
                waiting = list(message.calls)
                for call in waiting:
                    self.made.add(signature(call))
                    for path, value in leaves(call.arguments or {}):
                        self.called.append(Leaf(call.name, path, value))
                        self.calls_with[spelling(value)] = self.called[-1]
                if message.content:
                    self.sayings.append(Saying("agent", message.content))
            elif isinstance(message, ToolMessage):
                # Results follow their calls in order, so that a result without a name still has its tool.
                asked = waiting.pop(0).name if waiting else ""
                self._add_result(message.name or asked, message.content)
            elif isinstance(message, UserMessage):
                self.sayings.append(Saying("user", message.content))
        self.spoken = "\n".join(saying.text for saying in self.sayings if saying.speaker == "user").casefold()
        """All that the customer said, for comparing without regard to case."""

    def _add_result(self, tool: str, content: str) -> None:
        try:
            value = json.loads(content)
        except ValueError:
            value = content
        if isinstance(value, dict) and "error" in value:
            return
        self.results[tool] = value
        for number, (path, leaf) in enumerate(leaves(value)):
            if number == _MAX_LEAVES:
                break
            found = Leaf(tool, path, leaf)
            self.returned.append(found)
            self.results_with.setdefault(spelling(leaf), {})[tool] = found


def signature(call: ToolCall) -> str:
    """One text per name and arguments."""
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Scalar]]:
    """Every scalar inside JSON with its path; null is none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    elif value is not None:
        yield path, value


def at(value: Any, path: Path) -> Any:
    """What stands at a path, or None."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def spelling(value: Scalar) -> str:
    """One text per fact: numbers by value, texts without regard to case, ``"5"`` and 5 alike."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip().casefold()
