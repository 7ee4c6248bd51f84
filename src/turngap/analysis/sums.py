"""What any run says in numbers, be it of recorded conversations or of live trials: for whatever holds figures up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from turngap.analysis import rollout
from turngap.analysis.summary import summarise
from turngap.config import RolloutConfig
from turngap.data import Figure
from turngap.runs.store import RunStore


class Sums(Protocol):
    """The part that a `Summary` and a `RolloutSummary` have in common; see there."""

    @property
    def model(self) -> str:
        """Which model."""
        ...

    @property
    def protocols(self) -> tuple[str, ...]:
        """Those that were scored."""
        ...

    @property
    def judges(self) -> Mapping[str, tuple[str, ...]]:
        """Judged protocol -> who judged."""
        ...

    @property
    def metrics(self) -> Mapping[str, Figure]:
        """Figures by name."""
        ...

    @property
    def missing(self) -> Mapping[str, int]:
        """Protocol -> units without a score."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know beside the numbers."""
        ...


def sum_up(store: RunStore) -> Sums:
    """Compute every figure of a run with its own seed.

    Raises:
        HarnessFault: score rows contradict each other.
    """
    settings = store.settings
    if isinstance(settings, RolloutConfig):
        return rollout.summarise(store, seed=settings.seed)
    return summarise(store, seed=settings.seed)
