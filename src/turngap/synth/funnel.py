"""How many candidates came to which stage, and why the others were given up.

The numbers of a synthesis in one table: explored, filtered, planned, drafted, put into words, valid, played, kept; each
loss with its reason. Everything that was begun is in it: what is kept and what was lost make the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from turngap.synth.plan import Candidate, Exploration, Loss, Stage

STAGES: tuple[tuple[Stage, str], ...] = (
    ("explore", "explored"),
    ("filter", "with an effect or a fact"),
    ("ablate", "with a verified plan"),
    ("trace", "with every value traced"),
    ("scenario", "fit for the scenario"),
    ("summarise", "put into words"),
    ("validate", "valid"),
    ("play", "done by the reference agent"),
    ("repeat", "unlike every earlier task"),
)
"""Stages in their order, and what a candidate has become that was not lost in them."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of the funnel."""

    stage: Stage
    became: str
    """What those that got through are: ``valid``."""
    left: int
    """How many got through."""
    losses: dict[str, int] = {}
    """Reason -> how many were lost for it here, the most frequent first."""


class Funnel(msgspec.Struct, frozen=True, kw_only=True):
    """The way of all candidates of one scenario."""

    scenario: str
    begun: int
    passages: tuple[Passage, ...]

    @property
    def kept(self) -> int:
        """How many came to the end."""
        return self.passages[-1].left if self.passages else 0


def funnel(scenario: str, explorations: Iterable[Exploration | Loss], candidates: Iterable[Candidate]) -> Funnel:
    """Count the way of one scenario's candidates.

    Args:
        scenario: which one.
        explorations: all of the synthesis.
        candidates: those of the scenario.
    """
    losses: Counter[tuple[str, str]] = Counter()
    for made in explorations:
        if isinstance(made, Loss):
            losses[made.stage, made.reason] += 1
    tried = 0
    for candidate in candidates:
        tried += 1
        if candidate.loss is not None:
            losses[candidate.loss.stage, candidate.loss.reason] += 1
    explored_in_vain = sum(count for (stage, _), count in losses.items() if stage in ("explore", "filter"))
    # Explorations that nobody asked this scenario of, since it had enough tasks already, are no part of its way.
    left = begun = tried + explored_in_vain
    passages = []
    for stage, became in STAGES:
        here = {reason: count for (at, reason), count in losses.most_common() if at == stage}
        left -= sum(here.values())
        passages.append(Passage(stage=stage, became=became, left=left, losses=here))
    return Funnel(scenario=scenario, begun=begun, passages=tuple(passages))
