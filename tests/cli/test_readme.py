"""README.md: the table that it shows is what the command prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_table_of_the_example_is_printed(shared: Path, tmp_path: Path) -> None:
    """The command above it, on the recordings that it names, prints it line by line."""
    source = shared / "tau-bench"
    shutil.copy(source / "gpt-4o-airline-tasks-00-24.json", tmp_path / "gpt-4o-airline.json")
    shutil.copy(source / "airline-tools.json", tmp_path)
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    command, table = (
        block.partition("```")[0].strip("\n")
        for block in readme.partition("This is what it prints")[2].split("```\n")[1:4:2]
    )
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip("\n").splitlines() == table.splitlines()
