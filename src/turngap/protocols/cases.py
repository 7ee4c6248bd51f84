"""Cut the failed replays of a stored run down to regression tests (`turngap.protocols.shrink`), several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turngap import models
from turngap.config import EvalConfig
from turngap.data import Trajectory
from turngap.engines.local import run_units
from turngap.errors import UsageError
from turngap.models.base import workers
from turngap.protocols.evaluate import Services, examine, model_context
from turngap.protocols.scoring import matcher_for
from turngap.protocols.shrink import Case, Setting, Uncut, shrink
from turngap.runs.store import RunStore

_NAMED = 3  # ids that a message lists


async def shrink_run(
    directory: Path, config: EvalConfig, services: Services, names: Sequence[str] | None, most_calls: int
) -> list[Case | Uncut]:
    """Cut the failed replays of a run down; the model is asked, and its answers are kept in the run's call cache.

    Args:
        directory: a run with replays. Nothing of it changes but the call cache.
        config: the run's configuration; its base URL may be another.
        services: progress and a shared cache.
        names: conversations; None for all whose replay failed.
        most_calls: bound on the questions to the model for each.

    Returns:
        One entry for each, in the order of the data.

    Raises:
        UsageError: the run has no replays, or a named conversation has no failed one.
    """
    with RunStore.open(directory, write=True) as store:
        failed = {name: trajectory for name in store.conversation_ids() if (trajectory := _failed(store, name))}
        if not store.count_trajectories().good:
            raise UsageError(f"{directory}: holds no replays; run turngap eval with --protocols replay first")
        unknown = [name for name in names or () if name not in failed]
        if unknown:
            some = ", ".join(list(failed)[:_NAMED]) or "none"
            raise UsageError(f"{directory}: no failed replay of {', '.join(unknown)}; failed are, for example: {some}")
        wanted = [name for name in failed if names is None or name in names]
        services.progress.stage("shrink", len(wanted))
        found: dict[str, Case | Uncut] = {}
        model = models.build(config.model, model_context(store, config, services))
        try:
            await examine(store, model)

            async def work(name: str) -> None:
                conversation = store.conversation(name)
                setting = Setting(
                    model=model,
                    matcher=matcher_for(conversation, config),
                    rules=config.replay,
                    most_calls=most_calls,
                    run=directory.name,
                )
                found[name] = result = await shrink(conversation, failed[name], setting)
                services.progress.advance(errored=isinstance(result, Uncut) and result.errored)

            await run_units(iter(wanted), work, concurrency=workers(model, config.model.concurrency))
        finally:
            await model.aclose()
    return [found[name] for name in wanted]


def _failed(store: RunStore, name: str) -> Trajectory | None:
    trajectory = store.trajectory(name)
    return trajectory if isinstance(trajectory, Trajectory) and trajectory.problems else None
