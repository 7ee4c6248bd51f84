"""A run of one conversation from scripts: what the model does on its own history, and what on recorded history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import scored

from turngap.config import MatchConfig, ReplayConfig
from turngap.data import (
    AssistantMessage,
    Conversation,
    Failure,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    Verdict,
    decisions,
)
from turngap.metrics.matching import Matcher
from turngap.models.scripted import Answer, ScriptedModel
from turngap.models.scripted import prediction as predicted
from turngap.protocols import replay, strict, turn
from turngap.runs.store import RunStore

GET = ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"})
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2})
OTHER_DAY = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-03", "gift": True})
WRONG = ToolCall(name="find_customer", arguments={"email": "a@example.org"})
BROKEN = ToolCall(name="get_booking", arguments=None, raw='{"booking_id": ', error="ends early")

Script = Sequence[Answer]


def replayed(conversation: Conversation, script: Script, **rules: Any) -> Trajectory:
    """Replay a script; in a thread, since a browser that is open occupies this one's event loop."""
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)

    def play() -> Trajectory | Failure:
        return asyncio.run(replay.run(ScriptedModel(script), conversation, matcher, ReplayConfig(**rules)))

    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(play).result()
    assert isinstance(found, Trajectory), found
    return found


def run(
    directory: Path,
    conversations: Sequence[Conversation],
    own: Mapping[str, Script | Failure],
    gold: Mapping[str, Sequence[Answer | Failure]] | None = None,
    verdicts: Mapping[tuple[str, int], Verdict] | None = None,
    **rules: Any,
) -> Path:
    """A finished run.

    Args:
        directory: where.
        conversations: all of it.
        own: conversation -> what the model does in its replay, or why there is none; absent: not replayed.
        gold: conversation -> what the model answers at each decision.
        verdicts: (conversation, decision) -> what the judge ``kea`` said.
        rules: of the replays.
    """
    store = RunStore.create(directory, scored.config("openai/pelican", "kea", replay=ReplayConfig(**rules)))
    with store:
        store.add_conversations(conversations)
        rows: dict[str, list[Any]] = {"replay": [], "strict": [], "turn:kea": []}
        for conversation in conversations:
            script = own.get(conversation.id)
            if script is not None:
                result = script if isinstance(script, Failure) else replayed(conversation, script, **rules)
                store.put_trajectory(conversation.id, result)
                rows["replay"].append(replay.score(conversation, result))
            matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
            answers = (gold or {}).get(conversation.id, ())
            for decision, answer in zip(decisions(conversation), answers, strict=False):
                found = answer if isinstance(answer, Failure) else predicted(answer)
                store.put_prediction(conversation.id, decision.index, found)
                rows["strict"].append(strict.score(conversation, decision, found, matcher))
                verdict = (verdicts or {}).get((conversation.id, decision.index))
                if verdict is not None:
                    store.put_verdict("kea", "turn", conversation.id, decision.index, verdict, "k")
                    rows["turn:kea"].append(turn.score(conversation, decision, found, verdict))
        for scorer, scores in rows.items():
            if scores:
                store.replace_scores(scorer, scores)
        store.set_note("state", "finished")
    return directory


def long(decision_count: int, size: int, *, name: str = "long") -> Conversation:
    """A conversation of so many decisions in which some messages have so many characters."""
    messages: list[Any] = []
    for number in range(decision_count // 2):
        filler = "word " * (size // 5) if number % 20 == 0 else "short"
        messages += [
            UserMessage(content=f"question {number} {filler}"),
            AssistantMessage(calls=(ToolCall(name="look", arguments={"number": number}),)),
            ToolMessage(name="look", content=f'{{"found": {number}, "text": "{filler}"}}'),
            AssistantMessage(content=f"answer {number} {filler}"),
        ]
    return Conversation(id=name, messages=tuple(messages))


def recorded(conversation: Conversation) -> list[AssistantMessage]:
    """What a model says that does what was recorded."""
    return [decision.reference for decision in decisions(conversation)]
