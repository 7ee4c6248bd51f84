"""A small generated shop to explore, briefs for it, and explorations as text, for tests."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from turngap.domains.api import Domain
from turngap.domains.retail.domain import retail
from turngap.domains.retail.generate import Sizes, generate
from turngap.synth.customer import Sampler
from turngap.synth.explore import Brief
from turngap.synth.plan import Exploration
from turngap.synth.program import ProgramExplorer


@cache
def shop() -> Domain:
    """A shop of 30 customers with four orders each on average."""
    return retail(generate(5, Sizes(categories=25, users=30, orders=120)).tables())


@cache
def sampler() -> Sampler:
    """Draws customers of the shop."""
    return Sampler(shop())


def brief(number: int, domain: Domain | None = None, people: Sampler | None = None, **changed: Any) -> Brief:
    """The brief of an exploration of the shop, or of another domain, with all of its tools."""
    domain, people = domain or shop(), people or sampler()
    rng = random.Random(f"brief/{number}")
    customer = people.draw(rng)
    tools = tuple(tool.name for tool in domain.tools)
    settings: dict[str, Any] = {
        "id": f"x{number:05}",
        "seed": number,
        "customer": customer,
        "tools": tools,
        "stranger": people.other(customer, rng),
    }
    return Brief(**{**settings, **changed})


def explore(briefs: Sequence[Brief], domain: Domain | None = None) -> list[Exploration]:
    """What the program makes of briefs."""
    place = domain or shop()
    explorer = ProgramExplorer(place)

    async def all_of_them() -> list[Exploration]:
        return [await explorer.explore(one, place.world()) for one in briefs]

    return asyncio.run(all_of_them())
