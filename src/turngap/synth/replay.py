"""Do calls again in a new world: what came of each, and how the world stands after the last.

Everything that synthesis claims of a plan is held against this: its digest, that none of its steps is refused or breaks
a rule, that one step less makes a difference. A domain without chance in it gives the same for the same calls, always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turngap.data import ToolCall, ToolMessage
from turngap.data.task import Side, hands_over
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.live import Done, Kind
from turngap.synth.plan import Step


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """Calls, done."""

    world: LiveWorld
    """As the last call left it."""
    steps: tuple[Step, ...]
    """The calls with what they led to this time, and the rules that each one broke, seen from the calls before it."""
    digest: str
    """Of the world."""

    @property
    def results(self) -> tuple[ToolMessage, ...]:
        """What the agent would read."""
        return tuple(ToolMessage(name=one.call.name, content=one.result, error=one.error) for one in self.steps)

    @property
    def refused(self) -> tuple[int, ...]:
        """Indices of the calls that were refused."""
        return tuple(index for index, one in enumerate(self.steps) if one.error)

    @property
    def breaching(self) -> tuple[int, ...]:
        """Indices of the calls that broke a rule."""
        return tuple(index for index, one in enumerate(self.steps) if one.breaches)


def kinds(domain: LiveDomain, side: Side = "assistant") -> dict[str, Kind]:
    """What each tool of one side may do to the state."""
    tools = domain.tools if side == "assistant" else domain.user_tools
    return {tool.name: tool.kind for tool in tools}


def replay(
    domain: LiveDomain, steps: Sequence[Step | ToolCall], initial_state: dict[str, Any] | None = None
) -> Replayed:
    """Make calls one after the other in a new world.

    Args:
        domain: where.
        steps: what; of a step only its call is looked at.
        initial_state: as a task has it.

    Raises:
        DataFault: the initial state does not fit the domain. DomainFault: the domain's own code failed.
    """
    world = domain.world(initial_state=initial_state)
    done = go_on(world, domain, steps)
    return Replayed(world=world, steps=done, digest=world.digest())


def go_on(
    world: LiveWorld, domain: LiveDomain, steps: Sequence[Step | ToolCall], before: Sequence[Step] = ()
) -> tuple[Step, ...]:
    """Make calls in a world in which others were made before.

    Args:
        world: where; it is changed.
        domain: which the world is of.
        steps: what to do.
        before: what the agent did in this world so far, for rules that depend on it.

    Raises:
        DomainFault: the domain's own code failed.
    """
    known = kinds(domain)
    done = [_done(step) for step in before]
    made: list[Step] = []
    digest: str | None = None
    for call in map(_call, steps):
        kind = known.get(call.name, "generic")
        breaches = world.breaches(call, done)
        if kind == "write" and digest is None:
            digest = world.digest()
        result = world.call(call)
        now = world.digest() if kind == "write" else digest
        step = Step(
            call=call,
            result=result.content,
            error=result.error,
            kind=kind,
            # Asked of the digest, refused or not: tools of tau2 may leave something behind when they refuse.
            changed=now != digest,
            breaches=breaches,
        )
        digest = now
        made.append(step)
        done.append(_done(step))
    return tuple(made)


def is_calculation(step: Step) -> bool:
    """Whether a step worked something out, which is only done to tell it: neither about the state nor a hand-over."""
    return step.kind == "generic" and not step.error and not hands_over(step.call.name)


def _call(step: Step | ToolCall) -> ToolCall:
    return step.call if isinstance(step, Step) else step


def _done(step: Step) -> Done:
    return Done(call=step.call, result=ToolMessage(name=step.call.name, content=step.result, error=step.error))
