"""Schema-Guided Dialogue files and their schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turngap.config import DataConfig
from turngap.data import AssistantMessage, Conversation, ToolMessage
from turngap.errors import BadRecords
from turngap.formats import read
from turngap.formats.sgd_schema import tool_specs


def service(name: str, *methods: str) -> dict[str, Any]:
    """A service with a categorical and a free slot."""
    slots = [
        {"name": "kind", "description": "Which", "is_categorical": True, "possible_values": ["A", "B"]},
        {"name": "place", "description": "Where", "is_categorical": False, "possible_values": []},
    ]
    intents = [
        {"name": m, "description": m, "required_slots": ["place"], "optional_slots": {"kind": "dontcare"}}
        for m in methods
    ]
    return {"service_name": name, "description": f"All of {name}", "slots": slots, "intents": intents}


def frame(service_name: str, method: str, results: Any) -> dict[str, Any]:
    """A frame with a call."""
    call = {"method": method, "parameters": {"place": "here"}}
    return {"service": service_name, "service_call": call, "service_results": results}


def dialogue(*frames: dict[str, Any], services: tuple[str, ...] = ("Boats_1",)) -> dict[str, Any]:
    """A dialogue of two turns."""
    turns = [
        {"speaker": "USER", "utterance": "A boat.", "frames": []},
        {"speaker": "SYSTEM", "utterance": "Here it is.", "frames": list(frames)},
    ]
    return {"dialogue_id": "1_0", "services": list(services), "turns": turns}


def one(folder: Path, value: Any, schema: Any = None) -> Conversation:
    """The conversation of a file, with a schema beside it."""
    (folder / "dialogues.json").write_text(json.dumps([value]), encoding="utf-8")
    if schema:
        (folder / "dev_schema.json").write_text(json.dumps(schema), encoding="utf-8")
    (conversation,) = read(DataConfig(paths=(str(folder),)))
    return conversation


def test_a_system_turn_with_a_call(tmp_path: Path) -> None:
    """The call comes first, then its results as JSON, then the turn's text; the schema in the folder gives the tools."""
    conversation = one(tmp_path, dialogue(frame("Boats_1", "Find", [{"n": "1"}])), [service("Boats_1", "Find")])
    calling, result, text = conversation.messages[1:]
    assert isinstance(calling, AssistantMessage)
    assert (calling.content, calling.calls[0].arguments) == ("", {"place": "here"})
    assert result == ToolMessage(content='[{"n":"1"}]', name="Find")
    assert text == AssistantMessage(content="Here it is.")
    assert [spec.name for spec in conversation.tools] == ["Find"]
    assert "All of Boats_1" in conversation.policy


def test_shared_method_names(tmp_path: Path) -> None:
    """Where two services of a dialogue share a method, the service's name tells them apart, in tools and calls."""
    frames = [frame("Boats_1", "Find", []), frame("Boats_2", "Find", [])]
    schema = [service("Boats_1", "Find"), service("Boats_2", "Find", "Hire")]
    conversation = one(tmp_path, dialogue(*frames, services=("Boats_1", "Boats_2")), schema)
    calling = conversation.messages[1]
    assert isinstance(calling, AssistantMessage)
    assert [call.name for call in calling.calls] == ["Boats_1_Find", "Boats_2_Find"]
    assert [spec.name for spec in conversation.tools] == ["Boats_1_Find", "Boats_2_Find", "Hire"]


def test_schema_to_json_schema() -> None:
    """Required slots, defaults and categorical values become JSON Schema; the marker dontcare is a value of its enum."""
    (spec,) = tool_specs([service("Boats_1", "Find")])
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "Where"},
            "kind": {"type": "string", "description": "Which", "enum": ["A", "B", "dontcare"], "default": "dontcare"},
        },
        "required": ["place"],
    }


def test_unknown_speaker(tmp_path: Path) -> None:
    """A speaker that is neither side is named."""
    broken = dialogue()
    broken["turns"][0]["speaker"] = "NARRATOR"
    with pytest.raises(BadRecords, match=r"\[0\]\.turns\[0\]\.speaker: unknown speaker 'NARRATOR'"):
        one(tmp_path, broken)
