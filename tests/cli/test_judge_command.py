"""`turngap judge sample` and `calibrate` from the outside: a whole round, and what goes wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from turngap.cli.main import execute


@pytest.fixture
def run(tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> Path:
    """A run with verdicts of both kinds on twelve conversations."""
    data = tmp_path / "boats.jsonl"
    records = [{**boat_record, "id": f"b{number}"} for number in range(12)]
    data.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    model = "baseline/noisy?p_text=0.5&p_tool=0.5&seed=1"
    directory = tmp_path / "run"
    protocols = "turn,replay,workflow"
    assert execute(["eval", str(data), "--model", model, "--protocols", protocols, "-o", str(directory)]) == 0
    capsys.readouterr()
    return directory


def label(file: Path, value: str) -> None:
    """Fill in every row of a sheet."""
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "label": value} for row in rows)


def test_a_whole_round(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Draw, label, calibrate: when people approve everything, the corrected figure is 1."""
    sheet = tmp_path / "l.csv"
    assert execute(["judge", "sample", str(run), "-n", "20", "-o", str(sheet)]) == 0
    assert "20 verdicts of rules to label" in capsys.readouterr().out
    label(sheet, "yes")
    assert execute(["judge", "calibrate", str(run), str(sheet), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "turngap-calibration/1"
    assert document["labels"] == 20
    assessment = document["figures"]["turn.success"]["assessment"]
    assert assessment["corrected"]["value"] == 1
    assert assessment["specificity"]["value"] is None
    assert execute(["judge", "calibrate", str(run), str(sheet)]) == 0
    out = capsys.readouterr().out
    assert "corrected: good by people" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_sheet_is_never_overwritten(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The default file lies in the run, and labels in it are safe."""
    assert execute(["judge", "sample", str(run)]) == 0
    assert (run / "labels.csv").exists()
    before = (run / "labels.csv").read_bytes()
    assert execute(["judge", "sample", str(run)]) == 2
    assert "perhaps with labels" in capsys.readouterr().err
    assert (run / "labels.csv").read_bytes() == before


def test_rows_without_labels_are_counted(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty sheet is refused with file and what to do."""
    sheet = tmp_path / "w.jsonl"
    assert execute(["judge", "sample", str(run), "--protocol", "workflow", "-o", str(sheet)]) == 0
    assert execute(["judge", "calibrate", str(run), str(sheet)]) == 2
    assert "no row has a label yet" in capsys.readouterr().err
    lines = [json.loads(line) for line in sheet.read_text(encoding="utf-8").splitlines()]
    lines[0]["label"] = True
    sheet.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert execute(["judge", "calibrate", str(run), str(sheet)]) == 0
    assert "rows have no label yet" in capsys.readouterr().err


def test_a_sheet_of_another_run_is_refused(
    run: Path, tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with file, line and field."""
    sheet = tmp_path / "l.csv"
    assert execute(["judge", "sample", str(run), "-n", "4", "-o", str(sheet)]) == 0
    label(sheet, "no")
    data = tmp_path / "other.jsonl"
    data.write_text(json.dumps(boat_record), encoding="utf-8")
    other = tmp_path / "other"
    assert execute(["eval", str(data), "--model", "baseline/reference", "--protocols", "turn", "-o", str(other)]) == 0
    capsys.readouterr()
    assert execute(["judge", "calibrate", str(other), str(sheet)]) == 2
    assert "l.csv:2: item: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protocol", "strict"], "nobody judges 'strict'"),
        (["-n", "0"], "-n is at least 1"),
        (["--judge", "openai/j"], "turngap score with --judge openai/j"),
    ],
)
def test_what_makes_no_sense(run: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 with one line."""
    assert execute(["judge", "sample", str(run), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_group_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """`turngap judge --help` names both verbs, and an unknown one is a usage error."""
    assert execute(["judge", "--help"]) == 0
    out = capsys.readouterr().out
    assert "sample" in out
    assert "calibrate" in out
    assert execute(["judge", "bless"]) == 2
