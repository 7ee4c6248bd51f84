"""What a study found: the figures of each model side by side, and in words whether better turns became finished work.

Figures are those of the stored runs (`turngap.analysis`); nothing is measured here. The verdict is that of
`turngap.analysis.compare` between the first and the last model, on the conversations that both were asked.
"""

from __future__ import annotations

from contextlib import ExitStack

import msgspec

from turngap.analysis import rollout, summary
from turngap.analysis.compare import compare
from turngap.data import Figure
from turngap.errors import TurngapError
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


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """A study, summed up."""

    study: Study
    columns: tuple[Column, ...]
    verdicts: tuple[str, ...]
    """In words, from the paired comparison of the first and the last model; empty with one model."""
    results: Results


def findings(study: Study, results: Results) -> Findings:
    """Sum a study up."""
    return Findings(
        study=study,
        columns=tuple(_column(one) for one in results.measured),
        verdicts=_verdicts(results.measured[0], results.measured[-1]) if len(results.measured) > 1 else (),
        results=results,
    )


def _column(measured: Measured) -> Column:
    with RunStore.open(measured.recorded) as store:
        figures = dict(summary.summarise(store, seed=store.config.seed).metrics)
    with RunStore.open(measured.live) as store:
        figures |= rollout.summarise(store, seed=store.rollout.seed).metrics
    return Column(name=measured.name, spec=measured.spec, figures={n: figures[n] for n in SHOWN if n in figures})


def _verdicts(first: Measured, last: Measured) -> tuple[str, ...]:
    found = []
    for one, other in ((first.recorded, last.recorded), (first.live, last.live)):
        with ExitStack() as closing:
            stores = [closing.enter_context(RunStore.open(run)) for run in (one, other)]
            try:
                # The base may have been asked less: what both were asked is compared.
                comparison = compare(stores, force=True)
            except TurngapError as error:
                found.append(f"not compared: {error}")
            else:
                found += [contrast.verdict for contrast in comparison.contrasts]
    return tuple(found)
