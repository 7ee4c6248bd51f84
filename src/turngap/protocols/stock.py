"""Take stock of a run after it was scored: what its answers cost, and which looked like calls that nobody parsed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from turngap.config import EvalConfig
from turngap.data import Acted, Prediction, Spending, Trajectory, Usage, Verdict
from turngap.engines.base import Progress
from turngap.models.reading import UNPARSED
from turngap.protocols.scoring import predictions_of
from turngap.runs.store import RunStore

_ON_GOLD = ("text", "turn", "strict")


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of the model, and how they were read."""

    total: int
    unparsed_calls: int
    """Those that look like tool calls which the parser did not read: the model may be better than its figures."""
    tool_parser: str
    """Which dialects of calls written as text were tried."""


def take_stock(store: RunStore, config: EvalConfig, progress: Progress) -> None:
    """Note the spending of a run and how its answers were read; say so when some look like calls and were not."""
    gold = replay = Usage()
    seen = {"gold": 0, "closed_loops": 0}
    unparsed = {"gold": 0, "closed_loops": 0}
    for conversation in store.conversations():
        for result in predictions_of(store, conversation, config).values():
            if isinstance(result, Prediction):
                seen["gold"] += 1
                gold += result.usage
                unparsed["gold"] += UNPARSED in result.notes
        trajectory = store.trajectory(conversation.id)
        if isinstance(trajectory, Trajectory):
            replay += trajectory.usage
            steps = [event for event in trajectory.events if isinstance(event, Acted)]
            seen["closed_loops"] += len(steps)
            unparsed["closed_loops"] += sum(UNPARSED in step.notes for step in steps)
    judges = {label: _judged(store, label) for label in store.judges() if label != "rules"}
    store.set_note("spending", Spending(gold=gold, replay=replay, judges=judges))
    parsers = {"gold": config.model.tool_parser, "closed_loops": store.config.model.tool_parser}
    found = {name: Answers(total=seen[name], unparsed_calls=unparsed[name], tool_parser=parsers[name]) for name in seen}
    if not set(_ON_GOLD) & set(config.protocols):
        # Nothing was scored from these answers now, so they count as they were last read.
        found = {**found, **{name: one for name, one in answers(store).items() if name == "gold"}}
    store.set_note("answers", found)
    for line in unread(found):
        progress.note(line)


def answers(store: RunStore) -> dict[str, Answers]:
    """What `take_stock` noted: ``gold`` (on recorded history) and ``closed_loops`` (of replay); empty before that."""
    return msgspec.convert(store.note("answers", {}), dict[str, Answers])


def unread(found: Mapping[str, Answers]) -> Iterator[str]:
    """A sentence for each kind of answers of which some look like calls that were not read, and what to do."""
    for name, one in found.items():
        if one.unparsed_calls:
            where, cure = _WORDS[name]
            yield (
                f"{one.unparsed_calls} of {one.total} answers {where} look like tool calls that the parser "
                f"{one.tool_parser!r} did not read; {cure}"
            )


_WORDS = {
    "gold": ("on recorded history", "try another: turngap score RUN --tool-parser NAME"),
    "closed_loops": (
        "in replays",
        "a replay cannot be read again: run turngap eval with another --tool-parser, in another directory",
    ),
}


def _judged(store: RunStore, label: str) -> Usage:
    total = Usage()
    for conversation in store.conversation_ids():
        for protocol in ("turn", "workflow"):
            for _, verdict in store.verdicts(label, protocol, conversation).values():
                if isinstance(verdict, Verdict):
                    total += verdict.usage
    return total
