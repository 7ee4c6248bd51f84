"""All trials of a run, from configuration to scores: choose tasks, let trials take place, grade, score.

Each finished trial is committed before the next begins, its reward right behind it, so running the same rollout again
resumes it. A trial that failed for the sake of some server (`AGAIN`) is tried again on resuming, and what failed before
stays on record; any other failure stays what it is, since trying it again until it goes well would flatter the agent.

A reward is given with the world as the trial left it. Only where that is gone (a kill in between, another judge) is the
world rebuilt from the recorded calls.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turngap import domains, jsonio, live, models, users
from turngap.config import RolloutConfig
from turngap.data import Cause, Failure, Score, Task, Trajectory, UserMessage
from turngap.data.reward import Reward
from turngap.domains import LiveDomain
from turngap.engines.base import Progress
from turngap.engines.capture import capture
from turngap.engines.local import run_units
from turngap.errors import UsageError
from turngap.live import Place
from turngap.models import Examined, Model, ModelContext, Request, Seat
from turngap.models.base import workers
from turngap.models.corrected import acting
from turngap.protocols import floors, recovering, rollout, vetting
from turngap.protocols.evaluate import Pending, Services, model_context, require_same
from turngap.protocols.grading import Grader, graded, open_grader
from turngap.protocols.rollout import SCORERS
from turngap.protocols.taskset import chosen
from turngap.runs.store import DATABASE, RunStore
from turngap.runs.trials import AUDIT, MAIN, Player, task_digest
from turngap.users import Part, Simulator
from turngap.users.faults import examine
from turngap.users.lapse import Lapse

AGAIN = (Cause.ENDPOINT, Cause.JUDGE)
"""Causes for which a trial, or its grading, is tried again on resuming."""
_CODE = "code"  # of a domain's identity: file -> digest


class Cast(msgspec.Struct, frozen=True, kw_only=True):
    """Everyone who takes part in the trials of a run."""

    model: Model
    domain: LiveDomain
    simulator: Simulator
    grader: Grader
    second: Simulator | None = None
    """Plays the user in an audit."""

    async def aclose(self) -> None:
        """Release what they hold."""
        for one in (self.model, self.simulator, self.second, self.grader):
            if one is not None:
                await one.aclose()


async def roll_out(config: RolloutConfig, directory: Path, services: Services) -> None:
    """Run or resume a rollout; afterwards `directory` holds a score for every trial.

    Domain, tasks and everyone who takes part are checked before the directory is made.

    Raises:
        UsageError, ConfigError, DataError, StoreError: it cannot run as asked for; what was already computed stays.
    """
    domain = domains.build(config.domain)
    task_file, tasks = chosen(config.tasks)
    found = await vetting.vet(task_file, tasks, domain, services.progress, _resumed(directory, config, domain))
    pending = Pending()
    cast = open_cast(config, domain, model_context(pending, config, services), services)
    try:
        _rehearse(cast, tasks)
        with RunStore.create(directory, config) as store:
            pending.store = store
            store.set_note("state", "started")
            store.add_tasks(tasks)
            store.set_note(vetting.NOTE, msgspec.to_builtins(found))
            store.set_note("edited", [])
            store.set_note("tasks", {"file": task_file.file, "digest": task_file.digest})
            _settle(store, cast, services.progress)
            await _look(cast.model, domain, tasks[0])
            await perform(store, cast, services.progress)
            store.set_note("state", "finished")
    finally:
        await cast.aclose()


async def regrade(directory: Path, config: RolloutConfig, services: Services) -> None:
    """Grade and score the stored trials again, without asking the model or the user.

    Args:
        directory: a run of trials.
        config: the run's configuration with another judge.
        services: progress and cache.

    Where nothing but the code of the domain has changed, it says so and grades all trials in it; one in which the same
    calls give another answer than they did is errored.

    Raises:
        UsageError: the run holds no trial. ConfigError: the domain is no longer the one of the trials.
    """
    domain = domains.build(config.domain)
    with RunStore.open(directory, write=True) as store:
        if not store.trials.measured():
            raise UsageError(f"{directory}: no trial has taken place yet; run turngap rollout first")
        edited = _edited(store, domain)
        if not edited:
            remedy = "bring it back as it was to grade them again"
            require_same(store, "domain", domain.identity(), store.note("domain"), remedy=remedy)
        store.set_note("edited", edited)
        grader = open_grader(config, model_context(store, config, services), services)
        try:
            await _grade_and_score(store, domain, grader, services.progress, config)
        finally:
            await grader.aclose()


async def perform(store: RunStore, cast: Cast, progress: Progress) -> None:
    """Let every trial take place that the run lacks, grade them all, and score them."""
    config = store.rollout
    names = store.trials.task_ids()
    place = Place.of(cast.domain, cast.simulator, config)
    await _play_all(store, cast, place, MAIN, names, progress)
    if config.audit is not None and cast.second is not None:
        second = msgspec.structs.replace(place, simulator=cast.second)
        await _play_all(store, cast, second, AUDIT, audited(names, config), progress)
    await _grade_and_score(store, cast.domain, cast.grader, progress, config)


def audited(names: Sequence[str], config: RolloutConfig) -> list[str]:
    """The tasks that an audit repeats: drawn by the seed, in the order of the file, at least one."""
    if config.audit is None:
        return []
    count = max(1, round(config.audit.share * len(names)))
    drawn = set(random.Random(f"audit {config.seed}").sample(list(names), count))
    return [name for name in names if name in drawn]


def open_cast(config: RolloutConfig, domain: LiveDomain, context: ModelContext, services: Services) -> Cast:
    """Build everyone that a configuration names.

    Raises:
        UsageError, MissingExtra: a name that nothing goes by, or a model that cannot act on its own history.
    """
    refusal = UsageError(f"{config.model.spec} holds predictions on gold history and cannot act in a live domain")
    if config.model.provider == "recorded":  # before its file is read, whose faults are of no interest here
        raise refusal
    model = models.build(config.model, context)
    if getattr(model, "gold_only", False):
        raise refusal
    return Cast(
        model=model,
        domain=domain,
        simulator=users.build(config.user, context),
        grader=open_grader(config, context, services),
        second=None if config.audit is None else users.build(config.audit.user, context),
    )


def _rehearse(cast: Cast, tasks: Sequence[Task]) -> None:
    """Find a task that a user cannot act out now, and not after an hour."""
    for simulator in filter(None, (cast.simulator, cast.second)):
        for task in tasks:
            simulator.user(Part(task=task))


def _resumed(directory: Path, config: RolloutConfig, domain: LiveDomain) -> vetting.Vetted | None:
    """What was found with the tasks of the run that is to go on, if any; refuses another domain before all else."""
    if not (directory / DATABASE).is_file():
        return None
    with RunStore.open(directory) as store:
        same = isinstance(store.settings, RolloutConfig) and store.settings.domain == config.domain
        if same and store.note("domain") is not None:
            _require_same(store, "domain", domain.identity())
        return _vetted(store)


def _vetted(store: RunStore) -> vetting.Vetted | None:
    """What was found with the tasks of a run before its first trial; None where they were never looked at."""
    note = store.note(vetting.NOTE)
    return None if note is None else msgspec.convert(note, vetting.Vetted)


def _settle(store: RunStore, cast: Cast, progress: Progress) -> None:
    """Refuse to mix trials of different domains or users; note who takes part, and what a reader should know."""
    _require_same(store, "domain", cast.domain.identity())
    _require_same(store, "user", cast.simulator.identity())
    store.set_note("model", {"label": cast.model.label, "identity": cast.model.identity()})
    tasks = list(store.trials.tasks())
    found = _vetted(store)
    remarks = [*vetting.remarks(found.findings if found else ()), *_remarks(store.rollout)]
    if cast.grader.identity().get("judge") is None:
        remarks += vetting.unjudged(tasks)
    store.set_note("remarks", remarks)
    for remark in remarks:
        progress.note(remark)


def _remarks(config: RolloutConfig) -> Iterator[str]:
    provider = acting(config.model.spec).partition("/")[0]
    asked = provider not in ("baseline", "recorded") and ":" not in provider
    fixed = config.user.temperature == 0 or config.user.provider.partition("?")[0] == "scripted"
    if config.trials > 1 and asked and config.model.temperature == 0 and fixed:
        yield (
            "agent and user answer at temperature 0: trials of a task tend to be copies, so that pass^k says little "
            "beyond pass^1; give --temperature"
        )


def _edited(store: RunStore, domain: LiveDomain) -> list[str]:
    """Files of the domain's code that have changed since the trials; none where more than code has."""
    now, before = msgspec.to_builtins(domain.identity()), dict(store.note("domain", {}))
    code, stored = now.pop(_CODE, {}), before.pop(_CODE, {})
    changed = [file for file in sorted({*code, *stored}) if code.get(file) != stored.get(file)]
    return changed if now == before else []


def _require_same(store: RunStore, what: str, identity: dict[str, Any]) -> None:
    """See `require_same`; what the run does not know yet is noted."""
    stored = store.note(what)
    now = require_same(store, what, identity, stored)
    if stored is None:
        store.set_note(what, now)


async def _look(model: Model, domain: LiveDomain, task: Task) -> None:
    """Look at the model's server once, with a request such as the first one of a trial."""
    if isinstance(model, Examined):
        opening = task.intent.opening if task.intent is not None else "Hello."
        await model.preflight(
            Request(
                policy=domain.policy,
                tools=tuple(tool.spec for tool in domain.tools),
                messages=(*task.given, UserMessage(content=opening)),
                seat=Seat(conversation=task.id, protocol="rollout", decision=None),
            )
        )


async def _play_all(
    store: RunStore, cast: Cast, place: Place, player: Player, names: Sequence[str], progress: Progress
) -> None:
    trials = store.trials
    count, known = store.rollout.trials, set(names)

    def wanted(key: tuple[str, int]) -> bool:
        return key[0] in known and key[1] < count

    kept = trials.measured(player=player)
    failures = trials.failures(player=player)
    kept |= {key for key, failure in failures.items() if failure.cause not in AGAIN}
    done = sum(map(wanted, kept))
    again = sum(wanted(key) and key not in kept for key in failures)
    progress.stage("rollout" if player == MAIN else "audit", count * len(names), done, again)

    code = _code(cast.domain)

    async def work(key: tuple[str, int]) -> None:
        name, trial = key
        task = trials.task(name)
        played = await live.run(cast.model, place, task, trial)
        if isinstance(played, Failure):
            trials.put(name, trial, played, player=player)
            progress.advance(errored=True)
            return
        trajectory = played.trajectory
        trials.put(name, trial, trajectory, player=player)
        reward = await graded(cast.grader, task, cast.domain, trajectory, played.world)
        trials.put_reward(name, trial, reward, _key(cast.grader, task, trajectory, code), player=player)
        progress.advance(errored=isinstance(reward, Failure), usage=trajectory.usage)

    await run_units(
        ((name, trial) for trial in range(count) for name in names if (name, trial) not in kept),
        work,
        concurrency=workers(cast.model, store.rollout.model.concurrency),
    )


async def _grade_and_score(
    store: RunStore, domain: LiveDomain, grader: Grader, progress: Progress, config: RolloutConfig
) -> None:
    trials = store.trials
    players = [player for player in SCORERS if trials.measured(player=player) or trials.failures(player=player)]
    code = _code(domain)
    units = [(player, name) for player in players for name in store.trials.task_ids()]
    states = [done for unit in units for *_, done in _graded(store, grader, code, *unit)]
    progress.stage("grade", len(states), sum(states))

    async def work(unit: tuple[Player, str]) -> None:
        player, name = unit
        task = store.trials.task(name)
        for trial, trajectory, key, done in _graded(store, grader, code, player, name):
            if not done:
                world = await capture(live.rebuild(domain, task, trajectory))
                if isinstance(world, Failure):
                    reward: Reward | Failure = world
                else:
                    reward = await graded(grader, task, domain, trajectory, world)
                store.trials.put_reward(name, trial, reward, key, player=player)
                progress.advance(errored=isinstance(reward, Failure))

    await run_units(iter(units), work, concurrency=config.judge.concurrency)
    writes = {tool.name for tool in domain.tools if tool.kind == "write"}
    for player in players:
        store.replace_scores(SCORERS[player], _scores(store, player, writes))
    recovering.take_note(store, domain)
    await floors.lay(store, domain, grader, progress)
    store.set_note("scoring", {"grader": grader.identity()})


def _graded(
    store: RunStore, grader: Grader, code: str, player: Player, name: str
) -> Iterator[tuple[int, Trajectory, str, bool]]:
    """The trials of a task that took place: number, trajectory, key of the reward, and whether that is there."""
    task = store.trials.task(name)
    rewards = store.trials.rewards(name, player=player)
    for stored in store.trials.of(name, player=player):
        if isinstance(stored.result, Trajectory):
            key = _key(grader, task, stored.result, code)
            held_key, held = rewards.get(stored.trial, ("", None))
            done = held_key == key and not (isinstance(held, Failure) and held.cause in AGAIN)
            yield stored.trial, stored.result, key, held is not None and done


def _code(domain: LiveDomain) -> str:
    return jsonio.digest(domain.identity().get(_CODE))


def _key(grader: Grader, task: Task, trajectory: Trajectory, code: str) -> str:
    """What a reward is for, by whom, and in what code of the domain; how long anything took is no part of it."""
    metadata = {key: value for key, value in trajectory.metadata.items() if key != "answer_seconds"}
    content = msgspec.structs.replace(trajectory, seconds=0.0, metadata=metadata)
    return jsonio.digest([grader.identity(), task_digest(task), content, code])


def _scores(store: RunStore, player: Player, writes: set[str]) -> Iterator[Score]:
    lacking = Failure(
        cause=Cause.HARNESS, reason="the trial was not graded; resume the run", kind="NotGraded", attempts=0
    )
    for task in store.trials.tasks():
        rewards = store.trials.rewards(task.id, player=player)
        for stored in store.trials.of(task.id, player=player):
            if stored.trial >= store.rollout.trials:
                continue
            _, reward = rewards.get(stored.trial, ("", lacking))
            lapses: list[str] = []
            if isinstance(stored.result, Trajectory):
                noticed = msgspec.convert(stored.result.metadata.get("lapses", []), list[Lapse])
                found = examine(stored.result, task, noticed=noticed, writes=writes)
                lapses = [f"{lapse.kind} in turn {lapse.turn}: {lapse.detail}" for lapse in found if not lapse.mended]
            yield rollout.score(task, stored.trial, stored.result, reward, lapses)
