"""Runs with known outcomes for tests of the gate: each conversation has one tool decision and one text decision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from turngap.config import DataConfig, EvalConfig, JudgeConfig, ModelConfig
from turngap.data import AssistantMessage, Cause, Conversation, Score, ToolCall, ToolMessage, UserMessage
from turngap.runs.store import RunStore

Outcomes = Mapping[str, bool | None]
"""Conversation -> success; None where it is errored."""

CONFIG = EvalConfig(
    data=DataConfig(paths=("logs.jsonl",)),
    model=ModelConfig(spec="baseline/reference"),
    judge=JudgeConfig(specs=("rules",)),
)


def outcomes(successes: int, failures: int = 0, errored: int = 0) -> dict[str, bool | None]:
    """So many conversations, c000 and on."""
    kinds = [True] * successes + [False] * failures + [None] * errored
    return {f"c{at:03}": kind for at, kind in enumerate(kinds)}


def conversation(name: str, words: str = "hello") -> Conversation:
    """Decision 0 calls a tool, decision 1 is text."""
    return Conversation(
        id=name,
        messages=(
            UserMessage(content=words),
            AssistantMessage(calls=(ToolCall(name="look", arguments={}),)),
            ToolMessage(name="look", content="{}"),
            AssistantMessage(content="good day"),
        ),
    )


def make(
    directory: Path,
    *,
    config: EvalConfig = CONFIG,
    state: str = "finished",
    scoring: dict[str, Any] | None = None,
    words: str = "hello",
    **protocols: Outcomes,
) -> Path:
    """Store a run.

    Args:
        directory: of the run.
        config: of the run.
        state: the note of that name.
        scoring: the note of that name, where it is wanted.
        words: what users say; other words make other conversations.
        protocols: ``strict``, ``turn``, ``replay``, ``workflow`` -> outcome of each conversation (of its tool decision
            for strict and turn; its text decision is always good).
    """
    names = sorted({name for found in protocols.values() for name in found})
    with RunStore.create(directory, config) as store:
        store.add_conversations(conversation(name, words) for name in names)
        for protocol, found in protocols.items():
            judge = f":{config.judge.specs[0]}" if protocol in ("turn", "workflow") else ""
            store.replace_scores(
                protocol + judge, [row for name in found for row in _rows(protocol, name, found[name])]
            )
        if scoring is not None:
            store.set_note("scoring", scoring)
        store.set_note("state", state)
    return directory


def _rows(protocol: str, name: str, good: bool | None) -> list[Score]:
    if protocol in ("replay", "workflow"):
        counts = {"steps": 2.0, "rejected": 0.0, "recovered": 0.0} if protocol == "replay" else {}
        key = {"replay": "completed", "workflow": "success"}[protocol]
        return [_row(protocol, name, None, "tools", good, {key: float(bool(good)), **counts})]
    if protocol == "turn":
        tool = {"success": float(bool(good))}
        return [_row("turn", name, 0, "tool", good, tool), _row("turn", name, 1, "text", True, {"success": 1.0})]
    value = float(bool(good))
    leaves = {"arg_tp": value, "arg_pred": 1.0, "arg_ref": 1.0}
    return [
        _row("strict", name, 0, "tool", good, {"exact": value, "name": value, "arg_f1": value, **leaves}),
        _row("strict", name, 1, "text", True, {"spurious": 0.0}),
    ]


def _row(
    protocol: str, name: str, decision: int | None, kind: str, good: bool | None, values: dict[str, float]
) -> Score:
    row = Score(
        protocol=protocol,
        conversation=name,
        decision=decision,
        kind=kind,
        success=bool(good),
        cause=None if good else Cause.WRONG,
        values=values,
    )
    if good is None:
        return msgspec.structs.replace(row, cause=Cause.ENDPOINT, values={}, detail="server answered 503")
    return row
