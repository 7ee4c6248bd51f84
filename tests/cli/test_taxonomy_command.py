"""`turngap taxonomy` from the outside: table, drill-down, JSON, labels by a model, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer, text

from turngap.cli.main import execute


@pytest.fixture
def run(tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> Path:
    """A run of a model that errs at every call, on four conversations."""
    data = tmp_path / "boats.jsonl"
    records = []
    for number in range(4):
        record = json.loads(json.dumps({**boat_record, "id": f"b{number}"}))
        record["messages"][1]["content"] += f" I am customer {number}."
        records.append(record)
    data.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    model = "baseline/noisy?p_text=1&p_tool=0&seed=1"
    directory = tmp_path / "run"
    assert execute(["eval", str(data), "--model", model, "--protocols", "replay", "-o", str(directory)]) == 0
    capsys.readouterr()
    return directory


def test_the_table_fits_and_names_the_reasons(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Categories, findings and due tools, in 80 columns."""
    assert execute(["taxonomy", str(run)]) == 0
    out = capsys.readouterr().out
    assert "4 replays: 0 completed, 4 failed; 0 errored" in out
    assert all(word in out for word in ("category", "finding", "due tool", "get_booking"))
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_one_document(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything, with the run in front."""
    assert execute(["taxonomy", str(run), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"] == str(run)
    assert sum(row["count"] for row in document["categories"]) == document["failed"] == 4


def test_drill_down(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One conversation's failure with its evidence; an unknown name lists the known ones."""
    assert execute(["taxonomy", str(run), "--show", "b2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("b2, decision 0, event")
    assert "b1" not in out
    assert execute(["taxonomy", str(run), "--show", "nonsense"]) == 2
    assert "there are: " in capsys.readouterr().err


def test_a_run_without_replays(tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 with what to do."""
    data = tmp_path / "boats.jsonl"
    data.write_text(json.dumps(boat_record), encoding="utf-8")
    arguments = ["eval", str(data), "--model", "baseline/reference", "--protocols", "strict", "-o", str(tmp_path / "r")]
    assert execute(arguments) == 0
    assert execute(["taxonomy", str(tmp_path / "r")]) == 2
    assert "run turngap eval with --protocols replay first" in capsys.readouterr().err


def test_a_model_labels_from_the_users_list(
    run: Path, tmp_path: Path, chat_server: Callable[..., ChatServer], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every failure is asked about once, with the added label among the choices; repeating asks nothing."""
    labels = tmp_path / "labels.toml"
    labels.write_text('salt_water = "something only boats have"\n')
    answer = text(json.dumps({"label": "salt_water", "rationale": "Wet."}))
    server = chat_server(lambda _body, _count: answer)
    arguments = [
        *("taxonomy", str(run), "--judge", "openai/j", "--judge-base-url", server.url),
        *("--labels", str(labels), "--label-all"),
    ]
    assert execute(arguments) == 0
    out = capsys.readouterr().out
    assert "label by openai/j" in out
    assert "salt_water" in out
    assert len(server.requests) == 4
    assert "something only boats have" in server.requests[0]["messages"][1]["content"]
    assert execute(arguments) == 0
    assert len(server.requests) == 4


def test_labels_that_cannot_be_had_exit_with_1(
    run: Path, chat_server: Callable[..., ChatServer], capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is printed all the same."""
    server = chat_server(lambda _body, _count: text("no idea"))
    arguments = ["taxonomy", str(run), "--judge", "openai/j", "--judge-base-url", server.url, "--label-all"]
    assert execute(arguments) == 1
    assert "4 could not be labelled" in capsys.readouterr().out


def test_labels_need_a_judge_with_a_model(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2: `rules` cannot name causes, and --labels alone means nothing."""
    assert execute(["taxonomy", str(run), "--judge", "rules"]) == 2
    assert "give a language model" in capsys.readouterr().err
    assert execute(["taxonomy", str(run), "--label-all"]) == 2
    assert "need a judge" in capsys.readouterr().err


def test_what_an_id_holds_does_not_reach_the_terminal(
    tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences, direction marks and line breaks of an id are shown in its line; JSON has the id as it is."""
    name = "a\x1b[2J\u202eb\nnext"
    data, run = tmp_path / "boats.jsonl", tmp_path / "run"
    data.write_text(json.dumps({**boat_record, "id": name}), encoding="utf-8")
    model = "baseline/noisy?p_text=1&p_tool=0&seed=1"
    assert execute(["eval", str(data), "--model", model, "--protocols", "replay", "-o", str(run)]) == 0
    capsys.readouterr()
    assert execute(["taxonomy", str(run), "--show", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a\ufffd[2J\ufffdb\ufffdnext, decision 0")
    assert "\x1b" not in out
    assert execute(["taxonomy", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cases"][0]["conversation"] == name
