"""The gap of one run: what chains next turns to workflows, what errors do on the way, how long the model survives."""

from __future__ import annotations

from typing import Any

import msgspec

from turngap.analysis.chain import Chain, chain
from turngap.analysis.finish import unfinished
from turngap.analysis.horizon import Horizon, horizon
from turngap.analysis.propagation import Propagation, propagation
from turngap.runs.store import RunStore

FORMAT = "turngap-gap/1"


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Why turns and workflows differ, for one run."""

    model: str
    conversations: int
    """Tool-requiring conversations, which all of it is over."""
    chain: Chain
    propagation: Propagation
    horizon: Horizon
    """Without points where the run does not hold protocol `horizon`."""
    notes: tuple[str, ...] = ()
    """What a reader has to know beside it: that the run is not finished."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all was measured."""
        return not (self.chain.links or self.propagation.replays or self.horizon.starts)


def gap(store: RunStore, *, seed: int = 0) -> Gap:
    """Analyse a run.

    Args:
        store: an open run; only read.
        seed: of what is drawn at random.
    """
    links = chain(store, seed=seed)
    return Gap(
        model=store.config.model.spec,
        conversations=sum(length.count for length in links.lengths),
        chain=links,
        propagation=propagation(store, seed=seed),
        horizon=horizon(store),
        notes=unfinished(store),
    )


def to_document(found: Gap) -> dict[str, Any]:
    """What ``turngap gap --json`` prints: plain values, strict JSON."""
    document: dict[str, Any] = {"format": FORMAT, **msgspec.to_builtins(found, str_keys=True)}
    return document
