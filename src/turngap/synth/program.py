"""The explorer that needs no model: it does for one customer what an agent would, with values from what it has read.

It finds the customer as the tools allow, looks into what is theirs, and pursues one to four goals that change
something; it answers questions on the way, hands over now and then, and often enough tries what the world refuses or a
rule forbids. Arguments come from what is known (`turngap.synth.filling`); whether a call goes through is tried on a
note of the world first, so that what is done is what an agent that knows its trade would do. Between goals it looks
around, as agents do that have to find the right order first; what of that is needed, ablation finds out.

No tool is known by name: a domain's specs, tables and results are all there is. The same brief and world give the same
exploration. Non-goals: cleverness beyond one call at a time; `turngap.synth.asked_explorer` has a model for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from turngap.domains.live import LiveDomain, LiveWorld
from turngap.errors import DomainFault
from turngap.synth.course import Course
from turngap.synth.customer import Tables
from turngap.synth.explore import FAULT, Brief
from turngap.synth.invention import Inventor
from turngap.synth.knowhow import Knowhow
from turngap.synth.looking import Library, Looking
from turngap.synth.memory import Memory
from turngap.synth.plan import Exploration, Loss, LostError

VERSION = 1
"""Raised when the same brief may give another exploration than before."""


class ProgramExplorer:
    """Explores one domain without a model."""

    def __init__(self, domain: LiveDomain, content: Tables | None = None, phrases: Path | None = None) -> None:
        """Read what can be known of the domain.

        Args:
            domain: where it acts.
            content: what `LiveWorld.content` gives, where it is at hand.
            phrases: texts that people make up, in the place of the package's own (``invention.toml``).

        Raises:
            DataError: the file of phrases cannot be read.
        """
        content = domain.world().content() if content is None else content
        self._domain = domain
        self._knowhow = Knowhow(domain, content)
        self._inventor = Inventor(content, phrases)
        self._library = Library(self._knowhow.keys)

    def identity(self) -> dict[str, Any]:
        """The explorer's version, its phrases and the domain's identity."""
        return {
            "explorer": "program",
            "version": VERSION,
            "phrases": self._inventor.digest,
            "domain": self._domain.identity(),
        }

    async def explore(self, brief: Brief, world: LiveWorld) -> Exploration:
        """Act for a customer; a tool whose code fails is done without, and noted. See `Explorer.explore`."""
        offered, crashed = brief.tools, dict[str, int]()
        while True:
            looking = Looking(world, Memory(), self._library)
            here = msgspec.structs.replace(brief, tools=offered)
            course = Course(here, looking, self._knowhow, self._inventor)
            try:
                await course.run()
                break
            except DomainFault as fault:
                left = tuple(name for name in offered if name != looking.calling)
                if left == offered or not left:
                    raise
                offered, world = left, self._domain.world()
                crashed[f"{FAULT}{fault}"] = 1
        if not course.steps:
            if crashed:
                reason = next(iter(crashed)).removeprefix(FAULT)
                raise LostError(Loss(stage="explore", reason="domain fault", detail=reason, fault=True))
            raise LostError(Loss(stage="explore", reason="nothing could be done", detail=", ".join(brief.tools)))
        return Exploration(
            id=brief.id,
            seed=brief.seed,
            explorer="program",
            customer=brief.customer,
            offered=brief.tools,
            inspired_by=brief.example.id if brief.example else "",
            steps=tuple(course.steps),
            facts=tuple(course.facts),
            mishaps=crashed,
        )

    async def aclose(self) -> None:
        """Nothing is held."""
