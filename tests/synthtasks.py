"""Tasks from hand-written explorations, and from the program's, for tests of what words and checks them."""

from __future__ import annotations

import asyncio
import random
from functools import lru_cache

from explorations import CANCEL, DELIVERED, EXCHANGE, FIND, HOME, MUG, PENDING, RETURN, USER, explored, shop
from retailshop import small_shop

from turngap.data.task import Scenario, Task
from turngap.domains import LiveDomain, build
from turngap.synth import scenario
from turngap.synth.customer import Sampler
from turngap.synth.explore import Brief
from turngap.synth.plan import Customer, Draft, Exploration, LostError
from turngap.synth.program import ProgramExplorer
from turngap.synth.summary import TemplateSummariser

SHOPPING = (FIND, USER, PENDING, CANCEL, DELIVERED, MUG, EXCHANGE)
"""One customer cancels one order and exchanges an item of the other."""
MOVING = (FIND, USER, HOME)
RETURNING = (FIND, USER, DELIVERED, RETURN)
ADA = Customer(table="users", key="v", record=small_shop()["users"]["v"])
"""Somebody else, as far as Noor's orders go."""


def drafted(wanted: Scenario, calls: tuple = SHOPPING, seed: int = 0) -> Draft:  # type: ignore[type-arg]
    """A draft in the small shop."""
    return scenario.draft(shop(), explored(calls), wanted, seed)


def worded(draft: Draft, domain: LiveDomain | None = None) -> Task:
    """The task that phrases make of a draft."""
    place = domain or shop()
    return asyncio.run(TemplateSummariser(place).summarise(draft, place))


@lru_cache
def programs(name: str, count: int) -> tuple[LiveDomain, tuple[Exploration, ...]]:
    """Explorations of the program in a domain, with all its tools."""
    domain = build(name)
    content = domain.world().content()
    sampler, explorer = Sampler(domain, content=content), ProgramExplorer(domain, content)

    async def explore(number: int) -> Exploration | None:
        rng = random.Random(f"test/{number}")
        customer = sampler.draw(rng)
        brief = Brief(
            id=f"x{number}",
            seed=number,
            customer=customer,
            tools=tuple(tool.name for tool in domain.tools),
            stranger=sampler.other(customer, rng),
        )
        try:
            return await explorer.explore(brief, domain.world())
        except LostError:
            return None

    found = [asyncio.run(explore(number)) for number in range(count)]
    return domain, tuple(one for one in found if one is not None)


def drafts(domain: LiveDomain, explorations: tuple[Exploration, ...], wanted: Scenario) -> list[Draft]:
    """All drafts that explorations give."""
    made = []
    for exploration in explorations:
        try:
            made.append(scenario.draft(domain, exploration, wanted))
        except LostError:
            continue
    return made
