"""Recorded conversations beside live tasks."""

from __future__ import annotations

from pathlib import Path

import boats
from lived import played
from reports import evaluated

from turngap import samples
from turngap.config import ReplayConfig
from turngap.report.beside import side_by_side
from turngap.report.live_subject import live_subjects
from turngap.report.subject import subjects
from turngap.runs.store import RunStore


def test_runs_of_one_model_stand_below_each_other(tmp_path: Path) -> None:
    """A row a run with the figures that it has; the other columns stay empty, which is no zero."""
    model = "baseline/transfer"
    recorded = evaluated(tmp_path / "logs", samples.path(), "baseline/reference", replay=ReplayConfig(attempts=1))
    reference = played(tmp_path / "live", [boats.task(1)], "baseline/reference", trials=2)
    other = played(tmp_path / "other", [boats.task(1)], model)
    with RunStore.open(recorded) as one, RunStore.open(reference) as two, RunStore.open(other) as three:
        section = side_by_side(subjects([one]), live_subjects([three, two]))
    (table,) = section.tables
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        ("baseline/reference", "logs"),
        ("baseline/reference", "live"),
        (model, "other"),
    ]
    titles = [column.title for column in table.columns]
    assert titles[-3:] == ["reward", "pass^1", "pass^2"]
    logs, live, _ = ([cell.text for cell in row] for row in table.rows)
    assert logs[titles.index("replay completed")] == "100.0"
    assert logs[-3:] == ["", "", ""]
    assert live[2:] == ["", "", "", "100.0", "100.0", "100.0"]
