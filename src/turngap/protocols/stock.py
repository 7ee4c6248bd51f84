"""Take stock of a run after it was scored: what its answers cost, and which looked like calls that nobody parsed."""

from __future__ import annotations

from turngap.config import EvalConfig
from turngap.data import Prediction, Spending, Trajectory, Usage, Verdict
from turngap.engines.base import Progress
from turngap.protocols.scoring import predictions_of
from turngap.runs.store import RunStore


def take_stock(store: RunStore, config: EvalConfig, progress: Progress) -> None:
    """Note the spending of a run, and say so when answers look like calls: the model may be better than its figures."""
    gold = replay = Usage()
    total = unparsed = 0
    for conversation in store.conversations():
        for result in predictions_of(store, conversation, config).values():
            if isinstance(result, Prediction):
                total += 1
                gold += result.usage
                unparsed += "unparsed_call" in result.notes
        trajectory = store.trajectory(conversation.id)
        if isinstance(trajectory, Trajectory):
            replay += trajectory.usage
    judges = {label: _judged(store, label) for label in store.judges() if label != "rules"}
    store.set_note("spending", Spending(gold=gold, replay=replay, judges=judges))
    store.set_note("unparsed_calls", unparsed)
    if unparsed:
        progress.note(
            f"{unparsed} of {total} answers look like tool calls that the parser {config.model.tool_parser!r} did not "
            "read; try another: turngap score RUN --tool-parser NAME"
        )


def _judged(store: RunStore, label: str) -> Usage:
    total = Usage()
    for conversation in store.conversation_ids():
        for protocol in ("turn", "workflow"):
            for _, verdict in store.verdicts(label, protocol, conversation).values():
                if isinstance(verdict, Verdict):
                    total += verdict.usage
    return total
