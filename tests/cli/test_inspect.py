"""`turngap inspect`: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from turngap.cli.main import execute


@pytest.fixture
def log(tmp_path: Path, boat_record: dict[str, Any]) -> Path:
    """A log of three records, one of them with personal data and an unanswered call."""
    odd = json.loads(json.dumps(boat_record))
    del odd["messages"][7]
    odd["messages"][1]["content"] = "I am ann@mail.org, Authorization: Bearer SENTINEL-5"
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in (boat_record, odd, boat_record)), encoding="utf-8")
    return path


def test_json_is_one_document(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints one document with counts that add up, and nothing else on standard output."""
    assert execute(["inspect", str(log), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["read"], report["skipped"], report["formats"]) == (3, 0, ["openai"])
    assert report["decisions"] == report["text_decisions"] + report["tool_decisions"] == 12
    assert (report["calls"], report["absent_results"]) == (6, 1)
    assert {tool["name"]: tool["calls"] for tool in report["tools"]}["move_booking"] == 3
    (absent,) = [oddity for oddity in report["oddities"] if oddity["kind"] == "absent_result"]
    assert absent["places"][0]["where"].endswith("log.jsonl:2: messages[6].tool_calls[0]")


def test_sec_11_personal_data_is_counted(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SEC-11: likely personal data and credentials are counted, and never shown."""
    execute(["inspect", str(log)])
    execute(["inspect", str(log), "--json"])
    out = capsys.readouterr().out
    assert "e-mail addresses" in out
    assert '"credential":{"values":1,"conversations":1}' in "".join(out.split())
    assert "SENTINEL-5" not in out
    assert "ann@mail.org" not in out


def test_table_names_the_essentials(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table shows decisions by kind, tools, oddities with places, and tools that are never called."""
    assert execute(["inspect", str(log)]) == 0
    out = capsys.readouterr().out
    for word in (
        "conversations",
        "tool",
        "text",
        "get_booking",
        "absent_result",
        "Declared, never called",
        "hand_over",
    ):
        assert word in out


def test_bad_records(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad records are named one by one on standard error; the report still comes; --skip-bad makes them no error."""
    log.write_text(log.read_text(encoding="utf-8") + 'broken\n{"messages": []}\n', encoding="utf-8")
    assert execute(["inspect", str(log), "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["skipped"] == 2
    assert [f"log.jsonl:{line}: " in captured.err for line in (4, 5)] == [True, True]
    assert execute(["inspect", str(log), "--json", "--skip-bad"]) == 0


def test_markup_in_data_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names from the data are printed as they are, without markup or control characters."""
    call = {"function": {"name": "[bold]x[/bold]\u001b[31m", "arguments": "{}"}}
    record = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]}
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert execute(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "[bold]x[/bold]" in out
    assert "\u001b" not in out


def test_nothing_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is one line on standard error and exit code 2."""
    assert execute(["inspect", str(tmp_path / "none.jsonl")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


def test_names_and_paths_are_whole_and_no_line_ends_in_white_space(
    tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Long tool names and long paths are printed in one piece; a path stands once, not before each place."""
    name = "transfer_the_whole_conversation_to_a_human_agent_who_knows_about_boats_and_engines"
    odd = json.loads(json.dumps(boat_record).replace("get_booking", name))
    del odd["messages"][7]
    folder = tmp_path / "recordings-of-a-desk-that-hires-out-boats" / "and-of-another-one-that-repairs-them"
    folder.mkdir(parents=True)
    for file in ("first.jsonl", "second.jsonl"):
        (folder / file).write_text(f"{json.dumps(odd)}\n" * 2, encoding="utf-8")
    assert execute(["inspect", str(folder)]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line != line.rstrip()] == []
    assert f"  {name}  " in out
    absent = out.partition("absent_result")[2].partition("\n  repeated")[0]
    assert absent.count("first.jsonl") == absent.count("second.jsonl") == 1
    assert f"    {folder / 'first.jsonl'}\n      line 1: messages[6].tool_calls[0]" in absent
    assert execute(["inspect", str(folder / "first.jsonl")]) == 0
    out = capsys.readouterr().out
    assert out.count("first.jsonl") == 1
    assert "\n    line 2: messages[6].tool_calls[0]" in out


def test_free_text_is_named_with_the_option_that_leaves_it_out(
    log: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Arguments that are sentences are listed, and the printed option is one that `eval` understands."""
    record = json.loads(json.dumps(boat_record))
    call = record["messages"][2]["tool_calls"][0]["function"]
    why = "The customer's boat leaks and there is nobody at the pier today."
    call["name"], call["arguments"] = "hand_over", json.dumps({"summary": why, "urgent": True})
    log.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert execute(["inspect", str(log)]) == 0
    out = capsys.readouterr().out
    assert "match word for word: hand_over.summary" in " ".join(out.split())
    option = shlex.split(next(line for line in out.splitlines() if "--compare-args" in line))[1]
    assert json.loads(option)["hand_over"] == ["urgent"]


def test_personal_values_are_counted_as_they_are_redacted(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One value in several conversations and spellings is one, here as in `convert --redact`."""
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for number, mail in enumerate(("ann@mail.org", "Ann@Mail.org", "bob@mail.org")):
        records[number]["messages"][1]["content"] = f"I am {mail}, 703-607-336{number // 2} or 703 607 336{number // 2}"
    log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert execute(["inspect", str(log), "--json"]) == 0
    personal = json.loads(capsys.readouterr().out)["personal"]
    assert personal["email"] == {"values": 2, "conversations": 3}
    assert personal["phone"] == {"values": 2, "conversations": 3}
    assert execute(["convert", str(log), str(log.with_name("out.jsonl")), "--redact"]) == 0
    assert "2 email, 2 phone, 0 card, 0 credential" in capsys.readouterr().err


def test_a_stranger_in_a_folder_is_named(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a folder holds beside the recordings is passed over with a note, also by `convert` and `eval`."""
    log.with_name("tools.json").write_text('[{"name": "look"}]', encoding="utf-8")
    folder, out = str(log.parent), str(log.parent.parent / "out.jsonl")
    run = str(log.parent.parent / "run")
    for command in (["inspect", folder], ["convert", folder, out]):
        assert execute(command) == 0
        assert "passed over, since not of the format openai: tools.json" in capsys.readouterr().err
    assert execute(["eval", folder, "--model", "baseline/reference", "--protocols", "strict", "-o", run]) == 0
    assert "passed over" in capsys.readouterr().err
