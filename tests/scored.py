"""Small runs with given scores, for tests of what reads stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from turngap.config import DataConfig, EvalConfig, JudgeConfig, ModelConfig
from turngap.data import AssistantMessage, Cause, Conversation, Score, ToolCall, ToolMessage, UserMessage
from turngap.runs.store import RunStore


def conversation(name: str, kinds: str = "ct", *, said: str = "hello") -> Conversation:
    """A conversation whose decisions are the letters of `kinds`: t (text) or c (call)."""
    messages: list[Any] = []
    for kind in kinds:
        messages.append(UserMessage(content=said))
        if kind == "t":
            messages.append(AssistantMessage(content="good day"))
        else:
            messages.append(AssistantMessage(calls=(ToolCall(name="look", arguments={}),)))
            messages.append(ToolMessage(name="look", content="{}"))
    return Conversation(id=name, messages=tuple(messages))


def unit(protocol: str, name: str, decision: int | None, kind: str, good: bool | None, /, **values: float) -> Score:
    """A score: a success, a failure, or (None) a unit that could not be measured."""
    return Score(
        protocol=protocol,
        conversation=name,
        decision=decision,
        kind=kind,
        success=good is True,
        cause=None if good else Cause.JUDGE if good is None else Cause.WRONG,
        values={} if good is None else values,
    )


def replayed(name: str, done: bool | None) -> Score:
    """A replay of a tool-requiring conversation."""
    counts = {"completed": float(done or False), "steps": 3.0, "rejected": 0.0, "recovered": 0.0}
    return unit("replay", name, None, "tools", done, **counts)


def finished(name: str, good: bool | None) -> Score:
    """A workflow verdict on a tool-requiring conversation."""
    return unit("workflow", name, None, "tools", good, success=float(good or False))


def turn(name: str, decision: int, kind: str, good: bool | None) -> Score:
    """A turn verdict."""
    return unit("turn", name, decision, kind, good, success=float(good or False))


def exact(name: str, decision: int, good: bool | None) -> Score:
    """A strict score of a tool decision."""
    hit = float(good or False)
    values = {"exact": hit, "name": hit, "arg_f1": hit, "arg_tp": hit, "arg_pred": 1.0, "arg_ref": 1.0}
    return unit("strict", name, decision, "tool", good, **values)


def config(model: str = "baseline/reference", *judges: str, **settings: Any) -> EvalConfig:
    """A configuration that differs only in what is named."""
    return EvalConfig(
        data=DataConfig(paths=("logs.jsonl",)),
        model=ModelConfig(spec=model),
        judge=JudgeConfig(specs=judges or ("rules",)),
        **settings,
    )


def run(
    directory: Path,
    conversations: Iterable[Conversation],
    scores: dict[str, Sequence[Score]],
    settings: EvalConfig | None = None,
) -> RunStore:
    """A finished run with these scores, open for writing."""
    store = RunStore.create(directory, settings or config(f"openai/{directory.name}"))
    store.add_conversations(conversations)
    for scorer, rows in scores.items():
        store.replace_scores(scorer, rows)
    store.set_note("state", "finished")
    return store
