"""Recorded trajectories of tau-bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap.config import DataConfig
from turngap.errors import BadRecords
from turngap.formats import read


def trajectory(task: int, trial: int, **more: Any) -> dict[str, Any]:
    """One record."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    traj = [
        {"role": "system", "content": "Policy."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": "look", "content": "1"},
    ]
    info = {"task": {"instruction": "You want it."}}
    return {"task_id": task, "trial": trial, "reward": 1.0, "info": info, "traj": traj} | more


def test_a_trajectory(tmp_path: Path) -> None:
    """Id, goal, reward and place come from the record; tools from --tools."""
    path, tools = tmp_path / "run.json", tmp_path / "tools.json"
    path.write_text(json.dumps([trajectory(3, 0), trajectory(3, 1, reward=0)]), encoding="utf-8")
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "look"}}]), encoding="utf-8")
    first, second = read(DataConfig(paths=(str(path),), tools=str(tools)))
    assert (first.id, second.id) == ("3-0", "3-1")
    assert (first.goal, first.policy) == ("You want it.", "Policy.")
    assert (first.reward, second.reward) == (1.0, 0.0)
    assert (second.source.record, second.source.line) == (1, None)
    assert [spec.name for spec in first.tools] == ["look"]


def test_missing_tools_are_an_oddity(tmp_path: Path) -> None:
    """Calls without any specification are noted with a way out."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps([trajectory(0, 0)]), encoding="utf-8")
    found = read(DataConfig(paths=(str(path),)))
    list(found)
    assert found.oddity_counts == {"no_tools": 1}


def test_unknown_role(tmp_path: Path) -> None:
    """A bad message names its record and field."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps([trajectory(0, 0), trajectory(1, 0, traj=[{"role": "bot"}])]), encoding="utf-8")
    with pytest.raises(BadRecords, match=r"\[1\]\.traj\[0\]\.role: unknown role 'bot'"):
        list(read(DataConfig(paths=(str(path),))))
