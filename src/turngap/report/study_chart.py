"""A study as one chart: what each model reaches, from single turns to finished workflows, with intervals."""

from __future__ import annotations

from turngap.report.document import Chart, Mark, mark
from turngap.report.overview import describe
from turngap.study.findings import Findings

_STEPS = (
    ("text turns good", "turn.success.text"),
    ("tool turns good", "turn.success.tool"),
    ("calls exact", "strict.exact"),
    ("replay completed", "replay.completed"),
    ("workflow finished", "workflow.success"),
    ("live task solved", "pass^1"),
)
"""What the chart calls a figure -> the figure, in the order of the chart."""


def study_chart(findings: Findings) -> Chart:
    """The chart; figures that were not measured are left out."""
    marks: list[Mark] = []
    for column in findings.columns:
        measured = ((title, column.figures.get(figure)) for title, figure in _STEPS)
        made = (mark(column.name, title, figure) for title, figure in measured if figure is not None)
        marks += [one for one in made if one is not None]
    return Chart(
        name=findings.study.name,
        kind="points",
        title=f"Study {findings.study.name}: from good turns to finished workflows",
        alt=describe("Dots with 95% intervals, one row a figure and one dot a model.", marks),
        value_title="success",
        at_title="figure",
        marks=tuple(marks),
        at_order=tuple(title for title, _ in _STEPS if any(one.at == title for one in marks)),
        series_order=tuple(column.name for column in findings.columns),
    )
