"""docs/synth-check.md: what it promises holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turngap.data.task import Action, Criteria, Instructions, Task
from turngap.formats import tasks as task_files
from turngap.synth.finding import Flaw

PAGE = (Path(__file__).parents[2] / "docs" / "synth-check.md").read_text(encoding="utf-8")


def test_every_flaw_is_explained() -> None:
    """The table has a row for each, under its name."""
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| `")]
    assert rows == [f"`{flaw.value}`" for flaw in Flaw]


def test_the_example_in_python_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The block under "From Python" prints what is wrong with the tasks of a file."""
    reason = Instructions(reason="You are nobody and want to cancel order #W1, which you no longer need.")
    cancel = Action(name="cancel_pending_order", arguments={"order_id": "#W1", "reason": "no longer needed"})
    task = Task(id="lost", instructions=reason, criteria=Criteria(actions=(cancel,)))
    task_files.write(tmp_path / "tasks.json", [task])
    block = PAGE.partition("## From Python")[2].partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {"path": tmp_path / "tasks.json"}
    exec(compile(block, "docs/synth-check.md", "exec"), names)
    assert capsys.readouterr().out.startswith("lost refused error cancel_pending_order(")
