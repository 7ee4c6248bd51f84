"""ToolTalk conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap.config import DataConfig
from turngap.data import AssistantMessage, Conversation, ToolMessage
from turngap.errors import BadRecords
from turngap.formats import read


def api(name: str, response: Any = None, exception: Any = None) -> dict[str, Any]:
    """One recorded call."""
    return {
        "request": {"api_name": name, "parameters": {"session_token": "t"}},
        "response": response,
        "exception": exception,
    }


def conversation(*apis: dict[str, Any]) -> dict[str, Any]:
    """A file with one turn that makes calls."""
    turns = [{"role": "user", "text": "Log in and set it."}, {"role": "assistant", "text": "Done.", "apis": list(apis)}]
    return {
        "name": "set-1",
        "conversation_id": "u-u-i-d",
        "apis_used": [],
        "scenario": "The user sets it.",
        "metadata": {"location": "Lake", "timestamp": "2031-05-01 09:00:00"},
        "conversation": turns,
    }


CATALOGUE = [
    {
        "name": "Set",
        "description": "Set it.",
        "parameters": {"what": {"type": "string", "required": False}},
        "requires_auth": True,
    },
    {"name": "Login", "parameters": {"user": {"type": "string", "required": True}}, "requires_auth": False},
]


def one(folder: Path, value: Any) -> Conversation:
    """The conversation of a folder with a catalogue one level up."""
    (folder / "easy").mkdir()
    (folder / "tools.json").write_text(json.dumps(CATALOGUE), encoding="utf-8")
    (folder / "easy" / "set.json").write_text(json.dumps(value, indent=1), encoding="utf-8")
    (found,) = read(DataConfig(paths=(str(folder),)))
    return found


def test_each_call_is_a_decision_before_the_text(tmp_path: Path) -> None:
    """Calls of one turn are decisions of their own, in order, each with its result, and the text comes last."""
    found = one(tmp_path, conversation(api("Login", {"session_token": "t"}), api("Set", {"ok": True})))
    kinds = [type(message).__name__ for message in found.messages]
    assert kinds == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]
    assert found.messages[-1] == AssistantMessage(content="Done.")
    assert found.messages[2] == ToolMessage(content='{"session_token":"t"}', name="Login")
    assert (found.id, found.goal) == ("set-1", "The user sets it.")


def test_what_the_agent_knows_is_the_policy(tmp_path: Path) -> None:
    """Place and time of the recording stand in the policy."""
    assert "location: Lake\ntimestamp: 2031-05-01 09:00:00" in one(tmp_path, conversation()).policy


def test_exceptions_are_errors(tmp_path: Path) -> None:
    """An exception is an error result; no response at all is an absent result."""
    found = one(tmp_path, conversation(api("Set", exception="no such user"), api("Set")))
    results = [message for message in found.messages if isinstance(message, ToolMessage)]
    assert (results[0].content, results[0].error, results[1].absent) == ('{"error":"no such user"}', True, True)


def test_the_catalogue_gives_the_tools(tmp_path: Path) -> None:
    """Required flags become a list, and tools behind a login get the token that their calls carry."""
    first, second = one(tmp_path, conversation()).tools
    assert set(first.parameters["properties"]) == {"session_token", "what"}
    assert first.parameters["required"] == ["session_token"]
    assert second.parameters["required"] == ["user"]
    assert "required" not in second.parameters["properties"]["user"]


def test_unknown_role(tmp_path: Path) -> None:
    """A role that is neither side is named."""
    broken = conversation()
    broken["conversation"][0]["role"] = "narrator"
    with pytest.raises(BadRecords, match=r"conversation\[0\]\.role: unknown role 'narrator'"):
        one(tmp_path, broken)
