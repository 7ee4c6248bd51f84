"""docs/tasks-and-users.md says what the program does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from turngap.data import Fact, Scenario
from turngap.formats import tasks
from turngap.users import REGISTRY
from turngap.users.lapse import LapseKind

PAGE = (Path(__file__).parents[2] / "docs" / "tasks-and-users.md").read_text(encoding="utf-8")


def test_the_task_on_the_page_is_a_task() -> None:
    """It is read as it stands, with every part where the page says."""
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    task = tasks.parse(json.loads(block))
    assert task.scenario is Scenario.CHANGING
    assert task.intent is not None
    assert task.intent.changes[0].facts == (Fact(slot="date", value="3 May"),)


def test_every_user_scenario_and_lapse_is_on_the_page() -> None:
    """And the page names no other lapse."""
    assert all(f"`{scenario}`" in PAGE for scenario in Scenario)
    assert all(f"`{name}" in PAGE for name in REGISTRY.names())
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## What users do wrong")[2], re.MULTILINE)
    assert rows == [kind.value for kind in LapseKind]
