"""One evaluation from configuration to scores: read, predict, replay, run from every start, judge, score.

Each stage works off the units that the run directory does not hold yet, and commits each finished unit before the next
begins; so running the same evaluation again resumes it. `rescore` repeats only the last two stages. Figures are not
computed here (`turngap.analysis`); nothing is printed (`turngap.cli`).
"""

from __future__ import annotations

import asyncio
from collections import deque
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
from turngap.models import CallCache, Examined, Model, ModelContext
from turngap.protocols import gold, horizon, replay
from turngap.protocols.intake import take_in
from turngap.protocols.judging import judge_all, open_judges
from turngap.protocols.scoring import matcher_for, predictions_of, score_all
from turngap.runs.cache import Layered
from turngap.runs.store import RunStore

_ON_GOLD = ("text", "turn", "strict")
_CLOSED_LOOP = ("replay", "workflow")
_OWN_HISTORY = (*_CLOSED_LOOP, "horizon")


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation works with beside its configuration."""

    progress: Progress
    cache: CallCache | None = None
    """A call cache shared with other runs."""
    save_prompt: Callable[[dict[str, Any]], None] | None = None
    """Receives every prompt that a judge is sent."""


async def evaluate(config: EvalConfig, directory: Path, services: Services) -> None:
    """Run or resume an evaluation; afterwards `directory` holds scores for every unit.

    Raises:
        UsageError, ConfigError, DataError, StoreError: the evaluation cannot run as asked for; what was already
            computed stays in the directory.
    """
    with RunStore.create(directory, config) as store:
        async with stated(store):
            take_in(store, services.progress)
            context = model_context(store, config, services)
            model = models.build(config.model, context)
            try:
                _refuse_impossible(config, model)
                await examine(store, model)
                store.set_note("model", {"label": model.label, "identity": model.identity()})
                if any(name in config.protocols for name in _ON_GOLD):
                    await _predict_all(store, model, config, services.progress)
                if any(name in config.protocols for name in _CLOSED_LOOP):
                    await _replay_all(store, model, config, services.progress)
                if "horizon" in config.protocols:
                    await _run_from_all(store, model, config, services.progress)
            finally:
                await model.aclose()
            await _judge_and_score(store, config, services, context)


async def rescore(directory: Path, config: EvalConfig, services: Services) -> None:
    """Judge and score a stored run again without asking the model.

    Args:
        directory: a run.
        config: the run's configuration with another judge, tokenizer, tool parser or selection of protocols.
        services: progress and cache.

    Raises:
        UsageError: a protocol is wanted for which the run holds no predictions.
    """
    with RunStore.open(directory, write=True) as store:
        _require_results(store, config)
        async with stated(store):
            await _judge_and_score(store, config, services, model_context(store, config, services))


async def _judge_and_score(store: RunStore, config: EvalConfig, services: Services, context: ModelContext) -> None:
    async with open_judges(config, context, services.save_prompt) as judges:
        await judge_all(store, judges, config, services.progress)
        score_all(store, [judge.label for judge in judges], config)
        _note_unparsed(store, config, services.progress)
        scoring = {
            "judges": {judge.label: judge.identity() for judge in judges},
            "match": config.match,
            "text": config.text,
            "tool_parser": config.model.tool_parser,
        }
        store.set_note("scoring", scoring)


@asynccontextmanager
async def stated(store: RunStore) -> AsyncIterator[None]:
    """Keep the run's state true: started, then finished or interrupted."""
    store.set_note("state", "started")
    try:
        yield
    except (asyncio.CancelledError, KeyboardInterrupt):
        store.set_note("state", "interrupted")
        raise
    store.set_note("state", "finished")


def model_context(store: RunStore, config: EvalConfig, services: Services) -> ModelContext:
    """What a model that works on a stored run is given."""
    return ModelContext(
        corpus=store.conversations,
        load=lambda path: formats.read(DataConfig(paths=(str(path),), tools=config.data.tools), seed=config.seed),
        cache=store.calls if services.cache is None else Layered(store.calls, services.cache),
        notify=services.progress.note,
        waiting=services.progress.waiting,
    )


def _refuse_impossible(config: EvalConfig, model: Model) -> None:
    wanted = [name for name in _OWN_HISTORY if name in config.protocols]
    if wanted and getattr(model, "gold_only", False):
        raise UsageError(
            f"{config.model.spec} holds predictions on gold history and cannot act on its own history; "
            f"leave out {' and '.join(wanted)}: --protocols text,turn,strict"
        )


async def examine(store: RunStore, model: Model) -> None:
    """Look at the model's server once, with the last decision of the first conversation: it has everything in it."""
    if isinstance(model, Examined):
        conversation = next(store.conversations())
        typical = deque(decisions(conversation), maxlen=1)
        if typical:
            await model.preflight(gold.request(conversation, typical[0]))


def _require_results(store: RunStore, config: EvalConfig) -> None:
    held = {
        _ON_GOLD: store.count_predictions(),
        _CLOSED_LOOP: store.count_trajectories(),
        ("horizon",): store.count_horizon(config.horizon.max),
    }
    for names, tally in held.items():
        wanted = [name for name in names if name in config.protocols]
        if wanted and not tally.good + tally.errored:
            raise UsageError(
                f"{store.directory}: nothing is stored for {', '.join(wanted)}; "
                f"choose others with --protocols, or run turngap eval with them first"
            )


def _note_unparsed(store: RunStore, config: EvalConfig, progress: Progress) -> None:
    """Say so when answers look like calls that nobody parsed: the model may be better than its figures."""
    total = unparsed = 0
    for conversation in store.conversations():
        for result in predictions_of(store, conversation, config).values():
            total += 1
            unparsed += isinstance(result, Prediction) and "unparsed_call" in result.notes
    store.set_note("unparsed_calls", unparsed)
    if unparsed:
        progress.note(
            f"{unparsed} of {total} answers look like tool calls that the parser {config.model.tool_parser!r} did not "
            "read; try another: turngap score RUN --tool-parser NAME"
        )


async def _predict_all(store: RunStore, model: Model, config: EvalConfig, progress: Progress) -> None:
    total = sum(sum(1 for _ in decisions(conversation)) for conversation in store.conversations())
    before = store.count_predictions()
    progress.stage("predict", total, before.good, before.errored)

    def open_units() -> Iterator[tuple[Conversation, Decision]]:
        for conversation in store.conversations():
            done = store.predicted(conversation.id)
            for decision in decisions(conversation):
                if decision.index not in done:
                    yield conversation, decision

    async def work(unit: tuple[Conversation, Decision]) -> None:
        conversation, decision = unit
        result = await gold.predict(model, conversation, decision)
        store.put_prediction(conversation.id, decision.index, result)
        _advance(progress, result)

    await run_units(open_units(), work, concurrency=config.model.concurrency)


async def _replay_all(store: RunStore, model: Model, config: EvalConfig, progress: Progress) -> None:
    names = store.conversation_ids()
    before = store.count_trajectories()
    progress.stage("replay", len(names), before.good, before.errored)
    done = store.replayed()

    async def work(name: str) -> None:
        conversation = store.conversation(name)
        result = await replay.run(model, conversation, matcher_for(conversation, config), config.replay)
        store.put_trajectory(name, result)
        _advance(progress, result)

    await run_units((name for name in names if name not in done), work, concurrency=config.model.concurrency)


async def _run_from_all(store: RunStore, model: Model, config: EvalConfig, progress: Progress) -> None:
    most = config.horizon.max
    total = sum(len(horizon.starts(conversation)) for conversation in store.conversations())
    before = store.count_horizon(most)
    progress.stage("horizon", total, before.good, before.errored)

    def open_units() -> Iterator[tuple[Conversation, list[Decision]]]:
        for conversation in store.conversations():
            done = store.ran_from(conversation.id, most)
            counted = horizon.starts(conversation)
            for place, start in enumerate(counted):
                if start.index not in done:
                    yield conversation, counted[place:]

    async def work(unit: tuple[Conversation, list[Decision]]) -> None:
        conversation, counted = unit
        matcher, rules = matcher_for(conversation, config), horizon.rules_of(config.replay)
        result = await horizon.run(model, conversation, counted, matcher, rules, most)
        reach = horizon.speaks_for(counted, result, most)
        store.put_horizon(conversation.id, counted[0].index, result, reach=reach)
        _advance(progress, result)

    await run_units(open_units(), work, concurrency=config.model.concurrency)


def _advance(progress: Progress, result: Prediction | Trajectory | Failure) -> None:
    if isinstance(result, Failure):
        progress.advance(errored=True)
    else:
        progress.advance(usage=result.usage)
