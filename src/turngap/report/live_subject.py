"""The runs of live trials in a report: each with its name for readers, its open store, its figures and its symptoms."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from turngap.analysis.rollout import RolloutSummary, summarise
from turngap.analysis.symptom import Symptoms, symptoms
from turngap.data import Figure
from turngap.report.subject import labels
from turngap.runs.store import RunStore

_HAT = re.compile(r"pass\^(\d+)")
_FOLDER = re.compile(r"[^?&=:]*/")


class LiveSubject(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    label: str
    """What it is called throughout the report: its model, and its directory where two runs share the model."""
    store: RunStore
    summary: RolloutSummary
    symptoms: Symptoms

    def measured(self, name: str) -> Figure:
        """A figure; n is 0 where the run did not measure it."""
        return self.summary.metrics.get(name, Figure(value=None, n=0))

    @property
    def most(self) -> int:
        """The largest k of which there is a figure `pass^k` with a value."""
        found = ((_HAT.fullmatch(name), figure) for name, figure in self.summary.metrics.items())
        return max((int(hat[1]) for hat, figure in found if hat and figure.n), default=0)

    @property
    def domain(self) -> str:
        """The domain as a reader may see it: of files, the names alone."""
        return shown(self.summary.domain)

    @property
    def task_set(self) -> str:
        """The task file as a reader may see it, with what it is known by."""
        return f"{shown(self.summary.tasks['file'])} ({str(self.summary.tasks['digest'])[:12]})"


def live_subjects(stores: Sequence[RunStore]) -> list[LiveSubject]:
    """Sum runs of trials up and name them so that no two have one name."""
    return [
        LiveSubject(
            label=label,
            store=store,
            summary=summarise(store, seed=store.rollout.seed),
            symptoms=symptoms(store),
        )
        for label, store in zip(labels(stores), stores, strict=True)
    ]


def shown(spec: str) -> str:
    """A specification without the folders of the files that it names."""
    return _FOLDER.sub("", spec)
