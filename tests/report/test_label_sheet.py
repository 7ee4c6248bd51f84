"""Sheets for people: written blind, safe to open, and read back with their labels."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest

from turngap.analysis.calibration import Item
from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Conversation,
    Prediction,
    Spoken,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    Verdict,
    decisions,
)
from turngap.errors import DataError
from turngap.report.label_sheet import COLUMNS, SHOWN, read_sheet, write_csv, write_jsonl

FORMULA = '=HYPERLINK("http://example.org","click")'


@pytest.fixture
def item(boat_conversation: Conversation) -> Item:
    """The last decision, with a prediction that a spreadsheet would run."""
    decision = list(decisions(boat_conversation))[-1]
    return Item(
        id="v0123456789abcdv",
        protocol="turn",
        kind="text",
        conversation=msgspec.structs.replace(boat_conversation, id="1-2"),
        decision=decision,
        result=Prediction(message=AssistantMessage(content=FORMULA)),
        verdict=Verdict(success=False, category="SENTINEL", rationale="the judge's SENTINEL reason"),
    )


def rows(text: str) -> list[dict[str, str]]:
    """A CSV as a spreadsheet program reads it."""
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def fill(text: str, file: Path, label: str, *, delimiter: str = ",") -> Path:
    """Put one label into every row, as a person with a spreadsheet program does."""
    table = rows(text)
    with file.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(table[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows({**row, "label": label} for row in table)
    return file


def test_a_sheet_is_blind(item: Item) -> None:
    """Nothing of what the judge said is in it, unless it is asked for."""
    assert "SENTINEL" not in write_csv([item], "rules", show_verdict=False)
    assert "SENTINEL" not in write_jsonl([item], "rules", show_verdict=False)
    assert tuple(rows(write_csv([item], "rules", show_verdict=False))[0]) == COLUMNS
    (row,) = rows(write_csv([item], "rules", show_verdict=True))
    assert [row[name] for name in SHOWN] == ["no", "SENTINEL", "the judge's SENTINEL reason"]


def test_a_row_holds_what_is_needed_to_judge(item: Item) -> None:
    """History up to the decision, the recorded decision, the prediction, the policy; nothing after it."""
    (row,) = rows(write_csv([item], "rules", show_verdict=False))
    assert 'Agent calls move_booking {"booking_id":"BK-1042"' in row["history"]
    assert 'Result of move_booking: {"ok": true}' in row["history"]
    assert "Done, your booking" not in row["history"]
    assert row["reference"] == "Agent: Done, your booking is on 2 May."
    assert row["policy"].startswith("You work for a boat hire")
    assert (row["decision"], row["kind"], row["judge"]) == ("3", "text", "rules")


def test_sec_09_no_cell_runs_as_a_formula(item: Item) -> None:
    """SEC-09: ids, texts and rationales from data and models are disarmed; the decision stays a number."""
    hostile = msgspec.structs.replace(
        item, conversation=msgspec.structs.replace(item.conversation, id="-1+1", policy="\u200b=1+1")
    )
    (row,) = rows(write_csv([hostile], "@judge", show_verdict=True))
    for name, cell in row.items():
        assert cell.lstrip("\u200b \t\r\n")[:1] not in tuple("=+-@") or not cell, name
    assert row["conversation"] == "'-1+1"
    assert row["decision"] == "3"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_sheet_comes_back_from_any_spreadsheet(item: Item, tmp_path: Path, delimiter: str) -> None:
    """Delimiters of other countries, the mark in front and line breaks in cells are read."""
    file = fill(write_csv([item], "@judge", show_verdict=False), tmp_path / "l.csv", " Yes ", delimiter=delimiter)
    sheet = read_sheet(file)
    assert (sheet.protocol, sheet.judge, sheet.unlabelled) == ("turn", "@judge", 0)
    assert [(label.item, label.good, label.line) for label in sheet.labels] == [("v0123456789abcdv", True, 2)]


@pytest.mark.parametrize(
    ("word", "good"),
    [("yes", True), ("1", True), ("GOOD", True), ("no", False), ("0.0", False), ("bad", False), ("unclear", None)],
)
def test_spellings_of_a_label(item: Item, tmp_path: Path, word: str, good: bool | None) -> None:
    """The words that people write."""
    file = fill(write_csv([item], "rules", show_verdict=False), tmp_path / "l.csv", word)
    assert read_sheet(file).labels[0].good is good


def test_a_bad_row_is_named(item: Item, tmp_path: Path) -> None:
    """File, line of the row (cells with line breaks counted) and field."""
    second = msgspec.structs.replace(item, id="v1v")
    text = write_csv([item, second], "rules", show_verdict=False)
    file = fill(text, tmp_path / "l.csv", "yes")
    table = rows(file.read_text(encoding="utf-8-sig"))
    lines = sum(cell.count("\n") for cell in table[0].values())
    file.write_text(file.read_text(encoding="utf-8-sig").replace("v1v,yes", "v1v,maybe"), encoding="utf-8", newline="")
    with pytest.raises(DataError, match=rf"l.csv:{3 + lines}: label: 'maybe' is no label; write yes, no or unclear"):
        read_sheet(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the first line should name the columns"),
        ("a,b\n1,2\n", "the first line should name the columns"),
        ("item,label,protocol,judge\nv1v,,turn,rules\n", "no row has a label yet"),
        ("item,label,protocol,judge\nv1v,yes\n", "l.csv:2: protocol: the row ends before this column"),
        ("item,label,protocol,judge\nv1v,yes,turn,a\nv2v,yes,turn,b\n", "l.csv:3: judge: 'b', but 'a'"),
    ],
)
def test_a_sheet_that_is_none(tmp_path: Path, content: str, message: str) -> None:
    """One line that says what is missing."""
    file = tmp_path / "l.csv"
    file.write_text(content)
    with pytest.raises(DataError, match=message):
        read_sheet(file)


def test_a_sheet_in_another_encoding(tmp_path: Path) -> None:
    """What to do is said."""
    file = tmp_path / "l.csv"
    file.write_bytes("item,label,protocol,judge\nv1v,yes,tur\xe9,a".encode("latin-1"))
    with pytest.raises(DataError, match="save it as CSV in UTF-8"):
        read_sheet(file)
    with pytest.raises(DataError, match="cannot be read"):
        read_sheet(tmp_path / "none.csv")


def test_jsonl_holds_everything_and_comes_back(item: Item, tmp_path: Path) -> None:
    """The tools are there, texts are as they are, and labels may be booleans."""
    record = json.loads(write_jsonl([item], "rules", show_verdict=False))
    assert record["prediction"] == f"Agent: {FORMULA}"
    assert {tool["name"] for tool in record["tools"]} >= {"get_booking"}
    file = tmp_path / "l.jsonl"
    file.write_text(json.dumps({**record, "label": False}) + "\n\n" + json.dumps({**record, "item": "v2v"}) + "\n")
    sheet = read_sheet(file)
    assert [label.good for label in sheet.labels] == [False]
    assert sheet.unlabelled == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "l.jsonl:1: not JSON"), ("[]", "should be an object"), ('{"item": 3}', "item: should be a text")],
)
def test_bad_jsonl_is_named(tmp_path: Path, content: str, message: str) -> None:
    """File, line and field."""
    file = tmp_path / "l.jsonl"
    file.write_text(content)
    with pytest.raises(DataError, match=message):
        read_sheet(file)


def test_a_replay_is_told_with_what_became_of_its_calls(boat_conversation: Conversation) -> None:
    """Accepted and rejected calls are marked, with the result that each got."""
    call = ToolCall(name="get_booking", arguments={"booking_id": "BK-9"})
    events = (
        Spoken(message=UserMessage(content="Hello.")),
        Acted(
            message=AssistantMessage(content="Let me look.", calls=(call,)),
            results=(ToolMessage(name="get_booking", content="no such booking", error=True),),
            verdicts=(CallVerdict(accepted=False),),
        ),
        Acted(message=AssistantMessage(content="Sorry.")),
    )
    item = Item(
        id="v1v",
        protocol="workflow",
        kind="tools",
        conversation=boat_conversation,
        decision=None,
        result=Trajectory(conversation="boat", events=events),
        verdict=Verdict(success=True),
    )
    (row,) = rows(write_csv([item], "rules", show_verdict=False))
    assert row["prediction"].splitlines() == [
        "User: Hello.",
        "Agent: Let me look.",
        'Agent calls get_booking {"booking_id":"BK-9"}: rejected',
        "Result of get_booking: no such booking",
        "Agent: Sorry.",
    ]
    assert row["decision"] == ""
