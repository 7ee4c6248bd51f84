"""`turngap convert`: whole or not at all, never over its input, and redacted on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap.cli.main import execute
from turngap.config import DataConfig
from turngap.data import AssistantMessage
from turngap.formats import read


@pytest.fixture
def log(tmp_path: Path, boat_record: dict[str, Any]) -> Path:
    """Two records, the second one with personal data in text, arguments and result, and a reward of 0."""
    secret = json.loads(json.dumps(boat_record))
    secret["reward"] = 0
    secret["messages"][1]["content"] = "I am ann@mail.org, 703-607-3363, 4111 1111 1111 1111."
    call = secret["messages"][2]["tool_calls"][0]["function"]
    call["name"], call["arguments"] = "find_customer", '{"email": "ann@mail.org"}'
    secret["messages"][3]["content"] = '{"email": "ann@mail.org", "header": "Authorization: Bearer SENTINEL-5"}'
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in (boat_record | {"reward": 1}, secret)), encoding="utf-8")
    return path


def test_convert(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The result reads back to the same conversations; what was done is said on standard error."""
    out = tmp_path / "out.jsonl"
    assert execute(["convert", str(log), str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2 conversations written" in captured.err
    before, after = (list(read(DataConfig(paths=(str(path),)))) for path in (log, out))
    assert [(c.id, c.policy, c.messages, c.tools, c.reward) for c in before] == [
        (c.id, c.policy, c.messages, c.tools, c.reward) for c in after
    ]


def test_only_successful(log: Path, tmp_path: Path) -> None:
    """--only-successful writes those alone."""
    out = tmp_path / "out.jsonl"
    assert execute(["convert", str(log), str(out), "--only-successful"]) == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1


def test_sec_11_redact(log: Path, tmp_path: Path) -> None:
    """SEC-11: no personal value remains, and the same value has the same stand-in in text, call and result."""
    out = tmp_path / "out.jsonl"
    assert execute(["convert", str(log), str(out), "--redact"]) == 0
    text = out.read_text(encoding="utf-8")
    assert [value in text for value in ("ann@mail.org", "703-607-3363", "4111 1111", "SENTINEL-5")] == [False] * 4
    conversation = list(read(DataConfig(paths=(str(out),))))[1]
    decision = conversation.messages[1]
    assert isinstance(decision, AssistantMessage)
    arguments = decision.calls[0].arguments
    assert arguments is not None
    assert arguments["email"] in conversation.messages[0].content
    assert arguments["email"] in conversation.messages[2].content


def test_never_over_the_input(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Writing over the input is refused, also by another path to it, and the input stays."""
    before = log.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(log)
    for out in (log, tmp_path / "link.jsonl"):
        assert execute(["convert", str(log), str(out)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert log.read_bytes() == before


def test_bad_records_leave_nothing(log: Path, tmp_path: Path) -> None:
    """A bad record stops the conversion without a file; --skip-bad writes the others."""
    log.write_text(log.read_text(encoding="utf-8") + "broken\n", encoding="utf-8")
    out = tmp_path / "out.jsonl"
    assert execute(["convert", str(log), str(out)]) == 2
    assert not out.exists()
    assert execute(["convert", str(log), str(out), "--skip-bad"]) == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2


def test_unknown_target(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A format that is not written, and a folder that is not there, are said in one line."""
    assert execute(["convert", str(log), str(tmp_path / "x"), "--to", "sgd"]) == 2
    assert execute(["convert", str(log), str(tmp_path / "none" / "x")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
