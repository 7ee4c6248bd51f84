"""The units behind one figure of one run: what was measured, what could not be, and which scorer said so.

For whatever has to look below a figure: pairing the units of two runs, counting what is errored. Figures themselves
come from `turngap.analysis.summary`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from turngap.analysis.figure import FIGURES, JUDGED, Measure, Unit
from turngap.runs.store import RunStore

_BY_NAME = {measure.name: measure for measure in FIGURES}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The units of one figure, in the order of conversations and decisions."""

    measure: Measure
    scorer: str
    """Whose score rows they are: ``strict``, ``turn:rules``."""
    units: list[Unit]
    """Those that were measured."""
    errored: int
    """Those that could not be measured."""


def measure_of(metric: str) -> Measure | None:
    """The definition of a figure, whoever judged; None for a name that is not in the list."""
    return _BY_NAME.get(metric.partition("@")[0])


def scorer_of(metric: str, judges: Mapping[str, Sequence[str]]) -> str | None:
    """Whose score rows a figure is computed from; None for an unknown figure, or a judge that did not judge.

    Args:
        metric: name of the figure.
        judges: judged protocol -> who judged, the first one without ``@`` (`Summary.judges`).
    """
    measure = measure_of(metric)
    if measure is None:
        return None
    judge = metric.partition("@")[2]
    if measure.protocol not in JUDGED:
        return None if judge else measure.protocol
    names = judges.get(measure.protocol, ())
    if not judge:
        return f"{measure.protocol}:{names[0]}" if names else None
    return f"{measure.protocol}:{judge}" if judge in names else None


def sample(store: RunStore, metric: str, scorer: str) -> Sample:
    """Read the units of one figure.

    Args:
        store: an open run; only read.
        metric: name of a figure in the list.
        scorer: see `scorer_of`.
    """
    measure = _BY_NAME[metric.partition("@")[0]]
    units: list[Unit] = []
    errored = 0
    for _, score in store.scores(scorer):
        if score.kind not in measure.over:
            continue
        if score.errored:
            errored += 1
        elif measure.value in score.values:
            place = -1 if score.decision is None else score.decision
            units.append(Unit(score.conversation, place, score.kind, score.values))
    units.sort(key=lambda unit: (unit.conversation, unit.decision))
    return Sample(measure=measure, scorer=scorer, units=units, errored=errored)
