"""Looking things up in the course of an exploration: on trial first, as steps once something came of it.

An explorer that searches for something that can be done looks at more than it needs. What it looks at on trial becomes
part of the exploration only when it is kept; otherwise it is forgotten, as if it had never been seen. Looking changes
nothing, so that what was seen in one state of the world is never asked for twice.
"""

from __future__ import annotations

from typing import Any

from turngap import jsonio
from turngap.data import ToolCall
from turngap.domains.live import LiveWorld
from turngap.synth.explore import done, perform
from turngap.synth.knowhow import Outline
from turngap.synth.memory import Memory
from turngap.synth.offer import parsed
from turngap.synth.plan import Step


class Sight:
    """The result of one look."""

    __slots__ = ("call", "number", "refused", "value")

    def __init__(self, call: ToolCall, number: int, value: Any, *, refused: bool) -> None:
        self.call = call
        self.number = number
        """Under which the memory knows what it holds."""
        self.value = value
        """The result as JSON values."""
        self.refused = refused


class Looking:
    """All that was looked at, and the steps so far."""

    def __init__(self, world: LiveWorld, memory: Memory) -> None:
        self.steps: list[Step] = []
        self.memory = memory
        self._world = world
        self._seen: dict[str, Sight] = {}
        self._sights: list[Sight] = []
        self._at: dict[int, int] = {}
        self._trial: list[Sight] = []
        self._mark = memory.mark()

    def look(self, tool: Outline, arguments: dict[str, Any]) -> Sight:
        """Make a call of a read tool on trial, if it was not made before."""
        call = ToolCall(name=tool.name, arguments=arguments)
        key = _key(tool, arguments)
        sight = self._seen.get(key)
        if sight is None:
            message = self._world.call(call)
            value = None if message.error else parsed(message.content)
            sight = Sight(call, len(self._sights), value, refused=message.error)
            self._seen[key] = sight
            self._sights.append(sight)
        if sight.number not in self._at and sight not in self._trial and not sight.refused:
            self._trial.append(sight)
            self.memory.learn(sight.value, sight.number, asked=arguments)
        return sight

    @property
    def kept(self) -> list[Sight]:
        """What was looked at in steps."""
        return [sight for sight in self._sights if sight.number in self._at]

    def was_seen(self, tool: Outline, arguments: dict[str, Any]) -> bool:
        """Whether this look was made in a step."""
        sight = self._seen.get(_key(tool, arguments))
        return sight is not None and sight.number in self._at

    def allowed(self, sight: Sight) -> bool:
        """Whether no rule forbids to make this look now."""
        return not self._world.breaches(sight.call, [done(step) for step in self.steps])

    def step_of(self, number: int) -> int | None:
        """The step at which a sight was had; None before it is one."""
        return self._at.get(number)

    @property
    def trial(self) -> tuple[Sight, ...]:
        """What was looked at on trial."""
        return tuple(self._trial)

    def forget(self) -> None:
        """Drop what was looked at on trial."""
        self.memory.forget(self._mark)
        self._trial.clear()

    async def keep(self, *sights: Sight) -> None:
        """Make sights steps, and forget the others that are on trial."""
        self.forget()
        for sight in sights:
            if sight.number not in self._at and not sight.refused:
                await self.do(sight.call, "read")
                self._at[sight.number] = len(self.steps) - 1
                self.memory.learn(sight.value, sight.number, asked=sight.call.arguments)
                self._mark = self.memory.mark()

    async def do(self, call: ToolCall, kind: Any) -> Step:
        """Make a call that is a step, whatever comes of it."""
        step = await perform(self._world, call, kind, self.steps)
        self.steps.append(step)
        if step.changed:
            # What was seen before stays known, but to look again may show something else.
            self._seen = {key: sight for key, sight in self._seen.items() if sight.number in self._at}
        return step

    def probe(self, call: ToolCall) -> Step:
        """What a call of a tool that is no read tool would lead to now; nothing of it remains."""
        breaches = self._world.breaches(call, [done(step) for step in self.steps])
        note, was = self._world.snapshot(), self._world.digest()
        reply = self._world.reply(call)
        changed = not reply.message.error and self._world.digest() != was
        self._world.restore(note)
        # A call that no tool can take is a mistake of the explorer, and no refusal to be told of.
        result = reply.message.content if reply.category is None else ""
        return Step(
            call=call, result=result, error=reply.message.error, kind="write", changed=changed, breaches=breaches
        )


def _key(tool: Outline, arguments: dict[str, Any]) -> str:
    return f"{tool.name} {jsonio.canonical(arguments)}"
