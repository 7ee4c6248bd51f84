"""A run of trials written as recordings: each trial a conversation that turngap reads again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import boats
import pytest

from turngap.cli.main import execute
from turngap.config import DataConfig
from turngap.data import AssistantMessage, UserMessage
from turngap.data.conversation import check
from turngap.formats import read
from turngap.formats import tasks as task_files


@pytest.fixture
def run(tmp_path: Path, capsys: Any) -> Path:
    """Six trials of three tasks, of which some fail, in a copy of the domain."""
    (tmp_path / "boathouse.py").write_text(Path(boats.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    task_files.write(tmp_path / "tasks.json", [boats.task(1), boats.task(2), boats.task(3)])
    where = ["--domain", str(tmp_path / "boathouse.py"), "--tasks", str(tmp_path / "tasks.json"), "--trials", "2"]
    model = "baseline/noisy?p_tool=0.5&p_text=1&seed=3"
    assert execute(["rollout", *where, "--model", model, "-o", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    return tmp_path / "run"


def test_each_trial_is_a_conversation(run: Path, tmp_path: Path, capsys: Any) -> None:
    """Policy, tools, messages and reward of every trial; no mark of the simulated user; valid as recordings are."""
    out = tmp_path / "out.jsonl"
    assert execute(["convert", str(run), str(out)]) == 0
    assert f"6 trials written to {out}" in capsys.readouterr().err
    found = list(read(DataConfig(paths=(str(out),))))
    assert [one.id for one in found] == [f"move-{task}/{trial}" for task in (1, 2, 3) for trial in (0, 1)]
    assert all(check(one) is None and one.policy == boats.POLICY for one in found)
    assert {tool.name for one in found for tool in one.tools} == {tool.name for tool in boats.DOMAIN.tools}
    assert {one.reward for one in found} == {0.0, 1.0}
    said = [message.content for one in found for message in one.messages if isinstance(message, UserMessage)]
    assert said and not any("###" in text for text in said)


def test_only_successful_trials(run: Path, tmp_path: Path, capsys: Any) -> None:
    """Those alone that count as a success, and how many were left out."""
    every, good = tmp_path / "every.jsonl", tmp_path / "good.jsonl"
    assert execute(["convert", str(run), str(every)]) == 0
    assert execute(["convert", str(run), str(good), "--only-successful"]) == 0
    wanted = [one.id for one in read(DataConfig(paths=(str(every),))) if one.reward == 1]
    found = list(read(DataConfig(paths=(str(good),))))
    assert [one.id for one in found] == wanted and 0 < len(wanted) < 6
    assert (
        f"{len(wanted)} trials written to {good}; {6 - len(wanted)} not successful left out" in capsys.readouterr().err
    )
    made = [call.name for one in found for m in one.messages if isinstance(m, AssistantMessage) for call in m.calls]
    assert "move_booking" in made and "move_booking_unknown" not in made


def test_what_makes_no_sense_for_a_run_is_refused(run: Path, tmp_path: Path, capsys: Any) -> None:
    """Options for recordings, an unknown format, no folder to write to: one line, exit 2, nothing written."""
    out = tmp_path / "out.jsonl"
    for options, saying in (
        (["--skip-bad"], "written without --skip-bad"),
        (["--from", "openai"], "written without --from"),
        (["--to", "tau2", "--redact"], "written without --redact"),
        (["--to", "csv"], "cannot write format 'csv'"),
    ):
        assert execute(["convert", str(run), str(out), *options]) == 2
        assert saying in capsys.readouterr().err
    assert execute(["convert", str(run), str(tmp_path / "none" / "out.jsonl")]) == 2
    assert not out.exists()


def test_another_policy_than_the_agent_had_is_refused(run: Path, tmp_path: Path, capsys: Any) -> None:
    """What stands in the file as the policy is what the agent was given, or there is no file."""
    shop = tmp_path / "boathouse.py"
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "boathouse.py").write_text(shop.read_text(encoding="utf-8").replace("MARKER-17", "X"), encoding="utf-8")
    text = (run / "run.json").read_text(encoding="utf-8")
    assert str(shop) in text
    shop.rename(tmp_path / "gone.py")
    assert execute(["convert", str(run), str(tmp_path / "out.jsonl")]) == 2
    assert "there is no domain file" in capsys.readouterr().err
    (other / "boathouse.py").rename(shop)
    # A module is loaded once in a process: the changed policy is seen by a fresh one alone.
    command = [sys.executable, "-m", "turngap", "convert", str(run), str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "the policy of" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
