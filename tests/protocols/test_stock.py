"""A whole run against a server of every mood: nothing is lost, everything is counted, money is summed up."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer, Reset, Say, Stall, Status, Step, call, text

from turngap.analysis.summary import Summary, summarise
from turngap.config import DataConfig, EvalConfig, JudgeConfig, ModelConfig, Prices
from turngap.engines.base import Quiet
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore


def run(config: EvalConfig, directory: Path) -> Summary:
    """Evaluate and sum up."""
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))
    with RunStore.open(directory) as store:
        return summarise(store, seed=0)


def write(path: Path, record: dict[str, Any], copies: int) -> Path:
    """Copies of a record that differ in the customer's first words."""
    lines = []
    for number in range(copies):
        one = json.loads(json.dumps(record))
        one["messages"][1]["content"] = f"Customer {number}. {one['messages'][1]['content']}"
        lines.append(json.dumps(one))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


class Moods:
    """Each customer meets one mood of the server; those that pass are tried three times, then answered well."""

    MOODS = ("call", "text", "malformed", "crowded", "broken", "stall", "reset", "written", "refused")

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any], _count: int) -> Step:
        number = int(body["messages"][1]["content"].split()[1].rstrip("."))
        mood = self.MOODS[number % len(self.MOODS)]
        key = json.dumps(body["messages"])
        self.seen[key] += 1
        if mood == "refused":
            return Status(400, '{"error": {"message": "odd request"}}')
        if self.seen[key] < 3:
            passing: dict[str, Step] = {
                "crowded": Status(429, "", {"Retry-After": "0"}),
                "broken": Status(500, "oops"),
                "stall": Stall(5),
                "reset": Reset(b'{"choices": ['),
            }
            if mood in passing:
                return passing[mood]
        good = {"booking_id": "BK-1042"}
        answers: dict[str, Say] = {
            "text": text("One moment please."),
            "malformed": call("get_booking", '{"booking_id": "BK-1042"'),
            "written": text(f"<tool_call>{json.dumps({'name': 'get_booking', 'arguments': good})}</tool_call>"),
        }
        return answers.get(mood, call("get_booking", good))


def test_every_fault_ends_as_the_right_kind_and_nothing_is_lost(
    tmp_path: Path, boat_record: dict[str, Any], chat_server: Callable[..., ChatServer]
) -> None:
    """Passing faults are retried, the model's own faults are its failures, refusals are errored; the sums are right."""
    moods = Moods()
    server = chat_server(moods)
    copies = 2 * len(Moods.MOODS)
    config = EvalConfig(
        data=DataConfig(paths=(str(write(tmp_path / "boats.jsonl", boat_record, copies)),)),
        model=ModelConfig(spec="openai/m", base_url=server.url, timeout=0.3, give_up_after=30, concurrency=16),
    )
    summary = run(config, tmp_path / "run")
    assert (summary.n["conversations"], summary.n["decisions"]) == (copies, 4 * copies)
    # Two conversations are refused throughout: eight decisions on gold history, and two closed loops.
    assert summary.ledger["turn"].causes["endpoint"] == 8
    assert summary.ledger["replay"].causes["endpoint"] == 2
    assert summary.n["errored"] == 10
    assert summary.metrics["turn.success"].n == 4 * copies - 8
    assert summary.metrics["replay.completed"].n == copies - 2
    # The first tool decision is answered well by all moods but text, malformed and refused: six of nine, twice.
    assert summary.metrics["strict.exact"].n == 2 * copies - 4
    assert summary.metrics["strict.exact"].value == 12 / (2 * copies - 4)
    assert summary.ledger["strict"].causes["malformed"] == 4
    assert summary.ledger["strict"].causes["wrong"] == 12 + 4
    for name, ledger in summary.ledger.items():
        assert ledger.success + sum(ledger.causes.values()) == ledger.units, name
        assert ledger.causes["harness"] == ledger.causes["data"] == ledger.causes["judge"] == 0, name


def test_tokens_and_money_are_those_of_the_answers(
    tmp_path: Path, boat_record: dict[str, Any], chat_server: Callable[..., ChatServer]
) -> None:
    """Tokens as the server reports them, money at the configured prices, the judge's apart; a repeated run adds none."""
    model = chat_server([Say({"content": "Done."}, usage={"prompt_tokens": 1000, "completion_tokens": 10})])
    verdict = '{"success": true, "failure_category": "none", "rationale": "fine"}'
    judge = chat_server([Say({"content": verdict}, usage={"prompt_tokens": 500, "completion_tokens": 20})])
    config = EvalConfig(
        data=DataConfig(paths=(str(write(tmp_path / "boats.jsonl", boat_record, 1)),)),
        model=ModelConfig(spec="openai/m", base_url=model.url, prices=Prices(prompt=1.0, completion=2.0)),
        judge=JudgeConfig(specs=("openai/j",), base_url=judge.url, prices=Prices(prompt=10.0, completion=20.0)),
    )
    summary = run(config, tmp_path / "run")
    # Four decisions; the closed loop says Done. twice, then two calls are missing.
    assert (summary.spending.gold.prompt_tokens, summary.spending.gold.completion_tokens) == (4000, 40)
    assert summary.spending.gold.cost == (4000 * 1.0 + 40 * 2.0) / 1e6
    assert summary.spending.replay.prompt_tokens == 2000
    assert summary.spending.judges["openai/j"].prompt_tokens == 500 * (4 + 1)
    assert summary.spending.judges["openai/j"].cost == pytest.approx(5 * (500 * 10.0 + 20 * 20.0) / 1e6)
    assert run(config, tmp_path / "run") == summary
    assert len(judge.requests) == 5
