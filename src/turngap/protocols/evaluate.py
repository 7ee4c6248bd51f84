"""One evaluation from configuration to scores: read, predict, replay, judge, score.

Each stage works off the units that the run directory does not hold yet, and commits each finished unit before the next
begins; so running the same evaluation again resumes it. `rescore` repeats only the last two stages. Figures are not
computed here (`turngap.analysis`); nothing is printed (`turngap.cli`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from turngap import formats, models
from turngap.config import DataConfig, EvalConfig
from turngap.data import Conversation, Decision, Failure, Prediction, Trajectory, decisions
from turngap.engines.base import Progress
from turngap.engines.local import run_units
from turngap.errors import UsageError
from turngap.models import CallCache, Model, ModelContext
from turngap.protocols import gold, replay
from turngap.protocols.intake import take_in
from turngap.protocols.judging import judge_all, open_judges
from turngap.protocols.scoring import matcher_for, score_all
from turngap.runs.cache import Layered
from turngap.runs.store import RunStore

_ON_GOLD = ("text", "turn", "strict")
_CLOSED_LOOP = ("replay", "workflow")


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation works with beside its configuration."""

    progress: Progress
    cache: CallCache | None = None
    """A call cache shared with other runs."""
    save_prompt: Callable[[dict[str, Any]], None] | None = None
    """Receives every prompt that a judge is sent."""


async def evaluate(config: EvalConfig, directory: Path, tools: Tools) -> None:
    """Run or resume an evaluation; afterwards `directory` holds scores for every unit.

    Raises:
        UsageError, ConfigError, DataError, StoreError: the evaluation cannot run as asked for; what was already
            computed stays in the directory.
    """
    with RunStore.create(directory, config) as store:
        async with _stated(store):
            take_in(store, tools.progress)
            context = _context(store, config, tools)
            model = models.build(config.model, context)
            try:
                _refuse_impossible(config, model)
                store.set_note("model", {"label": model.label, "identity": model.identity()})
                if any(name in config.protocols for name in _ON_GOLD):
                    await _predict_all(store, model, config, tools.progress)
                if any(name in config.protocols for name in _CLOSED_LOOP):
                    await _replay_all(store, model, config, tools.progress)
            finally:
                await model.aclose()
            await _judge_and_score(store, config, tools, context)


async def rescore(directory: Path, config: EvalConfig, tools: Tools) -> None:
    """Judge and score a stored run again without asking the model.

    Args:
        directory: a run.
        config: the run's configuration with another judge, tokenizer, tool parser or selection of protocols.
        tools: progress and cache.

    Raises:
        UsageError: a protocol is wanted for which the run holds no predictions.
    """
    with RunStore.open(directory, write=True) as store:
        async with _stated(store):
            await _judge_and_score(store, config, tools, _context(store, config, tools))


async def _judge_and_score(store: RunStore, config: EvalConfig, tools: Tools, context: ModelContext) -> None:
    async with open_judges(config, context, tools.save_prompt) as judges:
        await judge_all(store, judges, config, tools.progress)
        score_all(store, [judge.label for judge in judges], config)


@asynccontextmanager
async def _stated(store: RunStore) -> AsyncIterator[None]:
    """Keep the run's state true: started, then finished or interrupted."""
    store.set_note("state", "started")
    try:
        yield
    except (asyncio.CancelledError, KeyboardInterrupt):
        store.set_note("state", "interrupted")
        raise
    store.set_note("state", "finished")


def _context(store: RunStore, config: EvalConfig, tools: Tools) -> ModelContext:
    return ModelContext(
        corpus=store.conversations,
        load=lambda path: formats.read(DataConfig(paths=(str(path),), tools=config.data.tools), seed=config.seed),
        cache=store.calls if tools.cache is None else Layered(store.calls, tools.cache),
        notify=tools.progress.note,
        waiting=tools.progress.waiting,
    )


def _refuse_impossible(config: EvalConfig, model: Model) -> None:
    wanted = [name for name in _CLOSED_LOOP if name in config.protocols]
    if wanted and getattr(model, "gold_only", False):
        raise UsageError(
            f"{config.model.spec} holds predictions on gold history and cannot act on its own history; "
            f"leave out {' and '.join(wanted)}: --protocols text,turn,strict"
        )


async def _predict_all(store: RunStore, model: Model, config: EvalConfig, progress: Progress) -> None:
    total, done, errored = 0, 0, 0
    for conversation in store.conversations():
        known = store.predictions(conversation.id)
        total += sum(1 for _ in decisions(conversation))
        done += sum(isinstance(result, Prediction) for result in known.values())
        errored += sum(isinstance(result, Failure) for result in known.values())
    progress.stage("predict", total, done, errored)

    def open_units() -> Iterator[tuple[Conversation, Decision]]:
        for conversation in store.conversations():
            known = store.predictions(conversation.id)
            for decision in decisions(conversation):
                if not isinstance(known.get(decision.index), Prediction):
                    yield conversation, decision

    async def work(unit: tuple[Conversation, Decision]) -> None:
        conversation, decision = unit
        result = await gold.predict(model, conversation, decision)
        store.put_prediction(conversation.id, decision.index, result)
        failed = isinstance(result, Failure)
        progress.advance(errored=failed, usage=None if isinstance(result, Failure) else result.usage)

    await run_units(open_units(), work, concurrency=config.model.concurrency)


async def _replay_all(store: RunStore, model: Model, config: EvalConfig, progress: Progress) -> None:
    known = {name: store.trajectory(name) for name in store.conversation_ids()}
    done = {name for name, result in known.items() if isinstance(result, Trajectory)}
    errored = sum(isinstance(result, Failure) for result in known.values())
    progress.stage("replay", len(known), len(done), errored)
    open_names = [name for name in known if name not in done]
    del known

    async def work(name: str) -> None:
        conversation = store.conversation(name)
        result = await replay.run(model, conversation, matcher_for(conversation, config), config.replay)
        store.put_trajectory(name, result)
        failed = isinstance(result, Failure)
        progress.advance(errored=failed, usage=None if isinstance(result, Failure) else result.usage)

    await run_units(open_names, work, concurrency=config.model.concurrency)
