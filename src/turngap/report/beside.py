"""Recorded conversations beside live tasks: the figures of a model on both, a row a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turngap.data import Figure
from turngap.report.document import Cell, Column, Section, Table, figure_cell, head
from turngap.report.live_subject import LiveSubject
from turngap.report.subject import Subject, judge_sentence

_RECORDED = (
    ("turns good", "turn.success"),
    ("replay completed", "replay.completed"),
    ("workflow success", "workflow.success"),
)
_LEAD = (
    "On recorded conversations a model is held against what was done then; on live tasks its calls change a database, "
    "which is held against what should have come of it. The figures answer different questions on different data: "
    "compare models within a column, and no column with another."
)


def side_by_side(recorded: Sequence[Subject], live: Sequence[LiveSubject]) -> Section:
    """One table of all runs, those of one model below each other."""
    most = max(one.most for one in live)
    lived = ["reward", "pass^1", *([f"pass^{most}"] if most > 1 else [])]
    stores = [*(one.store for one in recorded), *(one.store for one in live)]
    models = dict.fromkeys(store.settings.model.spec for store in stores)
    columns = (
        Column(title="model"),
        Column(title="run"),
        *(Column(title=title, group="recorded conversations", number=True) for title, _ in _RECORDED),
        *(Column(title=title, group="live tasks", number=True) for title in lived),
    )
    rows = tuple(row for model in models for row in _rows(model, recorded, live, lived))
    return Section(
        key="beside",
        title="Recorded and live",
        lead=(_LEAD,),
        tables=(Table(caption=f"Success in percent, by run. {judge_sentence(recorded)}", columns=columns, rows=rows),),
    )


def _rows(
    model: str, recorded: Sequence[Subject], live: Sequence[LiveSubject], lived: Sequence[str]
) -> Iterator[tuple[Cell, ...]]:
    for one in recorded:
        if one.store.settings.model.spec == model:
            figures = [one.measured(name) for _, name in _RECORDED]
            yield (head(model), Cell(text=one.store.directory.name), *_cells(figures), *_dashes(len(lived)))
    for other in live:
        if other.store.settings.model.spec == model:
            figures = [other.measured(name) for name in lived]
            yield (head(model), Cell(text=other.store.directory.name), *_dashes(len(_RECORDED)), *_cells(figures))


def _cells(figures: Sequence[Figure]) -> Iterator[Cell]:
    return map(figure_cell, figures)


def _dashes(count: int) -> list[Cell]:
    return [Cell(text="", kind="number")] * count
