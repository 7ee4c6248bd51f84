"""`turngap eval` and `turngap score` from the outside: output, exit codes, resuming, secrets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer, Say, Status, Step, call, text

from turngap.cli.main import execute


@pytest.fixture
def data(tmp_path: Path, boat_record: dict[str, Any]) -> Path:
    """Three conversations of the boat-hire desk in one file."""
    path = tmp_path / "boats.jsonl"
    records = []
    for number in range(3):
        record = json.loads(json.dumps(boat_record))
        record["messages"][1]["content"] = f"Please move BK-1042 to 2 May. My number is {number}."
        records.append(json.dumps(record))
    path.write_text("\n".join(records), encoding="utf-8")
    return path


def _answer(body: dict[str, Any], _count: int) -> Step:
    """A model that does what the recording did, from what it is shown."""
    results = sum(message["role"] == "tool" for message in body["messages"])
    last = body["messages"][-1]["role"]
    if last == "user" and results == 0:
        return call("get_booking", {"booking_id": "BK-1042"})
    if last == "user":
        return call("move_booking", {"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2})
    if results == 1:
        return text("It is for two people on 30 April. Shall I move it to 2 May?")
    return text("Done, your booking is on 2 May.")


def _slowly(body: dict[str, Any], count: int) -> Step:
    step = _answer(body, count)
    assert isinstance(step, Say)
    step.delay = 0.15
    return step


def _run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turngap", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}, **environment},
    )


def _document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    found: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    return found


def test_json_is_one_document_and_metrics_json_the_same_without_run(data: Path, tmp_path: Path) -> None:
    """With --json standard output holds one strict document; `run` is beside what metrics.json holds."""
    done = _run("eval", data, "--model", "baseline/reference", "-o", tmp_path / "run", "--json")
    assert done.returncode == 0
    document = _document(done)
    assert document.pop("run") == str(tmp_path / "run")
    assert document == json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert document["n"] == {
        "conversations": 3,
        "tool_conversations": 3,
        "decisions": 12,
        "text_decisions": 6,
        "tool_decisions": 6,
        "errored": 0,
    }
    for name in ("text.rouge1", "strict.exact", "strict.arg_f1", "replay.completed", "workflow.success"):
        assert document["metrics"][name]["value"] == 1.0
    assert "predict 12/12" in done.stderr


def test_the_table_goes_to_standard_output_and_progress_elsewhere(data: Path, tmp_path: Path) -> None:
    """Without --json the table is plain text when piped; the run directory is named on standard error."""
    done = _run("eval", data, "--model", "baseline/reference", "-o", tmp_path / "run")
    assert done.returncode == 0
    assert done.stdout.startswith("baseline/reference on")
    assert "workflow.success" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr.endswith(f"run: {tmp_path / 'run'}\n")


def test_repeating_the_command_asks_nothing_again(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """RUN-12: a second run of the same command sends no request and prints the same figures byte for byte."""
    server = chat_server(_answer)
    command = ("eval", data, "--model", "openai/m", "--base-url", server.url, "-o", tmp_path / "run", "--json")
    first = _run(*command)
    asked = len(server.requests)
    second = _run(*command)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert first.stdout == second.stdout
    assert len(server.requests) == asked
    assert _document(first)["metrics"]["replay.completed"]["value"] == 1.0


def test_errored_units_make_exit_1_and_are_said(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """A server that only fails: every unit errored, no figure, exit 1; --max-errored allows a number of them."""
    server = chat_server([Status(500, "broken")])
    command = (
        "eval",
        data,
        "--model",
        "openai/m",
        "--base-url",
        server.url,
        "--give-up-after",
        0,
        "-o",
        tmp_path / "r",
    )
    done = _run(*command, "--protocols", "strict", "--json")
    assert done.returncode == 1, done.stderr
    document = _document(done)
    assert document["n"]["errored"] == 12
    assert document["metrics"]["strict.exact"] == {"value": None, "n": 0, "ci95": None}
    assert document["ledger"]["strict"]["causes"]["endpoint"] == 6
    (errored,) = [note for note in document["notes"] if note.startswith("errored, ")]
    assert errored.startswith("errored, 12 x endpoint:")
    assert "HTTP 500: broken; given up" in errored
    assert _run(*command, "--protocols", "strict", "--max-errored", 12).returncode == 0


def test_dry_run_counts_and_asks_nobody(data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]) -> None:
    """--dry-run says calls, tokens and money without a request and without a run directory."""
    server = chat_server(_answer)
    config = tmp_path / "prices.toml"
    config.write_text("[model.prices]\nprompt = 1000\ncompletion = 2000\n", encoding="utf-8")
    command = ("eval", data, "--model", "openai/m", "--base-url", server.url, "-o", tmp_path / "run", "--dry-run")
    done = _run(*command, "--config", config)
    assert done.returncode == 0
    assert "12 calls on recorded history, about 12 in replay" in done.stdout
    assert "cost about" in done.stdout
    assert _document(_run(*command, "--json"))["cost"] is None
    assert server.requests == []
    assert not (tmp_path / "run").exists()


def test_sec_01_secrets_stay_out_of_everything(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """SEC-01: key and URL parts are in no file of the run and in no output, also when the server echoes the key."""
    server = chat_server(lambda _body, count: Status(401, "bad key SENTINEL-2") if count > 5 else text("hello"))
    url = server.url.replace("http://", "http://user:SENTINEL-3@") + "?key=SENTINEL-1"
    done = _run(
        *("eval", data, "--model", "openai/m", "--base-url", url, "--give-up-after", 0, "-o", tmp_path / "run"),
        OPENAI_API_KEY="SENTINEL-2\r\n",
        TURNGAP_DEBUG="1",
    )
    assert len(server.requests) > 0, done.stderr
    assert "SENTINEL" not in done.stdout + done.stderr
    for file in (tmp_path / "run").rglob("*"):
        assert b"SENTINEL" not in file.read_bytes(), file.name


def test_run_09_an_interrupted_run_resumes_to_the_same_figures(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """RUN-09, RUN-12: interrupted in the middle, exit 130; the command that is printed ends with undisturbed figures."""
    server = chat_server(_slowly)
    options = ("--model", "openai/m", "--base-url", server.url, "--concurrency", "2", "--json")
    command = [sys.executable, "-m", "turngap", "eval", str(data), "-o", str(tmp_path / "run"), *options]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(server.requests) < 7:
        assert program.poll() is None
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=20)
    assert program.returncode == 130
    assert out == ""
    assert "resume with: turngap eval" in err
    assert "Traceback" not in err
    resumed = _run(*command[3:])
    assert resumed.returncode == 0, resumed.stderr
    undisturbed = _run("eval", data, "-o", tmp_path / "other", *options)
    theirs, ours = _document(undisturbed), _document(resumed)
    assert (ours.pop("run"), theirs.pop("run")) == (str(tmp_path / "run"), str(tmp_path / "other"))
    assert ours == theirs


def test_score_gives_the_same_figures_without_the_model(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """Re-scoring with nothing changed prints what eval printed, and sends no request."""
    server = chat_server(_answer)
    run = tmp_path / "run"
    first = _run("eval", data, "--model", "openai/m", "--base-url", server.url, "-o", run, "--json")
    asked = len(server.requests)
    again = _run("score", run, "--json")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    fewer = _document(_run("score", run, "--json", "--compare-args", '{"move_booking": ["booking_id"]}'))
    assert fewer["metrics"]["strict.exact"]["value"] == 1.0
    assert len(server.requests) == asked


def test_a_second_judge_has_figures_of_its_own(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """`score --judge` with an LLM judge adds its figures and the agreement; --save-prompts writes what it was sent."""
    server = chat_server([text('{"success": true, "failure_category": "none", "rationale": "fine"}')])
    run, prompts = tmp_path / "run", tmp_path / "prompts.jsonl"
    assert _run("eval", data, "--model", "baseline/noisy?p_text=0&p_tool=0", "-o", run).returncode == 0
    done = _run(
        *("score", run, "--judge", "rules", "--judge", "openai/judge", "--judge-base-url", server.url),
        *("--save-prompts", prompts, "--json"),
    )
    assert done.returncode == 0, done.stderr
    document = _document(done)
    assert document["metrics"]["turn.success"]["value"] == 0.0
    second = next(judge for judge in document["judges"]["turn"] if judge != "rules")
    assert document["judges"]["turn"] == ["rules", second]
    assert document["metrics"][f"turn.success@{second}"]["value"] == 1.0
    assert document["agreement"]["turn"]["observed"] == 0.0
    assert len(prompts.read_text(encoding="utf-8").splitlines()) == len(server.requests) > 0


def test_other_settings_in_the_same_directory_are_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RUN-02: one line that names what differs, exit 2, and nothing is changed."""
    run = str(tmp_path / "run")
    assert execute(["eval", str(data), "--model", "baseline/reference", "-o", run]) == 0
    before = (tmp_path / "run" / "metrics.json").read_bytes()
    capsys.readouterr()
    assert execute(["eval", str(data), "--model", "baseline/noisy?p_tool=0.5", "-o", run]) == 2
    assert "model.spec" in capsys.readouterr().err
    assert (tmp_path / "run" / "metrics.json").read_bytes() == before


def test_unknown_names_in_compare_args_are_refused(data: Path, tmp_path: Path) -> None:
    """A typo in --compare-args is exit 2 with what comes near, before there is a run; in score, before any change."""
    run = tmp_path / "run"
    options = ("--model", "baseline/reference", "-o", run)
    wrong = ("--compare-args", '{"move_booking": ["bookingid"]}')
    done = _run("eval", data, *options, *wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert "move_booking has no argument 'bookingid'; did you mean booking_id?" in done.stderr
    assert not run.exists()
    assert _run("eval", data, *options, *wrong, "--dry-run").returncode == 2
    assert _run("eval", data, *options).returncode == 0
    before = (run / "metrics.json").read_bytes()
    assert _run("score", run, "--compare-args", '{"move_boking": []}').returncode == 2
    assert (run / "metrics.json").read_bytes() == before
    told = _document(_run("score", run, "--compare-args", '{"move_booking": ["booking_id"]}', "--json"))
    assert "calls were compared by these arguments only: move_booking (booking_id)" in told["notes"]


def test_the_judges_named_give_the_figures(data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]) -> None:
    """`score --judge B`: B has the plain names and stands alone, also for gate and compare; `score` brings rules back."""
    server = chat_server([text('{"success": true, "failure_category": "none", "rationale": "fine"}')])
    run, judge = tmp_path / "run", ("--judge", "openai/judge", "--judge-base-url", server.url)
    assert _run("eval", data, "--model", "baseline/noisy?p_text=0&p_tool=0", "-o", run).returncode == 0
    alone = _document(_run("score", run, *judge, "--json"))
    assert alone["judges"] == {"turn": ["openai/judge"], "workflow": ["openai/judge"]}
    assert alone["metrics"]["turn.success"]["value"] == 1.0
    assert not [name for name in (*alone["metrics"], *alone["ledger"]) if "@" in name]
    assert any(note.startswith("also stored, and in no figure: turn@rules, workflow@rules") for note in alone["notes"])
    (tmp_path / "gate.toml").write_text('[[rule]]\nmetric = "turn.success@openai/judge"\nmin = 0.9\n', encoding="utf-8")
    assert _run("gate", run, "--rules", tmp_path / "gate.toml").returncode == 0
    other = tmp_path / "other"
    assert _run("eval", data, "--model", "baseline/reference", "-o", other).returncode == 0
    refused = _run("compare", run, other)
    assert refused.returncode == 2
    assert "judge.name is 'openai/judge', there 'rules'" in refused.stderr
    both = _document(_run("score", run, *judge, "--judge", "rules", "--json"))
    assert both["judges"]["turn"] == ["openai/judge", "rules"]
    assert (both["metrics"]["turn.success"]["value"], both["metrics"]["turn.success@rules"]["value"]) == (1.0, 0.0)
    own = _document(_run("score", run, "--protocols", "turn", "--json"))
    assert own["judges"] == {"turn": ["rules"], "workflow": ["openai/judge", "rules"]}
    assert own["metrics"]["turn.success"]["value"] == 0.0


def test_reading_again_says_that_replays_stay(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """Calls in text that nobody read are noted; another parser changes the predictions only, and all say so."""
    written = '<tool_call>{"name": "get_booking", "arguments": {"booking_id": "BK-1042"}}</tool_call>'
    server = chat_server([text(written)])
    run = tmp_path / "run"
    command = ("eval", data, "--model", "openai/m", "--base-url", server.url, "-o", run)
    first = _document(_run(*command, "--tool-parser", "none", "--json"))
    assert first["answers"]["gold"] == {"total": 12, "unparsed_calls": 12, "tool_parser": "none"}
    assert first["answers"]["closed_loops"]["unparsed_calls"] == first["answers"]["closed_loops"]["total"] > 0
    assert first["metrics"]["strict.name"]["value"] == 0.0
    assert any(note.startswith("12 of 12 answers on recorded history look like tool calls") for note in first["notes"])
    again = _document(_run("score", run, "--tool-parser", "hermes", "--json"))
    assert again["metrics"]["strict.exact"]["value"] == 0.5
    assert again["metrics"]["replay.completed"] == first["metrics"]["replay.completed"]
    assert again["tool_parser"] == {
        "text": "hermes",
        "turn": "hermes",
        "strict": "hermes",
        "replay": "none",
        "workflow": "none",
    }
    assert again["answers"]["gold"]["unparsed_calls"] == 0
    assert any("are those made with the tool parser 'none'" in note for note in again["notes"])
    shown = " ".join(_run("score", run, "--tool-parser", "hermes").stdout.split())
    assert "these do not compare: text, turn, strict with 'hermes'; replay, workflow with 'none'" in shown


def test_a_model_without_tools_is_told_before_the_first_request(
    data: Path, tmp_path: Path, chat_server: Callable[..., ChatServer]
) -> None:
    """Recordings with calls and without schemas: standard error, notes and table say that tool figures say nothing."""
    bare = tmp_path / "bare.jsonl"
    records = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    bare.write_text("\n".join(json.dumps({"messages": one["messages"]}) for one in records), encoding="utf-8")
    server = chat_server([text("Hello.")])
    command = ("eval", bare, "--model", "openai/m", "--base-url", server.url)
    done = _run(*command, "-o", tmp_path / "run")
    warning = "the model was offered no tools in 3 of 3 conversations with calls"
    assert done.stderr.index(warning) < done.stderr.index("predict 12/12")
    assert warning in " ".join(done.stdout.split())
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["notes"][0].startswith(warning)
    assert warning in _run(*command, "--dry-run").stdout
    assert warning not in _run("eval", bare, "--model", "baseline/reference", "-o", tmp_path / "other").stdout


def test_a_baseline_calls_nothing(data: Path) -> None:
    """--dry-run of a model that answers by itself says so, and counts no calls and no tokens."""
    done = _run("eval", data, "--model", "baseline/nearest", "--dry-run")
    assert "model: baseline/nearest answers by itself; nothing is called" in done.stdout
    assert "calls on recorded history" not in done.stdout
    plan = _document(
        _run("eval", data, "--model", "baseline/nearest", "--protocols", "all,horizon", "--dry-run", "--json")
    )
    assert (plan["calls_model"], plan["cost"]) == (False, 0.0)
    counts = ("gold_calls", "replay_calls", "horizon_calls", "prompt_tokens", "completion_tokens")
    assert [plan[name] for name in counts] == [0] * 5
    assert plan["decisions"] == 12
