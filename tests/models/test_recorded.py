"""Predictions that somebody else made."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap.config import ModelConfig
from turngap.data import Conversation, Finish, Prediction, decisions
from turngap.errors import DataError, DataFault, UsageError
from turngap.models import Examined, ModelContext, Request, Seat, build
from turngap.models.recorded import Recorded


def _write(folder: Path, *records: Any) -> Path:
    path = folder / "predictions.jsonl"
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


def _ask(model: Recorded, conversation: Conversation, index: int, protocol: str = "gold") -> Prediction:
    seat = Seat(conversation=conversation.id, protocol=protocol, decision=index)
    return asyncio.run(model.act(Request(policy="", tools=conversation.tools, messages=(), seat=seat)))


def test_a_file_of_the_recorded_messages_gives_the_recording_back(
    tmp_path: Path, boat_conversation: Conversation, boat_record: dict[str, Any]
) -> None:
    """Predictions equal to the recording's own assistant messages read as its decisions, whatever their order."""
    own = [message for message in boat_record["messages"] if message["role"] == "assistant"]
    lines = [{"conversation": "boat", "decision": index, "message": message} for index, message in enumerate(own)]
    path = _write(tmp_path, *reversed(lines))
    model = build(ModelConfig(spec=f"recorded/{path}"))
    for decision in decisions(boat_conversation):
        prediction = _ask(model, boat_conversation, decision.index)
        assert prediction.message == decision.reference
        assert json.loads(prediction.raw) == own[decision.index]


def test_message_fields_may_stand_at_the_top_level(tmp_path: Path, boat_conversation: Conversation) -> None:
    """`content` and `tool_calls` without a `message` around them, parts, object arguments and a finish reason are read."""
    path = _write(
        tmp_path,
        {"conversation": "boat", "decision": 0, "tool_calls": [{"name": "list_slots", "arguments": {}}]},
        {
            "conversation": "boat",
            "decision": 1,
            "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "moment"}],
            "finish_reason": "length",
        },
    )
    model = Recorded(path)
    assert [call.name for call in _ask(model, boat_conversation, 0).message.calls] == ["list_slots"]
    second = _ask(model, boat_conversation, 1)
    assert (second.message.content, second.finish) == ("One moment", Finish.LENGTH)


def test_ing_01_ing_02_malformed_arguments_stay_a_malformed_call(
    tmp_path: Path, boat_conversation: Conversation
) -> None:
    """ING-01, ING-02: broken JSON is kept as text; null is complete only for a tool that requires nothing."""

    def line(index: int, name: str, arguments: Any) -> dict[str, Any]:
        call = {"type": "function", "function": {"name": name, "arguments": arguments}}
        return {"conversation": "boat", "decision": index, "message": {"content": None, "tool_calls": [call]}}

    broken = '{"booking_id": "BK-1042"'
    path = _write(tmp_path, line(0, "move_booking", broken), line(1, "get_booking", None), line(2, "list_slots", None))
    model = Recorded(path)
    calls = [_ask(model, boat_conversation, index).message.calls[0] for index in range(3)]
    assert [call.arguments for call in calls] == [None, None, {}]
    assert calls[0].raw == broken


def test_a_missing_prediction_is_a_fault_of_the_data(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A decision without a prediction is errored, never a model failure; the reason is the same for all of them."""
    path = _write(tmp_path, {"conversation": "boat", "decision": 0, "content": "Hello"})
    with pytest.raises(DataFault, match=r"predictions\.jsonl: no prediction$"):
        _ask(Recorded(path), boat_conversation, 2)


def test_a_replay_is_refused(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Recorded predictions announce that they know gold history only, and refuse to act in a replay."""
    model = Recorded(_write(tmp_path, {"conversation": "boat", "decision": 0, "content": "Hello"}))
    assert model.gold_only
    with pytest.raises(DataFault, match="--protocols text,turn,strict"):
        _ask(model, boat_conversation, 0, protocol="replay")


def test_identity_follows_the_content(tmp_path: Path) -> None:
    """Two files with other predictions are two models; the same content under another name is the same."""
    first = Recorded(_write(tmp_path, {"conversation": "a", "decision": 0, "content": "x"}))
    second = Recorded(_write(tmp_path, {"conversation": "a", "decision": 0, "content": "y"}))
    (tmp_path / "sub").mkdir()
    again = Recorded(_write(tmp_path / "sub", {"conversation": "a", "decision": 0, "content": "x"}))
    assert first.identity() != second.identity()
    assert first.identity() == again.identity()


_GOOD = {"conversation": "a", "decision": 0, "content": "x"}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"conversation": "a"', "predictions.jsonl:2: Expecting"),
        ("[]", "predictions.jsonl:2: should be an object"),
        ({"decision": 0, "content": ""}, "predictions.jsonl:2: conversation: "),
        ({"conversation": "a", "decision": True, "content": ""}, "predictions.jsonl:2: decision: "),
        ({"conversation": "a", "decision": -1, "content": ""}, "predictions.jsonl:2: decision: "),
        ({"conversation": "a", "decision": 1}, "predictions.jsonl:2: message: should hold content"),
        ({"conversation": "a", "decision": 1, "message": "x"}, "predictions.jsonl:2: message: should be"),
        ({"conversation": "a", "decision": 1, "message": {"content": 5}}, "predictions.jsonl:2: message.content: "),
        ({"conversation": "a", "decision": 1, "tool_calls": [{"id": "c"}]}, "predictions.jsonl:2: tool_calls[0]: "),
        (_GOOD, "predictions.jsonl:2: decision 0 of 'a' was predicted in line 1"),
    ],
)
def test_a_bad_line_is_one_clear_line(tmp_path: Path, second: Any, message: str) -> None:
    """Whatever is wrong in the file is said at once with file, line and field."""
    path = _write(tmp_path, _GOOD, second)
    with pytest.raises(DataError) as caught:
        Recorded(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_absent_or_empty_is_named(tmp_path: Path) -> None:
    """No file, and a file without predictions, are unreadable input."""
    with pytest.raises(DataError, match=r"absent\.jsonl: cannot be read: No such file"):
        Recorded(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match="holds no predictions"):
        Recorded(_write(tmp_path, ""))


@pytest.mark.parametrize("spec", ["recorded/", "recorded/x.jsonl?train=y"])
def test_a_spec_that_makes_no_sense_is_refused(spec: str) -> None:
    """A file has to be named, and there are no options."""
    with pytest.raises(UsageError):
        build(ModelConfig(spec=spec))


def test_a_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    """A pipe without a writer would hold the run for ever."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(DataError, match="no regular file"):
        build(ModelConfig(spec=f"recorded/{tmp_path / 'pipe.jsonl'}"))


def test_what_is_missing_and_what_is_of_no_use_are_a_line_each(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Before a run the file is held against the data: how many do not meet, and the first of each."""
    said: list[str] = []
    path = _write(
        tmp_path,
        {"conversation": "boat", "decision": 1, "content": "x"},
        {"conversation": "ship", "decision": 7, "content": "x"},
        {"conversation": "raft", "decision": 0, "content": "x"},
        {"conversation": "boat", "decision": 9, "content": "x"},
    )
    others = [msgspec.structs.replace(boat_conversation, id=name) for name in ("boat", "punt")]
    context = ModelContext(corpus=lambda: others, notify=said.append)
    model = build(ModelConfig(spec=f"recorded/{path}"), context)
    assert isinstance(model, Examined)
    request = Request(policy="", tools=(), messages=(), seat=Seat(conversation="boat", protocol="gold", decision=0))
    asyncio.run(model.preflight(request))
    assert said == [
        f"{path}: 7 x no prediction, first for decision 0 of 'boat'; these are errored",
        f"{path}: 2 x prediction for conversations that are not in the data, first in line 2: decision 7 of 'ship'",
        f"{path}: 1 x prediction for decisions that are not evaluated, first in line 4: decision 9 of 'boat'",
    ]


def test_a_file_that_fits_says_nothing(tmp_path: Path, boat_conversation: Conversation) -> None:
    """One prediction for each decision needs no word."""
    said: list[str] = []
    lines = [{"conversation": "boat", "decision": index, "content": "x"} for index in range(4)]
    data = [msgspec.structs.replace(boat_conversation, id="boat")]
    model = Recorded(_write(tmp_path, *lines), corpus=lambda: data, notify=said.append)
    request = Request(policy="", tools=(), messages=(), seat=Seat(conversation="boat", protocol="gold", decision=0))
    asyncio.run(model.preflight(request))
    assert said == []
