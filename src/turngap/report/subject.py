"""The runs of one report: each with its name for readers, its open store and its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from turngap.analysis.figure import JUDGED, figure_name
from turngap.analysis.summary import Summary, summarise
from turngap.data import Figure
from turngap.runs.store import RunStore


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    label: str
    """What it is called throughout the report: its model, and its directory where two runs share the model."""
    store: RunStore
    summary: Summary

    def measured(self, name: str) -> Figure:
        """A figure by the first judge; n is 0 where the run did not measure it."""
        return self.summary.metrics.get(name, Figure(value=None, n=0))

    def figures(self, name: str) -> list[tuple[str, Figure]]:
        """A figure by every judge, as (judge, figure); one entry without a judge where nobody judges it."""
        protocol = name.partition(".")[0]
        if protocol not in JUDGED:
            return [("", self.measured(name))]
        judges = self.summary.judges.get(protocol, ())
        return [(judge, self.measured(figure_name(name, judge, judges))) for judge in judges]


def subjects(stores: Sequence[RunStore]) -> list[Subject]:
    """Sum runs up and name them so that no two have one name."""
    return [
        Subject(label=label, store=store, summary=summarise(store, seed=store.config.seed))
        for label, store in zip(labels(stores), stores, strict=True)
    ]


def labels(stores: Sequence[RunStore]) -> list[str]:
    """Names for runs of one kind: the model, with the directory where models do not tell them apart."""
    specs = [store.settings.model.spec for store in stores]
    names = [store.directory.name for store in stores]
    pairs = Counter(zip(specs, names, strict=True))
    found = []
    for store, spec, name in zip(stores, specs, names, strict=True):
        if specs.count(spec) == 1:
            found.append(spec)
        else:
            found.append(f"{spec} ({store.directory if pairs[spec, name] > 1 else name})")
    return found


def judge_sentence(found: Sequence[Subject]) -> str:
    """Who judged, in one sentence; a caption for tables with judged figures."""
    first = {one.label: one.summary.judges for one in found}
    judged = sorted({names[0] for judges in first.values() for names in judges.values()})
    if not judged:
        return "Nobody judged these runs."
    if len(judged) == 1:
        return f"Turn and workflow figures are the verdicts of {judged[0]}."
    parts = [
        f"{label} by {', '.join(dict.fromkeys(names[0] for names in judges.values()))}"
        for label, judges in first.items()
        if judges
    ]
    return f"Turn and workflow figures are verdicts of different judges, and do not compare: {'; '.join(parts)}."
