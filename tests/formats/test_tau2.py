"""Results of tau2-bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap.config import DataConfig
from turngap.data import AssistantMessage, Conversation, ToolMessage, UserMessage
from turngap.errors import BadRecords
from turngap.formats import Reading, read


def call(name: str, requestor: str = "assistant", call_id: str = "c") -> dict[str, Any]:
    """A tool call as tau2 writes it."""
    return {"id": call_id, "name": name, "arguments": {"x": 1}, "requestor": requestor}


def result(content: str, requestor: str = "assistant", call_id: str = "c", error: bool = False) -> dict[str, Any]:
    """A tool message as tau2 writes it."""
    return {"role": "tool", "id": call_id, "content": content, "requestor": requestor, "error": error}


MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Hi!", "tool_calls": None},
    {"role": "user", "content": "No signal.", "tool_calls": None},
    {"role": "assistant", "content": None, "tool_calls": [call("look"), call("look", call_id="d")]},
    {"role": "tool", "tool_messages": [result("D", call_id="d"), result("C", error=True)]},
    {"role": "assistant", "content": "Check the bar."},
    {"role": "user", "content": None, "tool_calls": [call("status", "user")]},
    result("no bars", "user"),
    {"role": "user", "content": "No bars."},
    {"role": "assistant", "content": None, "tool_calls": [call("hand_over")]},
    result("ok"),
]


def simulation(**more: Any) -> dict[str, Any]:
    """One simulation."""
    plain = {"id": "s1", "task_id": "t", "trial": 0, "termination_reason": "user_stop", "messages": MESSAGES}
    return plain | {"reward_info": {"reward": 1.0}} | more


def document(*simulations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A results file."""
    task = {
        "id": "t",
        "user_scenario": {
            "instructions": {"reason_for_call": "No signal", "known_info": "Me", "task_instructions": "."}
        },
        "evaluation_criteria": {
            "actions": [
                {"name": "hand_over", "arguments": {}, "compare_args": []},
                {"name": "look", "arguments": {}, "compare_args": ["x"]},
                {"name": "look", "arguments": {}, "compare_args": None},
            ]
        },
    }
    tools = [{"type": "function", "function": {"name": "look"}}]
    info = {"environment_info": {"domain_name": "telecom", "policy": "Be kind.", "tool_defs": tools}}
    return {"timestamp": "now", "info": info, "tasks": [task], "simulations": list(simulations)} | more


def reading(folder: Path, value: Any, name: str = "results.json", **settings: Any) -> Reading:
    """A reading of one file."""
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return read(DataConfig(paths=(str(folder / name),), **settings))


def one(found: Reading) -> Conversation:
    """The only conversation."""
    (conversation,) = found
    return conversation


def test_a_simulation(tmp_path: Path) -> None:
    """Policy, tools, goal, reward and compared arguments come from where tau2 keeps them."""
    conversation = one(reading(tmp_path, document(simulation())))
    assert (conversation.id, conversation.policy, conversation.reward) == ("s1", "Be kind.", 1.0)
    assert [spec.name for spec in conversation.tools] == ["look"]
    assert conversation.goal == "Reason for the call: No signal\nKnown to the user: Me"
    assert conversation.compare_args == {"hand_over": ()}
    assert conversation.metadata["domain"] == "telecom"


def test_the_users_calls_are_not_the_agents(tmp_path: Path) -> None:
    """Calls that the user makes and their results are left out and counted."""
    found = reading(tmp_path, document(simulation()))
    conversation = one(found)
    names = [c.name for m in conversation.messages if isinstance(m, AssistantMessage) for c in m.calls]
    assert names == ["look", "look", "hand_over"]
    users = [message.content for message in conversation.messages if isinstance(message, UserMessage)]
    assert users == ["No signal.", "No bars."]
    assert found.oddity_counts == {"user_calls": 1}


def test_wrapped_results_and_errors(tmp_path: Path) -> None:
    """Several results in one wrapper find their calls; errors stay errors."""
    conversation = one(reading(tmp_path, document(simulation())))
    results = [message for message in conversation.messages if isinstance(message, ToolMessage)]
    assert [(message.content, message.error) for message in results] == [("C", True), ("D", False), ("ok", False)]


def test_the_opening_greeting_is_a_decision(tmp_path: Path) -> None:
    """A conversation may open with the agent."""
    assert one(reading(tmp_path, document(simulation()))).messages[0] == AssistantMessage(content="Hi!")


def test_directory_form(tmp_path: Path) -> None:
    """An index with simulations beside it reads the same by folder, by index and by simulation file, and once only."""
    index = document()
    del index["simulations"]
    (tmp_path / "results.json").write_text(json.dumps(index), encoding="utf-8")
    (tmp_path / "simulations").mkdir()
    single = tmp_path / "simulations" / "s1.json"
    single.write_text(json.dumps(simulation()), encoding="utf-8")
    for path in (tmp_path, tmp_path / "results.json", single):
        conversation = one(read(DataConfig(paths=(str(path),))))
        assert (conversation.id, conversation.policy) == ("s1", "Be kind.")
        assert conversation.goal is not None


def test_a_voice_run_has_no_conversation(tmp_path: Path) -> None:
    """Ticks without messages are one clear error and are not counted as a conversation."""
    voice = simulation(id="v", messages=None, ticks=[{}])
    with pytest.raises(BadRecords, match=r"simulations\[0\]\.messages: no conversation in it \(a voice run"):
        list(reading(tmp_path, document(voice)))
    found = reading(tmp_path, document(voice, simulation()), skip_bad=True)
    assert [c.id for c in found] == ["s1"]
    assert found.n_skipped == 1


def test_an_index_without_simulations(tmp_path: Path) -> None:
    """An index whose folder is missing says what is missing."""
    index = document()
    del index["simulations"]
    with pytest.raises(BadRecords, match="no simulations in it"):
        list(reading(tmp_path, index))


def test_unknown_role(tmp_path: Path) -> None:
    """An unknown role names its simulation and message."""
    with pytest.raises(BadRecords, match=r"simulations\[0\]\.messages\[0\]\.role: unknown role 'robot'"):
        list(reading(tmp_path, document(simulation(messages=[{"role": "robot"}]))))
