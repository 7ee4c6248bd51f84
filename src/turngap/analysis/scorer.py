"""Which stored scores speak for a protocol: its own, or for judged protocols those of the headline judge."""

from __future__ import annotations

from turngap.analysis.figure import JUDGED
from turngap.config import RolloutConfig
from turngap.protocols.scoring import scored_with
from turngap.runs.store import RunStore


def judges(store: RunStore, protocol: str) -> tuple[str, ...]:
    """Who gives the figures of a judged protocol: whom the latest scoring named, in that order.

    Scores of others stay stored and speak for nothing until they are named again. A run without a note of its scoring
    is spoken for by all its judges, those that its configuration names first.
    """
    stored = [judge for name, _, judge in (scorer.partition(":") for scorer in store.scorers()) if name == protocol]
    live = isinstance(store.settings, RolloutConfig)
    named = None if live else scored_with(store, protocol).get("judges")
    if named is not None:
        return tuple(judge for judge in named if judge in stored)
    asked = store.settings.judge.specs
    return tuple(sorted(stored, key=lambda judge: (asked.index(judge) if judge in asked else len(asked), judge)))


def unnamed(store: RunStore) -> list[str]:
    """Scorers whose scores are stored and stand in no figure, since the latest scoring did not name the judge."""
    return [
        scorer
        for scorer in store.scorers()
        for protocol, _, judge in (scorer.partition(":"),)
        if protocol in JUDGED and judge not in judges(store, protocol)
    ]


def headline(store: RunStore, protocol: str) -> str:
    """The scorer whose figures have the plain name: ``strict``, or ``turn:JUDGE`` of the first judge."""
    if protocol not in JUDGED:
        return protocol
    return f"{protocol}:{next(iter(judges(store, protocol)), '')}"
