"""The trajectory bank: what explorers begin from, so that one exploration leads to others that are not like it.

A bank begins with a few trajectories that can be done: made by an explorer, or read from a file, and done again before
they are believed. It grows by what was kept. Rounds of explorations draw from one bank and then make the next, so that
neither the order in which explorations end nor an interruption changes what is drawn.

Trajectories with the same chain of effects are alike. A bank keeps few of each kind, and draws kinds evenly: what
turned up once is drawn as often as what turns up all the time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from turngap import jsonio
from turngap.domains import LiveDomain
from turngap.errors import DataError, DomainFault
from turngap.synth import keep
from turngap.synth.customer import Sampler
from turngap.synth.explore import Brief, Explorer
from turngap.synth.plan import Exploration, LostError
from turngap.synth.replay import replay

_OF_A_KIND = 3
"""Trajectories of one kind that a bank keeps: the first ones."""
_TRIES = 10
"""Explorations that are made, at most, for each trajectory that is wanted."""


class Bank:
    """Trajectories to begin from. Immutable."""

    def __init__(self, trajectories: Iterable[Exploration] = ()) -> None:
        """Take them in, in their order; of each kind the first few."""
        self._kinds: dict[tuple[str, ...], list[Exploration]] = {}
        for one in trajectories:
            alike = self._kinds.setdefault(kind(one), [])
            if len(alike) < _OF_A_KIND:
                alike.append(one)

    @property
    def trajectories(self) -> tuple[Exploration, ...]:
        """All of them, kind by kind."""
        return tuple(one for alike in self._kinds.values() for one in alike)

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    def draw(self, rng: random.Random) -> Exploration | None:
        """A trajectory, each kind equally likely; None from an empty bank."""
        return rng.choice(rng.choice(list(self._kinds.values()))) if self._kinds else None

    def grown(self, kept: Iterable[Exploration]) -> Bank:
        """The bank with more trajectories, in the order of their ids, whatever the order in which they come."""
        return Bank([*self.trajectories, *sorted(kept, key=lambda one: one.id)])

    def write(self, path: Path) -> None:
        """Store the trajectories as JSON lines."""
        jsonio.write_atomic(path, "".join(f"{jsonio.dumps(one)}\n" for one in self.trajectories))


def kind(exploration: Exploration) -> tuple[str, ...]:
    """What trajectories that are alike have in common: the tools that had an effect, in order."""
    return tuple(step.call.name for step in exploration.steps if step.has_effect() and not step.breaches)


async def begin(domain: LiveDomain, explorer: Explorer, sampler: Sampler, *, seed: int, count: int = 6) -> Bank:
    """A bank of trajectories that an explorer makes with all tools at hand, each done again before it is kept.

    Args:
        domain: where.
        explorer: who makes them; the program does where the explorations to come are a model's.
        sampler: draws the customers.
        seed: of everything that is left to chance.
        count: how many are wanted; fewer where the domain does not give so many, or its code fails.
    """
    tools = tuple(tool.name for tool in domain.tools)
    made: list[Exploration] = []
    for number in range(count * _TRIES):
        if len(made) == count:
            break
        rng = random.Random(f"{seed}/bank/{number}")
        brief = Brief(id=f"seed{number:02}", seed=rng.getrandbits(31), customer=sampler.draw(rng), tools=tools)
        try:
            found = await explorer.explore(brief, domain.world())
            keep.require_use(found)
        except (LostError, DomainFault):
            continue
        if can_be_done(domain, found) and not any(step.breaches or step.error for step in found.steps):
            made.append(found)
    return Bank(made)


def read(path: Path, domain: LiveDomain) -> Bank:
    """A bank from a file that `Bank.write` wrote, or that a person wrote in its form.

    Raises:
        DataError: the file cannot be read, or a trajectory in it cannot be done in this domain as it says (the line is
            named).
    """
    found: list[Exploration] = []
    try:
        with path.open("rb") as stream:
            for line, text in jsonio.read_lines(stream):
                try:
                    one = msgspec.json.decode(text, type=Exploration)
                except msgspec.MsgspecError as error:
                    raise DataError(f"no trajectory: {error}", file=str(path), line=line) from None
                if not can_be_done(domain, one):
                    problem = (
                        f"trajectory {one.id} gives something else when it is done again in domain {domain.name!r}"
                    )
                    raise DataError(f"{problem}; was it made with another database?", file=str(path), line=line)
                found.append(one)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    return Bank(found)


def can_be_done(domain: LiveDomain, exploration: Exploration) -> bool:
    """Whether the calls of an exploration give in a new world what it says that they gave."""
    return _told(replay(domain, exploration.steps).steps) == _told(exploration.steps)


def _told(steps: Sequence[msgspec.Struct]) -> list[object]:
    return [msgspec.to_builtins(step) for step in steps]
