"""Have stored predictions and replays judged; verdicts that are still true are not asked for again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from turngap import jsonio, judges
from turngap.config import EvalConfig
from turngap.data import Conversation, Decision, Failure, Prediction, Trajectory, Verdict, decisions
from turngap.engines.base import Progress
from turngap.engines.local import run_units
from turngap.errors import UsageError
from turngap.judges.base import Judge
from turngap.models import ModelContext
from turngap.protocols import turn, workflow
from turngap.protocols.scoring import predictions_of
from turngap.runs.store import RunStore


@asynccontextmanager
async def open_judges(
    config: EvalConfig, context: ModelContext, save_prompt: Callable[[dict[str, Any]], None] | None
) -> AsyncIterator[list[Judge]]:
    """Build the judges of `config`, and close them afterwards; when no protocol needs one, only look at their names.

    Raises:
        UsageError: an unknown judge, or two that have the same label. ConfigError: as `turngap.judges.build`.
    """
    needed = "turn" in config.protocols or "workflow" in config.protocols
    specs = config.judge.specs if needed else ()
    built: list[Judge] = []
    for spec in config.judge.specs:
        _require_known(spec)
    try:
        built.extend(judges.build(spec, config.judge, config.match, context, save_prompt) for spec in specs)
        labels = [judge.label for judge in built]
        if len(set(labels)) != len(labels):
            raise UsageError(f"the judges {', '.join(labels)} cannot be told apart; give each once")
        yield built
    finally:
        for judge in built:
            await judge.aclose()


def _require_known(spec: str) -> None:
    # Also where nobody is judged now: the spec is stored, and `turngap score` will take it from there.
    provider = spec.partition("/")[0]
    judges.REGISTRY.load(spec if ":" in provider else provider)


_Found = tuple[Conversation, Decision | None, Prediction | Trajectory]


class _Unit(msgspec.Struct, frozen=True):
    """One verdict to be had."""

    conversation: Conversation
    decision: Decision | None
    result: Prediction | Trajectory
    key: str
    """Digest of what is judged and by whom; a stored verdict with the same key is still true."""


async def judge_all(store: RunStore, built: Sequence[Judge], config: EvalConfig, progress: Progress) -> None:
    """Ask each judge for every verdict that is missing, errored, or about something else than is stored now."""
    for judge in built:
        if "turn" in config.protocols:
            await _judge(store, judge, "turn", lambda: _turns(store, config), config.judge.concurrency, progress)
        if "workflow" in config.protocols:
            await _judge(store, judge, "workflow", lambda: _workflows(store), config.judge.concurrency, progress)


async def _judge(
    store: RunStore,
    judge: Judge,
    protocol: str,
    find: Callable[[], Iterator[_Found]],
    concurrency: int,
    progress: Progress,
) -> None:
    states = [done for _, done in _units(store, judge, protocol, find())]
    progress.stage(f"{protocol} by {judge.label}", len(states), sum(states))

    async def work(unit: _Unit) -> None:
        place = unit.decision.index if unit.decision else None
        if unit.decision is not None and isinstance(unit.result, Prediction):
            verdict = await turn.judge(judge, unit.conversation, unit.decision, unit.result)
        elif isinstance(unit.result, Trajectory):
            verdict = await workflow.judge(judge, unit.conversation, unit.result)
        else:
            raise TypeError(f"a {type(unit.result).__name__} cannot be judged under {protocol}")
        store.put_verdict(judge.label, protocol, unit.conversation.id, place, verdict, unit.key)
        progress.advance(errored=isinstance(verdict, Failure))

    open_units = (unit for unit, done in _units(store, judge, protocol, find()) if not done)
    await run_units(open_units, work, concurrency=concurrency)


def _units(store: RunStore, judge: Judge, protocol: str, found: Iterator[_Found]) -> Iterator[tuple[_Unit, bool]]:
    """Every verdict there should be, and whether the store holds it."""
    identity = judge.identity()
    known: dict[int | None, tuple[str, Verdict | Failure]] = {}
    current = None
    for conversation, decision, result in found:
        if conversation.id != current:
            current = conversation.id
            known = store.verdicts(judge.label, protocol, conversation.id)
        key = jsonio.digest([identity, _substance(result)])
        held = known.get(decision.index if decision else None)
        done = held is not None and held[0] == key and isinstance(held[1], Verdict)
        yield _Unit(conversation, decision, result, key), done


def _substance(result: Prediction | Trajectory) -> Prediction | Trajectory:
    """A result without what says nothing about its content: how long it took, and whether it came from the cache."""
    if isinstance(result, Prediction):
        return msgspec.structs.replace(result, seconds=0.0, cached=False)
    return msgspec.structs.replace(result, seconds=0.0)


def _turns(store: RunStore, config: EvalConfig) -> Iterator[_Found]:
    for conversation in store.conversations():
        known = predictions_of(store, conversation, config)
        for decision in decisions(conversation):
            result = known.get(decision.index)
            if isinstance(result, Prediction):
                yield conversation, decision, result


def _workflows(store: RunStore) -> Iterator[_Found]:
    for conversation in store.conversations():
        result = store.trajectory(conversation.id)
        if isinstance(result, Trajectory):
            yield conversation, None, result
