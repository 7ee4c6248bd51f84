"""The table of examples on docs/matching.md, row by row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turngap import jsonio
from turngap.config import MatchConfig
from turngap.data import ToolCall, ToolSpec
from turngap.metrics.matching import Matcher

PAGE = Path(__file__).resolve().parents[2] / "docs" / "matching.md"
CELL = r"(`[^`]*`|absent)"
ROWS = re.findall(
    rf"^\| {CELL} \| {CELL} \| {CELL} \| (yes|no) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)


def call(cell: str) -> ToolCall:
    """The call that a cell of the table stands for."""
    return ToolCall(name="t", arguments={} if cell == "absent" else {"x": jsonio.loads(cell.strip("`"))})


@pytest.mark.parametrize(("schema", "reference", "prediction", "match", "why"), ROWS)
def test_every_row_holds(schema: str, reference: str, prediction: str, match: str, why: str) -> None:
    """The page says what the matcher does, whichever side is the prediction."""
    parameters = {"type": "object", "properties": {"x": jsonio.loads(schema.strip("`"))}}
    matcher = Matcher([ToolSpec(name="t", parameters=parameters)], MatchConfig())
    assert matcher.same(call(prediction), call(reference)) is (match == "yes"), why
    assert matcher.same(call(reference), call(prediction)) is (match == "yes"), why


def test_no_row_is_overlooked() -> None:
    """Every line of the table of examples is read as a row."""
    examples = PAGE.read_text(encoding="utf-8").partition("## Examples")[2]
    lines = [line for line in examples.splitlines() if line.startswith("|")]
    assert len(ROWS) == len(lines) - 2 >= 40
