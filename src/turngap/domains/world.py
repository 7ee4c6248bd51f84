"""A world over tables: one `State`, and what a call does to it.

Each call runs on a fork of the state. When it succeeds, the fork becomes the state; when the tool says no, crashes or
runs out of time, the fork is dropped and sealed, so that nothing of a failed call remains and code that is still
running somewhere can reach no world. A fork for a tool that only reads refuses writes from the start.

A call that ran out of time is made once more where it only reads. Any other is never repeated: what it did outside, if
anything, nobody knows, so the world refuses every further call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turngap import jsonio
from turngap.data import Category, ToolCall, ToolMessage
from turngap.data.task import Side
from turngap.domains.blame import TIME_LIMIT, UNKNOWN_OUTCOME, fault
from turngap.domains.difference import Difference, content, differences
from turngap.domains.limit import TimeUp, to_its_end, within, within_soon
from turngap.domains.live import Done, LiveWorld, Reply
from turngap.domains.state import State
from turngap.domains.tool import Check, Tool, ToolError, render
from turngap.errors import DomainFault, HarnessFault, UsageError

SEALED = "only tools write to a world"


class Setting:
    """What all worlds of one domain share. Nothing in it changes."""

    def __init__(
        self,
        name: str,
        start: State,
        tools: Mapping[Side, Mapping[str, Tool]],
        checks: tuple[Check, ...],
        time_limit: float,
    ) -> None:
        self.name = name
        self.start = start
        self.tools = tools
        self.checks = checks
        self.time_limit = time_limit


class TableWorld(LiveWorld):
    """A live world of a domain written with `turngap.domains.api`."""

    def __init__(self, setting: Setting, state: State) -> None:
        """Begin with a sealed state."""
        self._setting = setting
        self._state = state
        self._start = state
        self._broken: str | None = None

    @property
    def state(self) -> State:
        """What the world holds now. It may be read; writing is refused, since only tools write."""
        return self._state

    def reply(self, call: ToolCall, *, requestor: Side = "assistant") -> Reply:
        """Run one call. See `LiveWorld.reply`."""
        running = self._run(call, requestor, soon=False)
        try:
            running.send(None)
        except StopIteration as done:
            reply: Reply = done.value
            return reply
        raise AssertionError("a call that waits for itself does not suspend")

    async def reply_soon(self, call: ToolCall, *, requestor: Side = "assistant") -> Reply:
        """Run one call while others go on. See `LiveWorld.reply_soon`."""
        return await self._run(call, requestor, soon=True)

    def breaches(self, call: ToolCall, before: Sequence[Done] | None = None) -> tuple[str, ...]:
        """The rules of the policy that the call would break now, by the domain's checks. See `LiveWorld.breaches`."""
        limit = self._setting.time_limit
        found = (check.breach(self._state, call, limit, before) for check in self._setting.checks)
        return tuple(rule for rule in found if rule is not None)

    def digest(self) -> str:
        """64 hex digits that are equal for equal content."""
        return self._state.digest()

    def diff(self, other: LiveWorld) -> tuple[Difference, ...]:
        """What is different in `other`, which has to be a world over tables too."""
        if not isinstance(other, TableWorld):
            raise UsageError("worlds of different kinds of domains cannot be compared")
        return differences(self._state, other.state)

    def changes(self) -> tuple[Difference, ...]:
        """What is different now from when the world was made."""
        return differences(self._start, self._state)

    def content(self) -> dict[str, dict[str, Any]]:
        """All that it holds now, as JSON values. See `LiveWorld.content`."""
        return content(self._state)

    def fork(self) -> TableWorld:
        """Another world with the same content and the same beginning."""
        twin = TableWorld(self._setting, self._state)
        twin._start = self._start
        twin._broken = self._broken
        return twin

    def snapshot(self) -> State:
        """A note of the content."""
        return self._state

    def restore(self, snapshot: State) -> None:
        """Go back to what a snapshot noted."""
        self._state = snapshot

    async def _run(self, call: ToolCall, requestor: Side, *, soon: bool) -> Reply:
        if self._broken is not None:
            raise fault(self._broken, UNKNOWN_OUTCOME)
        understood = self._understand(call, requestor)
        if isinstance(understood, Reply):
            return understood
        tool, arguments = understood
        before = self._state
        attempts = 2 if tool.kind == "read" else 1
        for _ in range(attempts):
            state = before.fork(None if tool.kind == "write" else f"{tool.name} is a {tool.kind} tool")
            try:
                text = render(await self._value(tool, state, arguments, soon=soon), tool)
            except ToolError as refusal:
                return _refused(call, str(refusal))
            except TimeUp:
                continue
            finally:
                state.seal(_over(tool))
            if tool.kind == "write":
                if self._state is not before:
                    raise HarnessFault("two calls were made in one world at once")
                self._state = state
            return Reply(message=ToolMessage(name=call.name, content=text))
        raise self._out_of_time(tool, attempts)

    async def _value(self, tool: Tool, state: State, arguments: dict[str, Any], *, soon: bool) -> Any:
        limit = self._setting.time_limit
        with tool.blame():
            if not tool.is_async:
                return within(limit, lambda: tool.start(state, arguments))
            # The coroutine blames by itself too, so that nothing but errors on purpose reaches an event loop.
            running = _blamed(tool, state, arguments)
            return await within_soon(limit, running) if soon else to_its_end(limit, running)

    def _understand(self, call: ToolCall, requestor: Side) -> tuple[Tool, dict[str, Any]] | Reply:
        """The tool that is meant and its typed arguments, or what is wrong with the call."""
        tools = self._setting.tools[requestor]
        tool = tools.get(call.name)
        if tool is None:
            known = ", ".join(tools) or "there are none"
            return _refused(call, f"unknown tool '{call.name}'; known: {known}", Category.WRONG_TOOL)
        if call.arguments is None:
            return _refused(call, call.error or "the arguments are not a JSON object", Category.MALFORMED_CALL)
        arguments = tool.signature.read(call.arguments)
        if isinstance(arguments, str):
            return _refused(call, arguments, Category.WRONG_ARGUMENTS)
        return tool, arguments

    def _out_of_time(self, tool: Tool, attempts: int) -> DomainFault:
        limit = f"{self._setting.time_limit:g} s"
        if tool.kind == "read":
            return fault(f"tool {tool.name} took longer than {limit}, {attempts} times", TIME_LIMIT)
        self._broken = f"tool {tool.name} took longer than {limit}: whether what it does was done is unknown"
        return fault(self._broken, UNKNOWN_OUTCOME)


async def _blamed(tool: Tool, state: State, arguments: dict[str, Any]) -> Any:
    try:
        with tool.blame():
            return await tool.start(state, arguments)
    finally:
        # At once: what the tool left running in the event loop comes too late.
        state.seal(_over(tool))


def _over(tool: Tool) -> str:
    return f"the call of {tool.name} is over"


def _refused(call: ToolCall, text: str, category: Category | None = None) -> Reply:
    message = ToolMessage(name=call.name, content=jsonio.dumps({"error": jsonio.clean(text)}), error=True)
    return Reply(message=message, category=category, detail=text)
