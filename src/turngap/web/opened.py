"""A loaded run while a page reads it: its id in addresses, what it is called, its open store, and its figures.

Pages open stores for one request; whatever they compute is kept by the run's stamp (`turngap.web.kept`).
Non-goals: finding runs (`turngap.web.shelf`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from turngap.analysis.sums import Sums, sum_up
from turngap.config import RolloutConfig
from turngap.data import Figure
from turngap.runs.store import RunStore

NOTHING = Figure(value=None, n=0)
"""What stands where a run did not measure a figure."""


class Opened(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run, open for reading in this thread."""

    id: str
    """Its name in addresses: ``r1``."""
    label: str
    """What readers call it."""
    store: RunStore

    @property
    def live(self) -> bool:
        """Whether it holds live trials, not recorded conversations."""
        return isinstance(self.store.settings, RolloutConfig)

    @cached_property
    def sums(self) -> Sums:
        """All its figures, computed when first asked for.

        Raises:
            HarnessFault: score rows contradict each other.
        """
        return sum_up(self.store)

    @property
    def metrics(self) -> Mapping[str, Figure]:
        """Figures by name."""
        return self.sums.metrics

    def figure(self, name: str) -> Figure:
        """One figure; `NOTHING` where it was not measured."""
        return self.metrics.get(name, NOTHING)


def measured(runs: Sequence[Opened], name: str) -> bool:
    """Whether any of the runs has measured a figure."""
    return any(one.figure(name).n for one in runs)


def in_labels(text: str, names: Mapping[str, str]) -> str:
    """A sentence of an analysis with the names that readers know.

    Args:
        text: may name runs by model or directory; a directory's path is nothing for a browser.
        names: what the sentence may call a run -> its label.
    """
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def directories(runs: Sequence[Opened]) -> dict[str, str]:
    """Path of each run -> its label."""
    return {str(one.store.directory): one.label for one in runs}
