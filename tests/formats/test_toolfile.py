"""Files of tool specifications."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turngap.errors import DataError
from turngap.formats.toolfile import load_tools

LOOK = {"name": "look", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([LOOK]),
        json.dumps([{"type": "function", "function": LOOK}], indent=1),
        json.dumps({"tools": [LOOK]}),
        json.dumps(LOOK) + "\n",
    ],
)
def test_forms(tmp_path: Path, text: str) -> None:
    """A list, a wrapped list, an object with tools and JSON lines give the same tools."""
    path = tmp_path / "tools.json"
    path.write_text(text, encoding="utf-8")
    assert [spec.name for spec in load_tools(path).specs] == ["look"]


@pytest.mark.parametrize("text", ["[]", '[{"x": 1}]', "nonsense", '{"messages": []}'])
def test_what_is_no_tool_file(tmp_path: Path, text: str) -> None:
    """A file without tools is refused with its name."""
    path = tmp_path / "tools.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"tools\.json"):
        load_tools(path)


def test_missing(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(DataError, match="No such file"):
        load_tools(tmp_path / "none.json")
