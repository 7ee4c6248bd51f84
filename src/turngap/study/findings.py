"""What a study found: the figures of each model side by side, and in words whether better turns became finished work.

Figures are those of the stored runs (`turngap.analysis`); nothing is measured here. Differences and verdicts are those
of `turngap.analysis.compare` between two models, on the conversations and tasks that both were asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import msgspec

from turngap.analysis import rollout, summary
from turngap.analysis.compare import compare
from turngap.data import Figure
from turngap.errors import TurngapError
from turngap.metrics.paired import Difference
from turngap.runs.store import RunStore
from turngap.study.laboratory import Measured, Results
from turngap.study.plan import Study

SHOWN = (
    "text.rouge1",
    "turn.success",
    "turn.success.text",
    "turn.success.tool",
    "strict.exact",
    "strict.name",
    "strict.arg_f1",
    "replay.completed",
    "workflow.success",
    "horizon.1",
    "horizon.4",
    "horizon.8",
    "pass^1",
    "pass^1[general]",
    "pass^1[ambiguous]",
    "pass^1[changing]",
    "pass^1[infeasible]",
)
"""Figures in the order in which they are shown; those that were not measured are left out."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One model's figures."""

    name: str
    spec: str
    figures: dict[str, Figure]


class Contrasted(msgspec.Struct, frozen=True, kw_only=True):
    """Two models on what both were asked."""

    first: str
    second: str
    differences: dict[str, Difference]
    """Figure -> second less first, over the same units."""
    verdicts: tuple[str, ...]
    """In words: on recorded conversations, then live."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """A study, summed up."""

    study: Study
    columns: tuple[Column, ...]
    contrasts: tuple[Contrasted, ...]
    """Before and after training, then after training and each recovery round; empty with one model."""
    results: Results


def findings(study: Study, results: Results) -> Findings:
    """Sum a study up."""
    return Findings(
        study=study,
        columns=tuple(_column(one) for one in results.measured),
        contrasts=tuple(_contrasted(*pair) for pair in _pairs(results.measured)),
        results=results,
    )


def _pairs(measured: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """Before and after, then after and each model that went on from it."""
    after = next(index for index, one in enumerate(measured) if one.name == "after")
    if after:
        yield measured[0], measured[after]
    for one in measured[after + 1 :]:
        yield measured[after], one


def _column(measured: Measured) -> Column:
    with RunStore.open(measured.recorded) as store:
        figures = dict(summary.summarise(store, seed=store.config.seed).metrics)
    with RunStore.open(measured.live) as store:
        figures |= rollout.summarise(store, seed=store.rollout.seed).metrics
    return Column(name=measured.name, spec=measured.spec, figures={n: figures[n] for n in SHOWN if n in figures})


def _contrasted(first: Measured, last: Measured) -> Contrasted:
    differences: dict[str, Difference] = {}
    verdicts: list[str] = []
    for one, other in ((first.recorded, last.recorded), (first.live, last.live)):
        with ExitStack() as closing:
            stores = [closing.enter_context(RunStore.open(run)) for run in (one, other)]
            try:
                # The base may have been asked less: what both were asked is compared.
                (contrast,) = compare(stores, force=True).contrasts
            except TurngapError as error:
                verdicts.append(f"not compared: {error}")
                continue
        differences |= {figure.name: figure.difference for figure in contrast.figures if figure.name in SHOWN}
        verdicts.append(contrast.verdict)
    return Contrasted(first=first.name, second=last.name, differences=differences, verdicts=tuple(verdicts))
