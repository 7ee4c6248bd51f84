"""`turngap shrink` and `--protocols horizon` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap import samples
from turngap.cli.main import execute

NOISY = "baseline/noisy?p_tool=0.4&p_text=1&seed=1"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A run in which replays failed."""
    directory = tmp_path / "run"
    options = ["--model", NOISY, "--protocols", "replay", "-o", str(directory), "--json"]
    assert execute(["eval", str(samples.path()), *options]) == 0
    capsys.readouterr()
    return directory


def test_cases_are_written_and_fail_again(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way: cut, write, evaluate; nothing completes."""
    cases = tmp_path / "cases.jsonl"
    assert execute(["shrink", str(run), "-o", str(cases), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["file"] == str(cases) and found["uncut"] == []
    assert len(found["cases"]) == len(cases.read_text(encoding="utf-8").splitlines()) > 10
    assert all(case["kept"] <= case["messages"] and case["complete"] for case in found["cases"])
    options = ["--model", NOISY, "--protocols", "replay", "-o", str(tmp_path / "again"), "--json"]
    assert execute(["eval", str(cases), *options]) == 0
    figures = json.loads(capsys.readouterr().out)["metrics"]
    assert figures["replay.completed"]["value"] == 0.0
    assert figures["replay.completed"]["n"] == len(found["cases"])


def test_one_conversation_and_a_line_for_it(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who wants only one gets one, with what it is and how much is left of it."""
    one = str(tmp_path / "one.jsonl")
    assert execute(["shrink", str(run), "-o", one, "--json"]) == 0
    name = json.loads(capsys.readouterr().out)["cases"][3]["conversation"]
    assert execute(["shrink", str(run), "--conversation", name, "-o", one]) == 0
    shown = capsys.readouterr()
    (line,) = shown.out.splitlines()
    assert line.startswith(f"{name}: wrong_tool at decision ") and " messages, " in line
    assert "one.jsonl" in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--conversation", "nobody"], "no failed replay of nobody"),
        (["--max-calls", "0"], "--max-calls is at least 1"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    run: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """Wrong usage: exit code 2, one line, no file."""
    assert execute(["shrink", str(run), *options, "-o", str(run / "cases.jsonl")]) == 2
    error = capsys.readouterr().err
    assert message in error.splitlines()[-1]
    assert not (run / "cases.jsonl").exists()


def test_a_bound_that_is_too_small_writes_nothing(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No case was found: said for each, and no empty file is left."""
    cases = tmp_path / "cases.jsonl"
    assert execute(["shrink", str(run), "--max-calls", "1", "-o", str(cases)]) == 0
    shown = capsys.readouterr()
    assert "does not fail in this way again within 1 calls" in shown.out
    assert "nothing was written" in shown.err and not cases.exists()


def test_horizon_is_asked_for_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`all,horizon` adds it to the five; its figures and predictions are in the document, its rows in the table."""
    arguments = ["eval", str(samples.path()), "--model", NOISY, "--horizon-max", "3", "-o", str(tmp_path / "run")]
    assert execute([*arguments, "--protocols", "all,horizon", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["protocols"] == ["text", "turn", "strict", "replay", "workflow", "horizon"]
    assert [name for name in document["metrics"] if name.startswith("horizon.")] == [f"horizon.{h}" for h in (1, 2, 3)]
    assert [point["h"] for point in document["horizon"]] == [1, 2, 3]
    assert document["horizon"][1]["predicted"] == document["metrics"]["horizon.1"]["value"] ** 2
    assert execute([*arguments, "--protocols", "horizon"]) == 0
    shown = capsys.readouterr().out
    assert "horizon.3" in shown and "3 decisions (p^3: " in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_all_does_not_contain_horizon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It costs a multiple of the others, as the plan says; a wrong number is refused."""
    arguments = ["eval", str(samples.path()), "--model", "openai/m", "-o", str(tmp_path / "run")]
    assert execute([*arguments, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["horizon_calls"] == 0
    assert execute([*arguments, "--dry-run", "--json", "--protocols", "all,horizon", "--horizon-max", "2"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["decisions"] < plan["horizon_calls"] < 2 * plan["decisions"]
    assert execute([*arguments, "--horizon-max", "0"]) == 2
    assert "horizon.max is at least 1, not 0" in capsys.readouterr().err
