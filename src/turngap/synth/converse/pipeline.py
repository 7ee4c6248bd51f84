"""From a desk to approved conversations: scenarios, talks, opinions; each stored when it is done.

Every conversation goes its own way through the stages, so neither concurrency nor an interruption changes anything.
What a model's server could not answer is not stored, and what a judge could not decide is asked again: the same command
goes on. All judges are asked about every conversation that took place, whatever the others said, so that their
agreement can be told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio, models, users
from turngap.config import ConverseConfig, ModelConfig, SynthConfig
from turngap.data import Cause, Component, Failure, Scenario, Task, Trajectory
from turngap.engines.base import Progress
from turngap.engines.capture import capture
from turngap.engines.local import run_units
from turngap.errors import UsageError
from turngap.formats import tasks as task_files
from turngap.models import CallCache, ModelContext
from turngap.models.base import workers
from turngap.runs.cache import Layered
from turngap.synth.converse.asking import open_asker
from turngap.synth.converse.checks import RewardReviewer, RulesReviewer
from turngap.synth.converse.desk import Desk, open_desk
from turngap.synth.converse.review import Case, Opinion, Reviewer, open_asked
from turngap.synth.converse.simulated import ToolSimulator
from turngap.synth.converse.situation import Lost, Situation
from turngap.synth.converse.store import ConverseStore
from turngap.synth.converse.talk import Parties, recording, user_failed
from turngap.synth.converse.writer import Scenarios, TaskScenarios, WrittenScenarios
from turngap.synth.export import export, kept
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore

TEMPLATE = "template"
"""Spec of the writer that needs no model."""
TASKS = "scenarios"
"""Folder of the synthesis that makes scenarios."""
_OFFLINE: dict[str, type[RewardReviewer | RulesReviewer]] = {"reward": RewardReviewer, "rules": RulesReviewer}
_AGAIN = (Cause.ENDPOINT, Cause.JUDGE)


class Company(msgspec.Struct, frozen=True, kw_only=True):
    """Everyone who takes part."""

    scenarios: Scenarios
    parties: Parties
    reviewers: tuple[Reviewer, ...]

    def identity(self) -> dict[str, Any]:
        """Everything of those who write and talk that can change what is said."""
        return {"scenarios": self.scenarios.identity(), **self.parties.identity()}

    def judges(self) -> tuple[tuple[str, str], ...]:
        """Label and key of each judge, in order."""
        return tuple((one.label, jsonio.digest(one.identity())[:16]) for one in self.reviewers)

    async def aclose(self) -> None:
        """Release what they hold."""
        await self.scenarios.aclose()
        await self.parties.aclose()
        for one in self.reviewers:
            await one.aclose()


async def converse(config: ConverseConfig, directory: Path, progress: Progress, cache: CallCache | None = None) -> int:
    """Make conversations, or go on making them.

    Args:
        config: what is asked for.
        directory: where all is kept.
        progress: is told how far it is.
        cache: a call cache shared with other runs.

    Returns:
        How many conversations could not be finished since a server failed or a judge could not decide; the same
        command tries them again.

    Raises:
        UsageError, ConfigError, DataError, StoreError, MissingExtra: before anything is made.
    """
    desk = open_desk(config)
    with ConverseStore.create(directory, config, desk.identity()) as store:
        context = ModelContext(
            cache=store.calls if cache is None else Layered(store.calls, cache),
            notify=progress.note,
            waiting=progress.waiting,
        )
        has_tasks = config.writer.spec == TEMPLATE
        # Everyone is there before a task is made, so that a name that nobody goes by costs nothing.
        company = open_company(config, desk, () if has_tasks else None, context)
        try:
            if has_tasks:
                tasks = await _tasks(config, store, progress, cache)
                company = msgspec.structs.replace(company, scenarios=TaskScenarios(desk, tasks[: config.count]))
            store.agree("parties", company.identity())
            for remark in _remarks(company):
                progress.note(remark)
            return await _Making(company, store, progress, config).run()
        finally:
            await company.aclose()


def open_company(config: ConverseConfig, desk: Desk, tasks: Sequence[Task] | None, context: ModelContext) -> Company:
    """Build everyone that a configuration names.

    Args:
        config: who takes part.
        desk: where.
        tasks: what conversations are about; None to have scenarios written.
        context: what models are given.

    Raises:
        UsageError, ConfigError, MissingExtra: a name that nothing goes by, or a model that cannot act.
    """
    agent = models.build(config.model, context)
    if getattr(agent, "gold_only", False):
        raise UsageError(f"{config.model.spec} holds predictions on gold history and cannot talk")
    scenarios: Scenarios
    if tasks is None:
        kinds = tuple(map(Scenario, config.scenarios))
        asker = open_asker(config.writer, context)
        scenarios = WrittenScenarios(asker, desk, count=config.count, kinds=kinds, seed=config.seed)
    else:
        scenarios = TaskScenarios(desk, tasks[: config.count])
    simulator = None if config.simulator is None else ToolSimulator(open_asker(config.simulator, context), desk)
    return Company(
        scenarios=scenarios,
        parties=Parties(
            desk=desk,
            agent=agent,
            users=users.build(config.user, context),
            tools=simulator,
            max_steps=config.max_steps,
            max_errors=config.max_errors,
            seed=config.seed,
        ),
        reviewers=tuple(open_reviewer(judge, context) for judge in config.judges),
    )


def open_reviewer(config: ModelConfig, context: ModelContext) -> Reviewer:
    """Build the judge that a configuration names: ``reward``, ``rules``, or a model.

    Raises:
        UsageError, MissingExtra, ConfigError: as `turngap.models.build`.
    """
    offline = _OFFLINE.get(config.spec)
    return open_asked(config, context) if offline is None else offline()


async def _tasks(
    config: ConverseConfig, store: ConverseStore, progress: Progress, cache: CallCache | None
) -> Sequence[Task]:
    """The tasks of a file, or as many as are wanted, synthesised; scenario by scenario in turn."""
    if config.tasks is not None:
        file = task_files.read(Path(config.tasks))
        store.agree("tasks", {"digest": file.digest})
        found = [task for task in file.tasks if task.scenario.value in config.scenarios]
        fit = [task for task in found if not _needs_reader(task, config)]
        if len(fit) < len(found):
            progress.note(
                f"{len(found) - len(fit)} of {len(found)} tasks are passed over: judge reward cannot grade them, since "
                "sentences count in them that only a model can check; other judges can (--judge)"
            )
        if not fit:
            raise UsageError(f"{config.tasks}: has no task of {', '.join(config.scenarios)} to talk about")
        return fit
    each = math.ceil(config.count / len(config.scenarios))
    made = SynthConfig(
        domain=config.domain or "",
        scenarios=config.scenarios,
        count=each,
        explorations=20 * each,
        seed=config.seed,
    )
    directory = store.directory / TASKS
    await synthesise(made, directory, progress, cache)
    with SynthStore.open(directory) as synthesis:
        export(synthesis)
        by_kind: dict[str, list[Task]] = {name: [] for name in config.scenarios}
        for candidate in kept(synthesis, made):
            if candidate.task is not None:
                by_kind[candidate.scenario.value].append(candidate.task)
    return [task for row in zip_longest(*by_kind.values()) for task in row if task is not None]


def _needs_reader(task: Task, config: ConverseConfig) -> bool:
    counted = Component.NL_ASSERTION in task.criteria.reward_basis and bool(task.criteria.nl_assertions)
    return counted and any(judge.spec == "reward" for judge in config.judges)


def _remarks(company: Company) -> Iterator[str]:
    labels = [reviewer.label for reviewer in company.reviewers]
    twice = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
    if twice:
        yield f"{twice[0]} judges twice: that is one opinion, counted twice"
    if len(labels) == 1:
        yield "one judge decides alone; a second one, of another kind, is what makes approval mean something"
    if company.parties.agent.label in labels:
        yield f"{company.parties.agent.label} judges what it said itself"


class _Making:
    """One run of the command."""

    def __init__(self, company: Company, store: ConverseStore, progress: Progress, config: ConverseConfig) -> None:
        self._company, self._store, self._progress = company, store, progress
        self._concurrency = workers(company.parties.agent, config.model.concurrency)
        self._judges = company.judges()
        self._looked = False
        self._failed = 0

    async def run(self) -> int:
        """Bring every conversation to its end; how many could not be."""
        ids = tuple(self._company.scenarios.ids())
        self._store.set_ids(ids)
        self._store.set_judges(self._judges)
        left = [key for key in ids if not self._is_done(key)]
        self._progress.stage("conversations", len(ids), done=len(ids) - len(left))
        await run_units(iter(left), self._work, concurrency=self._concurrency)
        return self._failed

    def _is_done(self, key: str) -> bool:
        if isinstance(self._store.situation(key), Lost) or isinstance(self._store.talk(key), Lost):
            return True
        return all(isinstance(self._store.opinion(key, judge), Opinion) for _, judge in self._judges)

    async def _work(self, key: str) -> None:
        failure = await capture(self._make(key))
        if isinstance(failure, Failure):
            self._progress.note(f"{key}: {failure.reason}")
            if failure.cause not in _AGAIN:
                lost = Lost(reason=f"{failure.cause.value} fault", detail=failure.reason)
                if self._store.situation(key) is None:
                    self._store.put_situation(key, lost)
                else:
                    self._store.put_talk(key, lost)
                failure = None
        self._failed += isinstance(failure, Failure)
        self._progress.advance(errored=isinstance(failure, Failure))

    async def _make(self, key: str) -> Failure | None:
        situation = self._store.situation(key)
        if situation is None:
            situation = await self._company.scenarios.make(key)
            self._store.put_situation(key, situation)
        if isinstance(situation, Lost):
            return None
        talk = self._store.talk(key)
        if talk is None:
            made = await self._talk(situation)
            if isinstance(made, Failure):
                return made
            talk = made
            self._store.put_talk(key, talk)
        return None if isinstance(talk, Lost) else await self._judge(situation, talk)

    async def _talk(self, situation: Situation) -> Trajectory | Lost | Failure:
        if not self._looked:
            self._looked = True
            await self._company.parties.look(situation)
        made = await self._company.parties.talk(situation)
        if isinstance(made, Failure):
            if made.cause in _AGAIN:
                return made
            return Lost(reason=made.kind.replace("_", " ") or f"{made.cause.value} fault", detail=made.reason)
        silence = user_failed(made)
        return made if silence is None else Lost(reason="the user said nothing", detail=silence)

    async def _judge(self, situation: Situation, talk: Trajectory) -> Failure | None:
        desk = self._company.parties.desk
        case = Case(situation=situation, desk=desk, trajectory=talk, conversation=recording(situation, desk, talk))
        failed: Failure | None = None
        for reviewer, (_, judge) in zip(self._company.reviewers, self._judges, strict=True):
            if isinstance(self._store.opinion(situation.id, judge), Opinion):
                continue
            opinion = await capture(reviewer.review(case), judging=True)
            self._store.put_opinion(situation.id, judge, opinion)
            if isinstance(opinion, Failure):
                failed = opinion
        return failed
