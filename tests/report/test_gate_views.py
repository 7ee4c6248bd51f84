"""What the views of a gate's result make of data that is hostile, and of long tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from gateruns import make, outcomes
from rich.console import Console, RenderableType

from turngap.analysis.gate import GateResult, Outcome, Ruling, evaluate
from turngap.analysis.rule import Rule
from turngap.analysis.whatif import what_if
from turngap.data import Figure
from turngap.report.gate_markdown import gate_markdown
from turngap.report.gate_table import gate_table, what_if_table
from turngap.report.junit import junit
from turngap.runs.store import RunStore

junitparser = pytest.importorskip("junitparser")

_NASTY = (
    '=HYPERLINK("http://example.org","click")|a\n| b | <img src=x onerror=alert(1)> @someone `code` \x00\x1b[31m \ufffe'
)


def _result(**changes: Any) -> GateResult:
    ruling = Ruling(
        rule=Rule(metric=f"turn.success@{_NASTY}", min=0.4),
        outcome=Outcome.FAIL,
        reason=_NASTY,
        value=0.3,
        n=10,
        interval=(0.1, 0.6),
        figure=Figure(value=0.3, n=10, ci95=(0.1, 0.6)),
    )
    dropped = Ruling(
        rule=Rule(metric="strict.exact", max_drop=0.1, confidence=0.95),
        outcome=Outcome.PASS,
        reason="the whole 95% interval is not above 10 points",
        value=-0.05,
        n=10,
        interval=(-0.1, 0.0),
        figure=Figure(value=0.75, n=12, ci95=(0.5, 0.9)),
        baseline=Figure(value=0.7, n=11, ci95=(0.5, 0.9)),
    )
    known = {
        "run": "runs/a|b",
        "model": _NASTY,
        "baseline": "runs/main",
        "outcome": Outcome.FAIL,
        "rulings": (ruling, dropped),
        "notes": (_NASTY,),
    }
    return GateResult(**{**known, **changes})


def _printed(shown: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    console.print(shown)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_sec_09_markdown_tables_keep_their_shape_and_run_nothing() -> None:
    """SEC-09: pipes, line ends, formulas, markup and mentions from data stay text; numbers stay numbers."""
    text = gate_markdown(_result())
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert len(rows) == 4
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}
    assert "<img" not in text
    assert "@someone" not in text
    cells = [cell.strip() for cell in rows[2].split(" | ")]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert cells[-1].startswith("'=HYPERLINK")
    assert "| drop -5.0 points | -10.0 to 0.0 (95%) | 10 | 0 |" in rows[3]


def test_junit_is_valid_whatever_stands_in_the_data(tmp_path: Path) -> None:
    """A JUnit parser reads it; controls that XML cannot hold become U+FFFD, everything else comes back."""
    file = tmp_path / "gate.xml"
    file.write_text(junit(_result()), encoding="utf-8")
    read = junitparser.JUnitXml.fromfile(str(file))
    suite = next(iter(read))
    failed, passed = list(suite)
    assert (suite.tests, suite.failures, suite.errors) == (2, 1, 0)
    assert isinstance(failed.result[0], junitparser.Failure)
    cleaned = _NASTY.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ufffe", "\ufffd")
    assert cleaned in failed.result[0].text
    assert passed.is_passed
    assert {prop.name: prop.value for prop in suite.properties()}["baseline"] == "runs/main"


def test_the_terminal_shows_no_control_characters_and_80_columns() -> None:
    """An escape sequence in a name does not reach the terminal; no line is wider than 80."""
    text = _printed(gate_table(_result()))
    assert "\x1b" not in text
    assert max(map(len, text.split("\n"))) <= 80
    assert "drop -5.0 points, n 10 shared" in text


def test_many_runs_stand_in_blocks_of_four(tmp_path: Path) -> None:
    """Nine runs: every one has its column with two gates that let it through, no line is wider than 80, nothing is cut."""
    run = make(tmp_path / "run", turn=outcomes(9, 1), workflow=outcomes(1, 9))
    rules = [Rule(metric="workflow.success", min=0.6)]
    with RunStore.open(run) as store:
        table = what_if(rules, [(store, evaluate(rules, store))] * 9, None, no_baseline="none")
    text = _printed(what_if_table(table))
    assert max(map(len, text.split("\n"))) <= 80
    assert text.count("LET THROUGH") == 18
    assert all(f"run {number}" in text for number in range(1, 10))
    assert "…" not in text
    assert "run 9: its workflows fail; let through by the gates on next turns" in text
