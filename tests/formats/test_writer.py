"""Writing chat-completions: what is written reads back as the same conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.config import DataConfig
from turngap.data import (
    ABSENT_RESULT,
    AssistantMessage,
    Conversation,
    Source,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
    check,
)
from turngap.data.arguments import parse_call
from turngap.errors import DataError, UsageError
from turngap.formats import read, write

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
SAID = TEXT.filter(lambda text: bool(text.strip()) and "<think" not in text)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
TOOLS = (
    ToolSpec(name="look", description="Look\u2028up.", parameters={"type": "object", "required": ["id"]}),
    ToolSpec(name="list"),
)
ARGUMENTS = st.one_of(
    st.dictionaries(TEXT, VALUES, max_size=3),
    st.sampled_from(['{"a": ', "[1]", "null", "", "{'a': 1}", '"{\\"a\\": 1}"', None]),
    TEXT,
)


@st.composite
def calls_with_results(draw: Any) -> list[Any]:
    """A tool decision and its results."""
    specs = {spec.name: spec for spec in TOOLS}
    names = draw(st.lists(st.sampled_from(["look", "list", "unknown"]), min_size=1, max_size=3))
    calls = tuple(parse_call(name, draw(ARGUMENTS), specs.get(name)) for name in names)
    reasoning = draw(st.none() | SAID)
    found: list[Any] = [AssistantMessage(content=draw(st.just("") | SAID), calls=calls, reasoning=reasoning)]
    for name in names:
        absent = draw(st.booleans())
        content = ABSENT_RESULT if absent else draw(TEXT)
        found.append(ToolMessage(content=content, name=name, absent=absent, error=draw(st.booleans())))
    return found


@st.composite
def conversations(draw: Any) -> Conversation:
    """Sound conversations of every shape that readers produce."""
    messages: list[Any] = [UserMessage(content=draw(TEXT))]
    for block in draw(st.lists(st.sampled_from(["user", "system", "said", "calls"]), max_size=5)):
        if block in ("said", "calls") and isinstance(messages[-1], AssistantMessage):
            messages.append(UserMessage(content=draw(TEXT)))
        if block == "calls":
            messages += draw(calls_with_results())
        elif block == "said":
            messages.append(AssistantMessage(content=draw(SAID), reasoning=draw(st.none() | SAID)))
        else:
            messages.append((SystemMessage if block == "system" else UserMessage)(content=draw(TEXT)))
    return Conversation(
        id=draw(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5)),
        policy=draw(TEXT),
        tools=TOOLS,
        messages=tuple(messages),
        goal=draw(st.none() | TEXT),
        reward=draw(st.none() | st.floats(0, 1)),
        compare_args=draw(st.just({}) | st.just({"look": ()}) | st.just({"look": ("id",)})),
        metadata=draw(st.dictionaries(TEXT, VALUES, max_size=2)),
    )


@given(st.lists(conversations(), max_size=3, unique_by=lambda conversation: conversation.id))
def test_round_trip(tmp_path_factory: Any, made: list[Conversation]) -> None:
    """Read after write gives the same conversations, apart from where they stand."""
    assert all(check(conversation) is None for conversation in made)
    path = tmp_path_factory.mktemp("trip") / "out.jsonl"
    assert write(made, path) == len(made)
    if not made:
        return
    found = [msgspec.structs.replace(c, source=Source()) for c in read(DataConfig(paths=(str(path),), format="openai"))]
    assert found == made


def test_records_are_valid_chat_completions(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Ids pair, arguments are JSON text, content is null beside calls without text."""
    path = tmp_path / "out.jsonl"
    write([boat_conversation], path)
    record = json.loads(path.read_text(encoding="utf-8"))
    calling, result = record["messages"][2], record["messages"][3]
    assert calling["content"] is None
    assert calling["tool_calls"][0]["id"] == result["tool_call_id"]
    assert json.loads(calling["tool_calls"][0]["function"]["arguments"]) == {"booking_id": "BK-1042"}
    assert record["tools"][0]["type"] == "function"


def test_where_a_case_starts_survives(tmp_path: Path, boat_conversation: Conversation) -> None:
    """The first evaluated decision of a case is written and read; a whole recording has no such key."""
    path = tmp_path / "out.jsonl"
    case = msgspec.structs.replace(boat_conversation, id="case", start=2)
    write([boat_conversation, case], path)
    assert [json.loads(line).get("start") for line in path.read_text(encoding="utf-8").splitlines()] == [None, 2]
    assert [found.start for found in read(DataConfig(paths=(str(path),)))] == [0, 2]


@pytest.mark.parametrize("start", [-1, 4, "2", True, 1.0])
def test_a_start_that_is_no_decision_is_refused(tmp_path: Path, boat_record: dict[str, Any], start: Any) -> None:
    """Where a case starts has to be one of its assistant messages; file, line and field are named."""
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(boat_record | {"start": start}), encoding="utf-8")
    with pytest.raises(DataError, match=r"out\.jsonl:1: start: .* of the 4 assistant messages"):
        list(read(DataConfig(paths=(str(path),), format="openai")))


def test_nothing_is_left_when_reading_fails(tmp_path: Path, boat_conversation: Conversation) -> None:
    """A failure on the way leaves neither the file nor a part of it, and an older file as it was."""

    def broken() -> Any:
        yield boat_conversation
        raise DataError("broken")

    path = tmp_path / "out.jsonl"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(DataError):
        write(broken(), path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.jsonl", "old")]


def test_no_such_folder(tmp_path: Path) -> None:
    """A place that cannot be written is one clear line."""
    with pytest.raises(UsageError, match="cannot be written"):
        write([], tmp_path / "none" / "out.jsonl")


def test_other_formats_are_not_written(tmp_path: Path) -> None:
    """Only chat-completions is written; the message says so."""
    with pytest.raises(UsageError, match="known: openai"):
        write([], tmp_path / "x", "sgd")


def test_a_folder_is_no_file(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Also one whose path has no name of its own."""
    for folder in (tmp_path, Path(), Path("/")):
        with pytest.raises(UsageError, match="cannot be written: Is a directory"):
            write([boat_conversation], folder)
