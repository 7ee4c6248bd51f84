"""`turngap train` from the outside: output, exit codes, going on, messages."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tinymodel

from turngap.cli.main import execute

_SETTINGS = ("lora=false", "epochs=2", "batch=2", "precision=fp32", "learning_rate=0.005", "save=2")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions of seven conversations."""
    tinymodel.require()
    return tinymodel.examples(tmp_path_factory.mktemp("set") / "examples", 7)


def _arguments(examples: Path, output: Path, *more: str, base: str = tinymodel.SPEC) -> list[str]:
    chosen = [part for one in _SETTINGS for part in ("--set", one)]
    return ["train", str(examples), "--base", base, "-o", str(output), *chosen, *more]


def test_it_trains_tells_and_is_done_once(examples: Path, tmp_path: Path, capsys: Any) -> None:
    """Loss, speed and time left on standard error, the summary on standard output; again, it is found done."""
    output = tmp_path / "out"
    assert execute(_arguments(examples, output)) == 0
    shown = capsys.readouterr()
    assert "best validation loss" in shown.out
    assert "tokens/s" in shown.err
    assert f"ask it as hf/{output}/model" in shown.err
    assert "%|" not in shown.err  # no bar of anybody else's
    card = (output / "README.md").read_text(encoding="utf-8")
    assert "## Figures" in card
    assert "rate | 0.005 |" in card
    assert execute(_arguments(examples, output, "--json")) == 0
    again = capsys.readouterr()
    document = json.loads(again.out)
    assert (document["training"], document["engine"]) == (str(output), "lean")
    assert document["tokens_per_second"] > 0
    assert "already trained" in again.err


def test_a_new_model_learns_by_name_and_is_asked(examples: Path, tmp_path: Path, capsys: Any) -> None:
    """What comes of it can be evaluated at once, on the conversations that it learnt from."""
    assert execute(_arguments(examples, tmp_path / "out")) == 0
    data = str(examples / "train.conversations.jsonl")
    more = ["--model", f"hf/{tmp_path}/out/model", "-o", str(tmp_path / "run"), "--max-tokens", "16", "--limit", "2"]
    assert execute(["eval", data, *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))["n"]


def test_a_preview_trains_nothing(examples: Path, tmp_path: Path, capsys: Any) -> None:
    """What is learnt of two sequences, with marks; no model."""
    assert execute(_arguments(examples, tmp_path / "out", "--preview", "2")) == 0
    shown = capsys.readouterr().out
    assert shown.count("tokens, learnt") >= 2
    assert "<|im_end|>" in shown
    assert not (tmp_path / "out" / "model").exists()


def test_a_preview_says_what_was_drawn_how_often(tmp_path: Path, capsys: Any) -> None:
    """Whole conversations of a mix, each decision with how often it is learnt; for TRL examples one by one."""
    tinymodel.require()
    drawn = tinymodel.examples(tmp_path / "set", 5, mix="tools", count=40, validation=0)
    assert execute(_arguments(drawn, tmp_path / "out", "--preview", "1", "--set", "whole=true")) == 0
    shown = capsys.readouterr()
    assert re.search(r"^--- trained: .* tokens, learnt \d times$", shown.out, re.MULTILINE)
    assert "one sequence for each decision" not in shown.err
    more = ["--preview", "1", "--set", "whole=true", "--engine", "trl"]
    assert execute(_arguments(drawn, tmp_path / "out", *more)) == 0
    shown = capsys.readouterr()
    assert not re.search(r"learnt \d times", shown.out)
    assert "one sequence for each decision: a decision was drawn" in shown.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--engine", "fast"], "unknown engine 'fast'; known: lean, trl"),
        (["--recipe", "p7"], "unknown recipe 'p7'; known: p1, p2, laptop"),
        (["--set", "epoch=1"], "--set: unknown setting 'epoch'; known: name, epochs"),
        (["--template", "nowhere.jinja"], "nowhere.jinja: cannot be read"),
        (["--today", "1 May"], "write it as 2031-05-01"),
        (["--preview", "0"], "at least 1"),
        (["--set", "limit=16", "--set", "too_long=fail"], "sequences have more than 16 tokens"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    examples: Path, tmp_path: Path, capsys: Any, more: list[str], said: str
) -> None:
    """Exit code 2, and where it stands."""
    assert execute(_arguments(examples, tmp_path / "out", *more)) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("turngap: ") == 1


def test_examples_that_are_none_are_said(tmp_path: Path, capsys: Any) -> None:
    """A directory without a manifest: what writes one."""
    tinymodel.require()
    assert execute(_arguments(tmp_path, tmp_path / "out")) == 2
    assert "turngap examples writes a directory that has it" in capsys.readouterr().err


def test_another_training_does_not_take_its_place(examples: Path, tmp_path: Path, capsys: Any) -> None:
    """The same directory with another seed: refused, and what is there stays."""
    assert execute(_arguments(examples, tmp_path / "out")) == 0
    before = (tmp_path / "out" / "model" / "model.safetensors").read_bytes()
    assert execute(_arguments(examples, tmp_path / "out", "--seed", "3")) == 2
    assert "another base, recipe or data set" in capsys.readouterr().err
    assert (tmp_path / "out" / "model" / "model.safetensors").read_bytes() == before


def _start(examples: Path, output: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "turngap", *_arguments(examples, output, "--set", "epochs=60", *more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ},
    )


def _wait_for_steps(output: Path, count: int, process: subprocess.Popen[str]) -> None:
    log = output / "checkpoints" / "log.jsonl"
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if log.exists() and log.read_text(encoding="utf-8").count("\n") >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"no {count} steps: {process.communicate()[1]}")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_training_goes_on_to_the_same_weights(examples: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Interrupted or killed in the middle, the same command ends with the weights of an undisturbed one, bit for bit."""
    assert execute(_arguments(examples, tmp_path / "whole", "--set", "epochs=60")) == 0
    process = _start(examples, tmp_path / "cut")
    _wait_for_steps(tmp_path / "cut", 5, process)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert "interrupted: " in said
        assert "resume with: turngap train" in said
        assert "Traceback" not in said
    assert not (tmp_path / "cut" / "model").exists()
    assert execute(_arguments(examples, tmp_path / "cut", "--set", "epochs=60")) == 0
    weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_a_second_process_is_refused(examples: Path, tmp_path: Path, capsys: Any) -> None:
    """While one trains, another one on the same directory ends with exit code 2 and says who is there."""
    process = _start(examples, tmp_path / "out", "--set", "epochs=500")
    try:
        _wait_for_steps(tmp_path / "out", 1, process)
        assert execute(_arguments(examples, tmp_path / "out", "--set", "epochs=60", "--set", "epochs=500")) == 2
        assert f"process {process.pid} is writing" in capsys.readouterr().err
    finally:
        process.kill()
        process.communicate()
