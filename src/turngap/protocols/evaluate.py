"""One evaluation from configuration to scores: read, predict, replay, run from every start, judge, score.

Each stage works off the units that the run directory does not hold yet, and commits each finished unit before the next
begins; so running the same evaluation again resumes it. `rescore` repeats only the last two stages. Figures are not
computed here (`turngap.analysis`); nothing is printed (`turngap.cli`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from turngap import formats, jsonio, models
from turngap.config import DataConfig, EvalConfig, RolloutConfig, differences
from turngap.data import Conversation, Decision, Failure, Prediction, Trajectory, decisions
from turngap.engines.base import Progress
from turngap.engines.local import run_units
from turngap.engines.streams import Claim, Streams
from turngap.errors import ConfigError, UsageError
from turngap.judges.base import Judge
from turngap.models import CallCache, Examined, Model, ModelContext
from turngap.models.base import workers
from turngap.protocols import gold, horizon, replay
from turngap.protocols.intake import take_in, walk
from turngap.protocols.judging import judge_all, open_judges
from turngap.protocols.naming import require_known
from turngap.protocols.offer import offer
from turngap.protocols.scoring import matcher_for, note_scoring, score_all
from turngap.protocols.stock import take_stock
from turngap.runs.cache import Layered
from turngap.runs.store import DATABASE, RunStore

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


class Pending:
    """The store of a run, as far as models and judges need it: they are built, and so checked, before it is opened."""

    store: RunStore

    @property
    def calls(self) -> Pending:
        """The call cache."""
        return self

    def conversations(self) -> Iterator[Conversation]:
        """See `RunStore.conversations`."""
        return self.store.conversations()

    def get(self, key: str) -> bytes | None:
        """See `CallCache.get`."""
        return self.store.calls.get(key)

    def put(self, key: str, response: bytes) -> None:
        """See `CallCache.put`."""
        self.store.calls.put(key, response)


async def evaluate(config: EvalConfig, directory: Path, services: Services) -> None:
    """Run or resume an evaluation; afterwards `directory` holds scores for every unit.

    Model, judges and data are checked before the directory is made, and before anybody is asked.

    Raises:
        UsageError, ConfigError, DataError, StoreError: the evaluation cannot run as asked for; what was already
            computed stays in the directory.
    """
    pending = Pending()
    context = model_context(pending, config, services)
    async with open_judges(config, context, services.save_prompt) as judges, AsyncExitStack() as closing:
        model = models.build(config.model, context)
        closing.push_async_callback(model.aclose)
        _refuse_impossible(config, model)
        unchecked = _check_data(config, directory, services.progress)
        with RunStore.create(directory, config) as store:
            pending.store = store
            store.set_note("state", "started")
            take_in(store, services.progress)
            for line in unchecked:
                services.progress.note(line)
            if warning := offer(config.model, store.conversations()).warning:
                services.progress.note(warning)
            identity = require_same(store, "model", model.identity(), store.note("model", {}).get("identity"))
            store.set_note("model", {"label": model.label, "identity": identity})
            await _ask_model(store, model, config, services.progress)
            # A local model gives its memory back before a local judge takes its own.
            await closing.aclose()
            await _judge_and_score(store, judges, config, services)
            store.set_note("state", "finished")


def _check_data(config: EvalConfig, directory: Path, progress: Progress) -> list[str]:
    """Read the data of a run that is still to be made, whole; returns and raises as `require_known` and `walk`."""
    if (directory / DATABASE).exists():
        return require_known(config)
    progress.stage("read", 0)
    conversations = walk(config)
    unchecked = require_known(config, conversations)
    deque(conversations, maxlen=0)  # what was not read, since no name had to be looked up
    return unchecked


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
        for line in require_known(config, store.conversations()):
            services.progress.note(line)
        context = model_context(store, config, services)
        async with open_judges(config, context, services.save_prompt) as judges:
            await _judge_and_score(store, judges, config, services)


async def _judge_and_score(store: RunStore, judges: Sequence[Judge], config: EvalConfig, services: Services) -> None:
    await judge_all(store, judges, config, services.progress)
    score_all(store, [judge.label for judge in judges], config)
    note_scoring(store, judges, config)
    take_stock(store, config, services.progress)


def model_context(store: RunStore | Pending, config: EvalConfig | RolloutConfig, services: Services) -> ModelContext:
    """What a model that works on a stored run is given; live trials have no conversations to learn from."""
    recorded = isinstance(config, EvalConfig)
    tools = config.data.tools if isinstance(config, EvalConfig) else None
    return ModelContext(
        corpus=store.conversations if recorded else lambda: (),
        load=lambda path: formats.read(DataConfig(paths=(str(path),), tools=tools), seed=config.seed),
        cache=store.calls if services.cache is None else Layered(store.calls, services.cache),
        notify=services.progress.note,
        waiting=services.progress.waiting,
    )


def _refuse_impossible(config: EvalConfig, model: Model) -> None:
    if getattr(model, "live_only", False):
        raise UsageError(
            f"{config.model.spec} acts in live conversations only and has no answers on recorded ones; "
            "use turngap rollout, or name the model alone"
        )
    wanted = [name for name in _OWN_HISTORY if name in config.protocols]
    if wanted and getattr(model, "gold_only", False):
        raise UsageError(
            f"{config.model.spec} holds predictions on gold history and cannot act on its own history; "
            f"leave out {' and '.join(wanted)}: --protocols text,turn,strict"
        )


def require_same(
    store: RunStore,
    what: str,
    identity: Mapping[str, Any],
    stored: Mapping[str, Any] | None,
    *,
    remedy: str = "name another directory with -o",
) -> dict[str, Any]:
    """Refuse to go on with something else of the same name: a model with a changed training file, another database.

    Args:
        store: an open run.
        what: ``model``, ``domain``, ``user``.
        identity: what there is now.
        stored: what the run was made with; None where it was made with nothing yet.
        remedy: what to do, for the reader.

    Returns:
        The identity as it is stored.

    Raises:
        ConfigError: names every difference.
    """
    now: dict[str, Any] = jsonio.loads(jsonio.encode(identity))
    if stored is not None and (changed := differences(now, stored, what)):
        raise ConfigError(
            f"{store.directory}: the {what} is not the one of the stored run: {'; '.join(changed)}; {remedy}"
        )
    return now


async def _ask_model(store: RunStore, model: Model, config: EvalConfig, progress: Progress) -> None:
    on_gold = any(name in config.protocols for name in _ON_GOLD)
    closed_loop = any(name in config.protocols for name in _CLOSED_LOOP)
    conversations, total = 0, 0
    for conversation in store.conversations():
        conversations += 1
        total += sum(1 for _ in decisions(conversation))
    predicted, replayed = store.count_predictions(), store.count_trajectories()
    from_all = "horizon" in config.protocols
    if from_all or (on_gold and predicted.good < total) or (closed_loop and replayed.good < conversations):
        progress.stage(f"start {model.label}", 0)
        await examine(store, model)
    concurrency = workers(model, config.model.concurrency)
    if on_gold:
        progress.stage("predict", total, predicted.good, predicted.errored)
        await _predict_all(store, model, progress, concurrency)
    if closed_loop:
        progress.stage("replay", conversations, replayed.good, replayed.errored)
        await _replay_all(store, model, config, progress, concurrency)
    if from_all:
        await _run_from_all(store, model, config, progress, concurrency)


async def examine(store: RunStore, model: Model) -> None:
    """Look at the model's server once, with the last decision of the first conversation: it has everything in it."""
    if not isinstance(model, Examined):
        return
    for conversation in store.conversations():
        if typical := deque(decisions(conversation), maxlen=1):
            await model.preflight(gold.request(conversation, typical[0]))
            return


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


async def _predict_all(store: RunStore, model: Model, progress: Progress, concurrency: int) -> None:
    def open_units() -> Iterator[list[tuple[Conversation, Decision]]]:
        for conversation in store.conversations():
            done = store.predicted(conversation.id)
            yield [(conversation, decision) for decision in decisions(conversation) if decision.index not in done]

    async def work(claim: Claim[tuple[Conversation, Decision]]) -> None:
        with claim as (conversation, decision):
            result = await gold.predict(model, conversation, decision)
            store.put_prediction(conversation.id, decision.index, result)
            _advance(progress, result)

    await run_units(Streams(open_units()), work, concurrency=concurrency)


async def _replay_all(store: RunStore, model: Model, config: EvalConfig, progress: Progress, concurrency: int) -> None:
    names = store.conversation_ids()
    done = store.replayed()

    async def work(name: str) -> None:
        conversation = store.conversation(name)
        result = await replay.run(model, conversation, matcher_for(conversation, config), config.replay)
        store.put_trajectory(name, result)
        _advance(progress, result)

    await run_units((name for name in names if name not in done), work, concurrency=concurrency)


async def _run_from_all(
    store: RunStore, model: Model, config: EvalConfig, progress: Progress, concurrency: int
) -> None:
    most = config.horizon.max
    total = sum(len(horizon.starts(conversation)) for conversation in store.conversations())
    before = store.count_horizon(most)
    progress.stage("horizon", total, before.good, before.errored)

    def open_units() -> Iterator[list[tuple[Conversation, list[Decision]]]]:
        for conversation in store.conversations():
            done = store.ran_from(conversation.id, most)
            counted = horizon.starts(conversation)
            yield [(conversation, counted[place:]) for place, start in enumerate(counted) if start.index not in done]

    async def work(claim: Claim[tuple[Conversation, list[Decision]]]) -> None:
        with claim as (conversation, counted):
            matcher, rules = matcher_for(conversation, config), horizon.rules_of(config.replay)
            result = await horizon.run(model, conversation, counted, matcher, rules, most)
            reach = horizon.speaks_for(counted, result, most)
            store.put_horizon(conversation.id, counted[0].index, result, reach=reach)
            _advance(progress, result)

    await run_units(Streams(open_units()), work, concurrency=concurrency)


def _advance(progress: Progress, result: Prediction | Trajectory | Failure) -> None:
    if isinstance(result, Failure):
        progress.advance(errored=True)
    else:
        progress.advance(usage=result.usage)
