"""The readers against real recordings, held against counts that a few independent lines make."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap.config import DataConfig
from turngap.data import Conversation, Source, ToolMessage, UserMessage, check, decisions
from turngap.formats import Reading, read, write
from turngap.formats.personal import Redactor, find_in


def count(reading: Reading) -> Counter[str]:
    """Conversations, decisions by kind, calls, results and user turns; every conversation is sound."""
    counts: Counter[str] = Counter()
    for conversation in reading:
        assert check(conversation) is None
        counts["conversations"] += 1
        counts["rewarded"] += conversation.reward == 1.0
        for decision in decisions(conversation):
            counts[decision.kind] += 1
            counts["calls"] += len(decision.reference.calls)
        counts["users"] += sum(isinstance(message, UserMessage) for message in conversation.messages)
        counts["results"] += sum(isinstance(m, ToolMessage) and not m.absent for m in conversation.messages)
    return +counts


def chat_counts(trajectories: list[list[dict[str, Any]]]) -> Counter[str]:
    """The same counts over chat-completions messages, straight from the JSON."""
    counts: Counter[str] = Counter()
    for messages in trajectories:
        counts["conversations"] += 1
        for message in messages:
            calls = message.get("tool_calls") or []
            if message["role"] == "assistant":
                counts["tool" if calls else "text"] += 1
                counts["calls"] += len(calls)
            counts["users"] += message["role"] == "user"
            counts["results"] += message["role"] == "tool"
    return +counts


def load(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("file", "tools"),
    [
        ("tau-bench/gpt-4o-airline-tasks-00-24.json", "tau-bench/airline-tools.json"),
        ("agentrx-tau-retail/retail-tasks-000-054.json", "tau-bench/retail-tools.json"),
    ],
)
def test_taubench(shared: Path, file: str, tools: str) -> None:
    """Every message of the trajectories is accounted for, without a single oddity."""
    records = load(shared / file)
    expected = chat_counts([record["traj"] for record in records])
    expected["rewarded"] = sum(record["reward"] == 1.0 for record in records)
    reading = read(DataConfig(paths=(str(shared / file),), tools=str(shared / tools)))
    assert count(reading) == expected
    assert reading.oddity_counts == {}


def test_taubench_results_follow_their_calls(shared: Path) -> None:
    """Although ids repeat, each result stands behind the call that it followed in the file."""
    path = shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"
    for record, conversation in zip(load(path), read(DataConfig(paths=(str(path),))), strict=True):
        recorded = [message["content"] for message in record["traj"] if message["role"] == "tool"]
        assert [m.content for m in conversation.messages if isinstance(m, ToolMessage)] == recorded


def test_tau2(shared: Path) -> None:
    """The assembled results files: counts, rewards, and the hand-over whose arguments do not count."""
    folder = shared / "tau2-results"
    simulations = [s for file in sorted(folder.glob("*.json")) for s in load(file)["simulations"]]
    expected = chat_counts([simulation["messages"] for simulation in simulations])
    expected["rewarded"] = sum(simulation["reward_info"]["reward"] == 1.0 for simulation in simulations)
    reading = read(DataConfig(paths=(str(folder),)))
    assert count(reading) == expected
    assert all(conversation.compare_args["transfer_to_human_agents"] == () for conversation in reading)
    assert all(conversation.policy and conversation.goal for conversation in reading)


def test_tau2_directory_form_of_a_voice_run(shared: Path) -> None:
    """The voice run is said to hold no conversation and is not counted."""
    reading = read(DataConfig(paths=(str(shared / "tau2-directory-form"),), skip_bad=True))
    assert list(reading) == []
    assert reading.n_skipped == 1
    assert "no conversation in it" in str(reading.skipped[0])


def test_sgd(shared: Path) -> None:
    """Every turn and every service call is accounted for, and every call fits the schema made for it."""
    expected: Counter[str] = Counter()
    for file in sorted((shared / "sgd").glob("dev_dialogues_*.json")):
        for dialogue in load(file):
            turns = dialogue["turns"]
            made = [f for turn in turns for f in turn["frames"] if "service_call" in f]
            expected.update(
                conversations=1,
                text=sum(turn["speaker"] == "SYSTEM" for turn in turns),
                users=sum(turn["speaker"] == "USER" for turn in turns),
                tool=len(made),
                calls=len(made),
                results=len(made),
            )
    reading = read(DataConfig(paths=(str(shared / "sgd"),)))
    assert count(reading) == expected
    assert reading.oddity_counts == {}
    assert all(_fits(conversation) for conversation in reading)


def test_tooltalk(shared: Path) -> None:
    """Every call and every text turn is accounted for, and every call fits the catalogue."""
    expected: Counter[str] = Counter()
    for file in [*(shared / "tooltalk" / "easy").glob("*.json"), *(shared / "tooltalk" / "hard").glob("*.json")]:
        turns = load(file)["conversation"]
        calls = sum(len(turn.get("apis", ())) for turn in turns)
        texts = sum(turn["role"] == "assistant" for turn in turns)
        users = sum(turn["role"] == "user" for turn in turns)
        expected.update(conversations=1, text=texts, users=users, tool=calls, calls=calls, results=calls)
    reading = read(DataConfig(paths=(str(shared / "tooltalk"),)))
    assert count(reading) == expected
    assert reading.oddity_counts == {}
    assert all(_fits(conversation) for conversation in reading)


def _fits(conversation: Conversation) -> bool:
    """Whether every call names a declared tool, gives what it requires and nothing that it does not know."""
    specs = {spec.name: spec.parameters for spec in conversation.tools}
    calls = [call for decision in decisions(conversation) for call in decision.reference.calls]
    return all(
        set(specs[call.name].get("required", ())) <= set(call.arguments or ()) <= set(specs[call.name]["properties"])
        for call in calls
    )


def test_typed_parts(shared: Path) -> None:
    """Calls and results inside parts are accounted for."""
    path = shared / "typed-parts" / "reason_tool_use_00-24.jsonl"
    expected: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        for message in json.loads(line)["messages"]:
            parts = message["content"]
            expected["calls"] += sum(part["type"] == "tool_call" for part in parts)
            expected["results"] += sum(len(json.loads(p["value"])) for p in parts) if message["role"] == "tool" else 0
    found = count(read(DataConfig(paths=(str(path),))))
    assert (found["calls"], found["results"]) == (expected["calls"], expected["results"])


@pytest.mark.parametrize("name", ["tau-bench", "agentrx-tau-retail", "tau2-results", "sgd", "tooltalk", "typed-parts"])
def test_round_trip_and_redaction(shared: Path, tmp_path: Path, name: str) -> None:
    """Real recordings survive writing and reading, and hold nothing more to find after redaction."""
    made = list(read(DataConfig(paths=(str(shared / name),))))
    path = tmp_path / "out.jsonl"
    write(made, path)
    found = list(read(DataConfig(paths=(str(path),))))
    assert [msgspec.structs.replace(c, source=Source()) for c in made] == [
        msgspec.structs.replace(c, source=Source()) for c in found
    ]
    redactor = Redactor()
    for conversation in made:
        redacted = redactor.redact(conversation)
        assert find_in(redacted) == set()
        assert len(redacted.messages) == len(conversation.messages)
