"""docs/models.md: what people copy from it works as it stands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def test_the_example_in_python_runs(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """The block under "In Python", on a file of that name, prints every decision of it."""
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    block = page.partition("## In Python")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "logs.jsonl").write_text(json.dumps(boat_record), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 ['get_booking'] ",
        "1 [] It is for two people on 30 April. Shall I move it to 2 May?",
        "2 ['move_booking'] ",
        "3 [] Done, your booking is on 2 May.",
    ]
