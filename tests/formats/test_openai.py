"""Chat-completions recordings in the shapes that logs really have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap.config import DataConfig
from turngap.data import AssistantMessage, Conversation, SystemMessage, ToolMessage, decisions
from turngap.errors import BadRecords
from turngap.formats import Reading, read


def reading(folder: Path, *records: Any, **settings: Any) -> Reading:
    """A reading of records in a JSONL file."""
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read(DataConfig(paths=(str(path),), **settings))


def one(folder: Path, record: Any) -> Conversation:
    """The conversation that one record reads to."""
    (conversation,) = reading(folder, record)
    return conversation


def with_call(**message: Any) -> dict[str, Any]:
    """A record with one call and its result."""
    call = {"id": "c1", "type": "function", "function": {"name": "get_booking", "arguments": '{"booking_id":"BK-1"}'}}
    return {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [call], **message},
            {"role": "tool", "tool_call_id": "c1", "content": "{}"},
        ]
    }


def test_the_fixture(tmp_path: Path, boat_record: dict[str, Any], boat_conversation: Conversation) -> None:
    """The boat-hire record reads to the boat-hire conversation."""
    found = one(tmp_path, boat_record)
    assert (found.policy, found.tools) == (boat_conversation.policy, boat_conversation.tools)
    assert found.messages == boat_conversation.messages
    assert found.source.line == 1


@pytest.mark.parametrize("content", [{"content": None}, {"content": ""}, {}, {"content": []}])
def test_ing_13_empty_content(tmp_path: Path, content: dict[str, Any]) -> None:
    """ING-13: null, empty, absent and [] beside a call are the same tool decision."""
    message = one(tmp_path, with_call(**content)).messages[1]
    assert isinstance(message, AssistantMessage)
    assert (message.content, message.kind) == ("", "tool")


def test_ing_21_arguments_as_object_and_as_string(tmp_path: Path) -> None:
    """ING-21: both forms of arguments read to the same call."""
    as_text, as_object = with_call(), with_call()
    as_object["messages"][1]["tool_calls"][0]["function"]["arguments"] = {"booking_id": "BK-1"}
    first, second = reading(tmp_path, as_text, as_object)
    assert first.messages == second.messages


@pytest.mark.parametrize("arguments", ['{"booking_id": "BK-1"', '"BK-1"', [1], 17, None])
def test_ing_01_02_malformed_arguments(tmp_path: Path, boat_record: dict[str, Any], arguments: Any) -> None:
    """ING-01, ING-02: what is no JSON object stays one malformed call with its text."""
    boat_record["messages"][2]["tool_calls"][0]["function"]["arguments"] = arguments
    found = reading(tmp_path, boat_record)
    (conversation,) = found
    call = next(decisions(conversation)).reference.calls[0]
    assert call.arguments is None
    assert call.raw
    assert call.error
    assert found.oddity_counts["malformed_call"] == 1


def test_legacy_function_call(tmp_path: Path) -> None:
    """`function_call`, role `function` and `functions` read as calls, results and tools."""
    record = {
        "functions": [{"name": "get_booking", "parameters": {"type": "object", "properties": {}}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "function_call": {"name": "get_booking", "arguments": "{}"}},
            {"role": "function", "name": "get_booking", "content": "done"},
        ],
    }
    conversation = one(tmp_path, record)
    assert [spec.name for spec in conversation.tools] == ["get_booking"]
    assert conversation.messages[2] == ToolMessage(content="done", name="get_booking")


def test_tools_as_json_text(tmp_path: Path) -> None:
    """`tools` may be JSON text."""
    record = with_call() | {"tools": json.dumps([{"type": "function", "function": {"name": "get_booking"}}])}
    assert [spec.name for spec in one(tmp_path, record).tools] == ["get_booking"]


def test_reasoning_parts_and_developer(tmp_path: Path) -> None:
    """Reasoning fields, parts, developer and later system messages have their places."""
    record = {
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "kind."}]},
            {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {}}]},
            {"role": "system", "content": "Now in French."},
            {"role": "assistant", "content": "Oui", "reasoning_content": "French", "weight": 1},
        ]
    }
    found = reading(tmp_path, record)
    (conversation,) = found
    assert conversation.policy == "Be\nkind."
    assert conversation.messages[0].content == "See\n[image]"
    assert conversation.messages[1] == SystemMessage(content="Now in French.")
    assert conversation.messages[2] == AssistantMessage(content="Oui", reasoning="French")
    assert found.oddity_counts == {"non_text_part": 1}


def test_typed_parts(tmp_path: Path) -> None:
    """Parts of reasoning, text and calls, and one tool message with the results of a batch."""
    calls = [{"type": "tool_call", "value": json.dumps({"name": n, "arguments": {}})} for n in ("a", "b")]
    results = [{"tool_call_id": str(i), "name": n, "content": n.upper()} for i, n in enumerate("ab")]
    record = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "value": "hi"}]},
            {"role": "assistant", "content": [{"type": "reasoning", "value": "hm"}, *calls]},
            {"role": "tool", "content": [{"type": "text", "value": json.dumps(results)}]},
        ]
    }
    conversation = one(tmp_path, record)
    decision = next(decisions(conversation)).reference
    assert (decision.reasoning, [call.name for call in decision.calls]) == ("hm", ["a", "b"])
    assert [message.content for message in conversation.messages[2:]] == ["A", "B"]


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([{"role": "user", "content": "hi"}, {"role": "robot", "content": "x"}], "messages[1].role"),
        ([{"role": "user", "content": {"a": 1}}], "messages[0].content"),
        (["hi"], "messages[0]"),
        ("hi", "messages"),
        ([], "messages"),
        ([{"role": "assistant", "tool_calls": ["x"]}], "messages[0].tool_calls[0]"),
    ],
)
def test_unreadable_records_name_the_field(tmp_path: Path, messages: Any, field: str) -> None:
    """What cannot be read says file, line and field."""
    with pytest.raises(BadRecords) as caught:
        list(reading(tmp_path, {"messages": messages}))
    assert (caught.value.line, caught.value.field) == (1, field)
    assert "log.jsonl:1" in str(caught.value)


def test_lists_and_single_documents(tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """A JSON list, a pretty-printed object and a one-line object are read as well."""
    expected = one(tmp_path, boat_record).messages
    for text in (json.dumps([boat_record], indent=1), json.dumps(boat_record, indent=2), json.dumps(boat_record)):
        path = tmp_path / "log.json"
        path.write_text(text, encoding="utf-8")
        assert [c.messages for c in read(DataConfig(paths=(str(path),)))] == [expected]


def test_identity_does_not_depend_on_order(tmp_path: Path) -> None:
    """Ids come from the record or its content, never from its place."""
    records = [with_call(content="a"), with_call(content="b"), with_call() | {"id": "mine"}]
    forward = {c.id for c in reading(tmp_path, *records)}
    assert forward == {c.id for c in reading(tmp_path, *reversed(records))}
    assert "mine" in forward
