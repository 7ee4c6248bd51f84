"""`turngap demo --train`: its act with a study of seconds in the place of the packaged one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tinymodel
import tinystudy

from turngap.cli.demo import STUDY, train_act
from turngap.cli.experiment import place
from turngap.cli.main import execute
from turngap.samples import studies
from turngap.study.plan import read


def test_what_it_runs_comes_along() -> None:
    """The study is packaged, trains the model that the other acts ask, and has a model before training beside it."""
    plan = read(studies.find(STUDY))
    assert plan.base == "local/smollm2"
    assert plan.name == STUDY


def test_the_help_says_how_long_it_takes(capsys: Any) -> None:
    """Minutes stand beside the option."""
    assert execute(["demo", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "--train Show a model before and after training instead" in said
    assert "25 minutes" in said
    assert "with--trainruns/small-cpu" in said.replace(" ", "")  # lines may break at hyphens


def test_it_shares_its_place_with_the_study() -> None:
    """What the demo trained, the experiment of that name finds."""
    assert place(read(studies.find(STUDY))) == Path("runs/small-cpu")


@pytest.mark.slow
def test_it_trains_with_progress_shows_and_explains(tmp_path: Path, capsys: Any) -> None:
    """Stages and losses on standard error; table, explanation and gap on standard output; again it is only shown."""
    tinymodel.require("peft")
    study, runs = tinystudy.write(tmp_path / "seconds.toml"), tmp_path / "runs"
    train_act(study, runs)
    shown = capsys.readouterr()
    assert "stage training: " in shown.err
    assert ", loss " in shown.err
    assert "tokens/s, took " in shown.err
    said = " ".join(shown.out.split())
    assert "study seconds" in said
    assert "What it learnt from, and is held against, is the work of a program that knows the shop's rules" in said
    assert "after 0.0% of turns good, 0.0% of workflows finished, 0.0% of tasks solved" in said
    assert said.endswith(f"as a page: {runs / 'seconds.md'}")
    train_act(study, runs, as_json=True)
    again = capsys.readouterr()
    assert "stage " not in again.err
    document = json.loads(again.out)
    assert document["directory"] == str(runs)
    assert document["columns"][-1]["name"] == "after"
