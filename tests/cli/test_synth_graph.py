"""`turngap synth graph`: a picture, JSON or a list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from turngap.cli.synth_graph import graph
from turngap.errors import DataError, UsageError
from turngap.synth.graph import from_json


@pytest.fixture
def boats(tmp_path: Path) -> str:
    """A domain file, as a person has one."""
    file = tmp_path / "boats.py"
    file.write_text("from boatdomain import domain\nDOMAIN = domain()\n", encoding="utf-8")
    return str(file)


def _run(*arguments: str) -> Result:
    app = Typer(add_completion=False)
    app.command()(graph)
    return CliRunner().invoke(app, list(arguments))


def test_a_picture_and_a_document(boats: str, tmp_path: Path) -> None:
    """The ending says which; what was written is told on standard error only."""
    for name in ("g.svg", "g.json"):
        done = _run("--domain", boats, "-o", str(tmp_path / name))
        assert done.exit_code == 0
        assert done.stdout == ""
        assert done.stderr == f"turngap: 7 tools, 2 arrows, 4 edges; written to {tmp_path / name}\n"
    assert (tmp_path / "g.svg").read_text(encoding="utf-8").startswith("<svg ")
    assert len(from_json((tmp_path / "g.json").read_bytes()).edges) == 4


def test_json_on_standard_output(boats: str) -> None:
    """One document and nothing else."""
    done = _run("--domain", boats, "--json")
    assert json.loads(done.stdout)["format"] == "turngap/tool-graph/1"


def test_a_list_without_a_file(boats: str) -> None:
    """Each arrow, and its fields with their evidence."""
    done = _run("--domain", boats)
    assert "get_booking -> move_booking\n    date -> date  [schema]\n" in done.stdout


def test_overrides(boats: str, tmp_path: Path) -> None:
    """They are applied, and their errors name the file."""
    edges = tmp_path / "edges.toml"
    edges.write_text('[[remove]]\ntarget = "set_contact"\n', encoding="utf-8")
    done = _run("--domain", boats, "--overrides", str(edges))
    assert "set_contact" not in done.stdout
    edges.write_text('[[remove]]\ntarget = "sail"\n', encoding="utf-8")
    failed = _run("--domain", boats, "--overrides", str(edges))
    assert isinstance(failed.exception, DataError)
    assert "edges.toml: remove[0]: there is no such edge" in str(failed.exception)


def test_targets_are_looked_at_first(boats: str, tmp_path: Path) -> None:
    """Before anything is tried: another ending, a folder that is not there."""
    for target, problem in ((tmp_path / "g.png", "as .svg or .json"), (tmp_path / "no" / "g.svg", "existing folder")):
        failed = _run("--domain", boats, "-o", str(target))
        assert isinstance(failed.exception, UsageError)
        assert problem in str(failed.exception)
