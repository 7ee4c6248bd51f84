"""Which stored scores speak for a protocol: its own, or for judged protocols those of the headline judge."""

from __future__ import annotations

from turngap.analysis.figure import JUDGED
from turngap.runs.store import RunStore


def judges(store: RunStore, protocol: str) -> tuple[str, ...]:
    """Who judged a protocol here: those the run was made with in their order, then those of later re-scorings."""
    asked = store.settings.judge.specs
    found = [judge for name, _, judge in (scorer.partition(":") for scorer in store.scorers()) if name == protocol]
    return tuple(sorted(found, key=lambda judge: (asked.index(judge) if judge in asked else len(asked), judge)))


def headline(store: RunStore, protocol: str) -> str:
    """The scorer whose figures have the plain name: ``strict``, or ``turn:JUDGE`` of the first judge."""
    if protocol not in JUDGED:
        return protocol
    return f"{protocol}:{next(iter(judges(store, protocol)), '')}"
