"""Fixtures shared by all tests: the boat-hire desk, and the folder of real recordings where it exists."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer

from turngap.data import (
    AssistantMessage,
    Conversation,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

# Read when torch is imported, by whatever test that is: no network, and threads that do not spin while they wait.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_booking",
        "parameters": {
            "type": "object",
            "properties": {"booking_id": {"type": "string"}},
            "required": ["booking_id"],
            "additionalProperties": False,
        },
    },
    {
        "name": "find_customer",
        "parameters": {
            "type": "object",
            "properties": {"email": {"type": "string"}},
            "required": ["email"],
            "additionalProperties": False,
        },
    },
    {
        "name": "move_booking",
        "parameters": {
            "type": "object",
            "properties": {
                "booking_id": {"type": "string"},
                "date": {"type": "string"},
                "seats": {"type": "integer", "default": 1},
                "deposit": {"type": "number"},
                "notify": {"type": "boolean", "default": True},
                "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            },
            "required": ["booking_id", "date"],
            "additionalProperties": False,
        },
    },
    {
        "name": "set_contact",
        "parameters": {
            "type": "object",
            "properties": {
                "booking_id": {"type": "string"},
                "contact": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "postcode": {"type": "string"}},
                },
            },
            "required": ["booking_id"],
        },
    },
    {
        "name": "add_note",
        "parameters": {
            "type": "object",
            "properties": {"booking_id": {"type": "string"}, "text": {"type": "string"}},
            "required": ["booking_id", "text"],
        },
    },
    {"name": "list_slots", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "hand_over",
        "parameters": {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]},
    },
]
_POLICY = "You work for a boat hire. Look a booking up before you change it. Ask for a yes before you move it. Today is 2031-05-01."


@pytest.fixture
def boat_tools() -> tuple[ToolSpec, ...]:
    """The tools of the boat-hire desk."""
    return tuple(ToolSpec(name=tool["name"], parameters=tool["parameters"]) for tool in _TOOLS)


@pytest.fixture
def boat_record() -> dict[str, Any]:
    """The boat-hire conversation as one record of chat-completions JSONL."""

    def call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }

    return {
        "tools": [{"type": "function", "function": tool} for tool in json.loads(json.dumps(_TOOLS))],
        "messages": [
            {"role": "system", "content": _POLICY},
            {"role": "user", "content": "Please move BK-1042 to 2 May."},
            call("c1", "get_booking", {"booking_id": "BK-1042"}),
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": '{"booking_id": "BK-1042", "date": "2031-04-30", "seats": 2, "state": "open"}',
            },
            {"role": "assistant", "content": "It is for two people on 30 April. Shall I move it to 2 May?"},
            {"role": "user", "content": "Yes."},
            call("c2", "move_booking", {"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2}),
            {"role": "tool", "tool_call_id": "c2", "content": '{"ok": true}'},
            {"role": "assistant", "content": "Done, your booking is on 2 May."},
        ],
    }


@pytest.fixture
def boat_conversation(boat_tools: tuple[ToolSpec, ...]) -> Conversation:
    """The boat-hire conversation: four decisions, two of them tool decisions, two user turns."""
    move = {"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2}
    return Conversation(
        id="boat",
        policy=_POLICY,
        tools=boat_tools,
        messages=(
            UserMessage(content="Please move BK-1042 to 2 May."),
            AssistantMessage(calls=(ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"}),)),
            ToolMessage(
                name="get_booking",
                content='{"booking_id": "BK-1042", "date": "2031-04-30", "seats": 2, "state": "open"}',
            ),
            AssistantMessage(content="It is for two people on 30 April. Shall I move it to 2 May?"),
            UserMessage(content="Yes."),
            AssistantMessage(calls=(ToolCall(name="move_booking", arguments=move),)),
            ToolMessage(name="move_booking", content='{"ok": true}'),
            AssistantMessage(content="Done, your booking is on 2 May."),
        ),
    )


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real recordings that developers may have beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of real recordings beside the checkout")
    return folder


@pytest.fixture
def chat_server() -> Iterator[Callable[..., ChatServer]]:
    """Start scripted chat-completions servers: ``chat_server([text("Hello.")])``; they stop with the test."""
    servers: list[ChatServer] = []

    def start(script: Any) -> ChatServer:
        servers.append(ChatServer(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
