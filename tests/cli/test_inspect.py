"""`turngap inspect`: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
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
