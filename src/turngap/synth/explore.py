"""The seam of exploration: an explorer acts for one customer in one world, and what it did is kept.

An explorer is given a `Brief` and a pristine world, which it may change and fork as it likes; it makes at most
`Brief.most_steps` calls, of tools in `Brief.tools` only, and hands back what it did in order. Calls that the world
refuses, and calls that break a rule of the policy, belong to what it did: infeasible tasks are made of them.

Implementations: `turngap.synth.program` needs no model, `turngap.synth.asked_explorer` asks one. Non-goals: judging
whether an exploration is of use (`turngap.synth.keep`) and what of it is needed (`turngap.synth.ablation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from turngap.data import ToolCall, ToolMessage
from turngap.domains.live import Done, Kind, LiveWorld
from turngap.synth.plan import Customer, Exploration, Step

MOST_STEPS = 20
"""How many calls an exploration has at most."""


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What an explorer is told."""

    id: str
    """Of the exploration."""
    seed: int
    """Of everything that it leaves to chance."""
    customer: Customer
    """Whom it acts for."""
    tools: tuple[str, ...]
    """The tools that it may use."""
    example: Exploration | None = None
    """What somebody else did for another customer, to begin from."""
    stranger: Customer | None = None
    """Somebody whose records the customer may ask to have changed, which no agent should do; None to leave that out."""
    most_steps: int = MOST_STEPS


FAULT = "fault: "
"""Begins a mishap of an exploration (`Exploration.mishaps`) that is a failure of the domain's code, in its words."""


class Explorer(Protocol):
    """Something that explores. Implementations are safe to use from many tasks of one event loop."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change what it does, as plain values without secrets."""
        ...

    async def explore(self, brief: Brief, world: LiveWorld) -> Exploration:
        """Act in a world that is as the database says.

        Raises:
            LostError: nothing came of it. DomainFault: the domain's own code failed. EndpointError: a model's server
                failed.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


async def perform(world: LiveWorld, call: ToolCall, kind: Kind, before: Sequence[Done] = ()) -> Step:
    """Make one call and note all that a step tells of it.

    Args:
        world: where; it is changed.
        call: what to do.
        kind: what the tool may do to the state.
        before: what was done in this world so far, for the rules that depend on it.

    Raises:
        DomainFault: see `LiveWorld.reply`.
    """
    breaches = world.breaches(call, before)
    was = world.digest() if kind == "write" else ""
    message = (await world.reply_soon(call)).message
    return Step(
        call=call,
        result=message.content,
        error=message.error,
        kind=kind,
        # Asked of the digest, refused or not: tools of tau2 may leave something behind when they refuse.
        changed=kind == "write" and world.digest() != was,
        breaches=breaches,
    )


def done(step: Step) -> Done:
    """A step as the rules of a domain see it."""
    return Done(call=step.call, result=ToolMessage(name=step.call.name, content=step.result, error=step.error))
