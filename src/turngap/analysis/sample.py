"""The units behind one figure of one run: what was measured, what could not be, and which scorer said so.

For whatever has to look below a figure: pairing the units of two runs, counting what is errored. Figures themselves
come from `turngap.analysis.summary`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from turngap.analysis import trial
from turngap.analysis.figure import DECISIONS, FIGURES, JUDGED, Kind, Measure, Unit
from turngap.data import Score
from turngap.runs.store import RunStore

_HORIZON = re.compile(r"horizon\.([1-9]\d{0,3})")
_KEPT = "kept"  # value of a start: whether it had no unresolved error within so many decisions
_BY_NAME = {measure.name: measure for measure in FIGURES}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The units of one figure, in the order of conversations and decisions."""

    measure: Measure
    scorer: str
    """Whose score rows they are: ``strict``, ``turn:rules``."""
    units: list[Unit]
    """Those that were measured."""
    errored: int
    """Those that could not be measured; of live trials, trials."""
    spoiled: int = 0
    """Live trials that count neither way, for the user failed in them."""
    total: int = 0
    """All of them, measured or not: conversations, decisions, or trials (also where `units` are tasks)."""


def measure_of(metric: str) -> Measure | None:
    """The definition of a figure, whoever judged; None for a name that no figure has."""
    if steps := _HORIZON.fullmatch(metric):
        meaning = f"no unresolved error within {steps[1]}"
        # Starts of one conversation share its decisions, so that their share has the interval of a mean.
        return Measure(name=metric, protocol="horizon", value=_KEPT, over=DECISIONS, kind=Kind.MEAN, meaning=meaning)
    return trial.measure_of(metric) or _BY_NAME.get(metric.partition("@")[0])


def scorer_of(metric: str, judges: Mapping[str, Sequence[str]]) -> str | None:
    """Whose score rows a figure is computed from; None for an unknown figure, or a judge that did not judge.

    Args:
        metric: name of the figure.
        judges: judged protocol -> who judged, the first one without ``@`` (`Summary.judges`).
    """
    measure = measure_of(metric)
    if measure is None:
        return None
    if measure.protocol == trial.PROTOCOL:
        return trial.scorer_of(metric)
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
        metric: name of a figure.
        scorer: see `scorer_of`.

    Raises:
        KeyError: no figure has that name.
    """
    measure = measure_of(metric)
    if measure is None:
        raise KeyError(metric)
    if measure.protocol == trial.PROTOCOL:
        tasks = {task.id: task.scenario.value for task in store.trials.tasks()}
        found = trial.counted(trial.rows_of(store, scorer), measure, tasks)
        return Sample(
            measure=measure,
            scorer=scorer,
            units=found.units,
            errored=found.errored,
            spoiled=found.spoiled,
            total=found.trials,
        )
    units: list[Unit] = []
    errored = 0
    for _, score in store.scores(scorer):
        if score.kind not in measure.over:
            continue
        if score.errored:
            errored += 1
            continue
        values = _kept(score, metric) if measure.protocol == "horizon" else score.values
        if measure.value in values:
            place = -1 if score.decision is None else score.decision
            units.append(Unit(score.conversation, place, score.kind, values))
    units.sort(key=lambda unit: (unit.conversation, unit.decision))
    return Sample(measure=measure, scorer=scorer, units=units, errored=errored, total=len(units) + errored)


def _kept(score: Score, metric: str) -> dict[str, float]:
    """What a start says about so many decisions; nothing where fewer lie ahead of it."""
    steps = int(metric.rpartition(".")[2])
    return {_KEPT: float(score.values["survived"] >= steps)} if score.values["reach"] >= steps else {}
