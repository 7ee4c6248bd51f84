"""The section on why live trials failed: symptoms, with how many trials show them and examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from turngap.analysis.symptom import Symptoms
from turngap.metrics.interval import wilson
from turngap.report.document import Cell, Chart, Column, Mark, Section, Table, head, number, percent
from turngap.report.live_subject import LiveSubject
from turngap.report.overview import describe

_NAMED = 3  # examples of one symptom
_SYMPTOMS_NOTE = (
    "Counted are failed trials that show a symptom, those that the user spoiled included. A trial may show several "
    "symptoms, or none: they are rules over calls and texts, not judgements. turngap taxonomy RUN --show SYMPTOM lists "
    "them."
)


def reasons(found: Sequence[LiveSubject]) -> Section | str:
    """Why trials failed, by symptom; or that none failed."""
    failing = [(one, one.symptoms) for one in found if one.symptoms.failed]
    if not failing:
        graded = sum(one.symptoms.trials for one in found)
        lost = sum(len(one.symptoms.lost) for one in found)
        errored = f"; {lost} errored" if lost else ""
        return f"Why trials failed: {'every one was a success' if graded else 'none is graded'}{errored}."
    names = _in_order(result for _, result in failing)
    marks = [_share(one.label, name, result) for name in names for one, result in failing]
    chart = Chart(
        name="symptoms",
        kind="bars",
        title="What failed trials show",
        alt=describe("Bars: the share of failed trials that show each symptom.", marks),
        value_title="share of failed trials",
        at_title="symptom",
        marks=tuple(marks),
        at_order=names,
        series_order=tuple(one.label for one, _ in failing),
    )
    return Section(
        key="symptoms",
        title="Why trials failed",
        findings=tuple(_most_frequent(one, result) for one, result in failing),
        charts=(chart,) if names else (),
        tables=(_symptom_table(failing),) if names else (),
        notes=(_SYMPTOMS_NOTE,),
    )


def _in_order(found: Iterable[Symptoms]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for result in found:
        for row in result.rows:
            if row.failed:
                counts[row.name] = counts.get(row.name, 0) + row.failed
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def _share(label: str, name: str, result: Symptoms) -> Mark:
    count = next((row.failed for row in result.rows if row.name == name), 0)
    low, high = wilson(count, result.failed) or (None, None)
    return Mark(series=label, at=name, value=count / result.failed, low=low, high=high, n=result.failed)


def _most_frequent(one: LiveSubject, result: Symptoms) -> str:
    told = f"{one.label}: {result.failed} of {result.trials} trials failed"
    row = next((row for row in result.rows if row.failed), None)
    if row is not None:
        told += f", most often with {row.name} ({row.failed})"
    return f"{told}; {result.without} show no symptom." if result.without else f"{told}."


def _symptom_table(failing: Sequence[tuple[LiveSubject, Symptoms]]) -> Table:
    columns = (
        Column(title="agent"),
        Column(title="symptom"),
        Column(title="failed trials", number=True),
        Column(title="% of failed", number=True),
        Column(title="tasks", number=True),
        Column(title="successful trials", number=True),
        Column(title="for example"),
    )
    rows = tuple(
        (
            head(one.label),
            Cell(text=row.name),
            number(row.failed),
            number(percent(row.failed / result.failed)),
            number(row.tasks),
            number(row.succeeded),
            Cell(text="; ".join(_examples(result, row.name))),
        )
        for one, result in failing
        for row in result.rows
    )
    return Table(caption="Trials by symptom; successful ones may show some too.", columns=columns, rows=rows)


def _examples(result: Symptoms, name: str) -> Iterator[str]:
    """Failed trials of different tasks."""
    failed = {case.task: case for case in reversed(result.show(name)) if case.reward < 1}
    for case in [case for case in result.cases if failed.get(case.task) is case][:_NAMED]:
        yield f"task {case.task}, trial {case.trial}"
