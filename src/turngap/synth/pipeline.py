"""From a domain to verified tasks: explore, filter, plan, draft, word, check, play, keep; in rounds.

Each exploration is one unit of work: a customer is drawn, tools are picked by a walk on the tool graph, an explorer
acts, and each scenario that still wants tasks makes of it what it can. Every step is stored when it is done, so the
same command goes on where it was, and whatever is given up is stored with the reason.

Explorations come in rounds. Within a round they know nothing of each other, so that neither concurrency nor an
interruption changes anything; after it the trajectory bank grows by what was kept, in the order of the explorations,
and scenarios that have enough stop. A task that asks for the same as an earlier one, with the same reference, is given
up as a repetition.

What a model's server could not answer is not stored: the round ends there, and the same command asks again. Code that
fails, the domain's or turngap's own, costs the one exploration or candidate at which it failed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from turngap import domains, jsonio, models
from turngap.config import SynthConfig
from turngap.data import Cause, Failure, Task, Trajectory
from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.engines.base import Progress
from turngap.engines.capture import capture
from turngap.engines.local import run_units
from turngap.errors import DataError, UsageError
from turngap.models import CallCache, ModelContext
from turngap.synth import ablation, graph, keep, override, scenario, walk
from turngap.synth.asked_explorer import AskedExplorer
from turngap.synth.asked_scorer import AskedScorer
from turngap.synth.asked_summary import AskedSummariser
from turngap.synth.bank import Bank, begin
from turngap.synth.check import Checker
from turngap.synth.customer import Sampler
from turngap.synth.explore import Brief, Explorer
from turngap.synth.plan import Candidate, Draft, Exploration, Loss, LostError, Plan, Stage
from turngap.synth.player import Player
from turngap.synth.program import ProgramExplorer
from turngap.synth.store import SynthStore
from turngap.synth.summary import Summariser, TemplateSummariser
from turngap.synth.validity import Scorer, require_valid

_NO_WRITERS = ("baseline", "recorded")
"""Providers of models that say what somebody said before."""
PROGRAM, TEMPLATE = "program", "template"
"""Specs of the explorer and of the summariser that need no model."""
ROUND = 25
"""Explorations of a round."""
_TRANSIENT = (Cause.ENDPOINT, Cause.JUDGE)
_T = TypeVar("_T")


class Workshop(msgspec.Struct, frozen=True, kw_only=True):
    """What tasks of one domain are made with."""

    config: SynthConfig
    domain: LiveDomain
    graph: graph.ToolGraph
    sampler: Sampler
    explorer: Explorer
    seeds: Explorer
    """Who makes the trajectories that the bank begins with: no model."""
    summariser: Summariser
    scorer: Scorer | None
    checker: Checker
    player: Player
    mark: str
    """Begins the ids of what is made, so that tasks of two databases or seeds never have the same."""

    async def explore(self, position: int, bank: Bank) -> Exploration:
        """Make one exploration.

        Raises:
            LostError: nothing came of it.
        """
        seed = self.config.seed
        rng = random.Random(f"{seed}/exploration/{position}")
        customer = self.sampler.draw(rng)
        brief = Brief(
            id=f"{self.mark}-{position:05d}",
            seed=rng.getrandbits(31),
            customer=customer,
            tools=walk.walk(self.graph, rng, self.config.tools),
            example=bank.draw(rng),
            stranger=self.sampler.other(customer, rng),
            most_steps=self.config.max_steps,
        )
        exploration = await self.explorer.explore(brief, self.domain.world())
        keep.require_use(exploration)
        return exploration

    async def plan(self, exploration: Exploration) -> Plan:
        """The backbone that most scenarios share.

        Raises:
            LostError: there is none.
        """
        return ablation.backbone(self.domain, exploration)

    async def make(self, exploration: Exploration, wanted: Scenario, plan: Plan | Loss) -> Candidate | Failure:
        """Make of an exploration what a scenario can; the failure of a model's server, where one failed."""
        if isinstance(plan, Loss) and wanted is not Scenario.INFEASIBLE:
            return Candidate(scenario=wanted, loss=plan)
        making = _Candidacy(self, exploration, wanted, plan if isinstance(plan, Plan) else None)
        played = await _outcome(making.run(), making)
        if isinstance(played, Failure):
            return played
        if isinstance(played, Loss):
            return Candidate(scenario=wanted, draft=making.draft, task=making.task, loss=played)
        return Candidate(scenario=wanted, draft=making.draft, task=making.task, played=played)


class _Under:
    """What is under way, and how far it came; to be looked at when it failed."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage


class _Candidacy(_Under):
    """One candidate on its way through the stages."""

    def __init__(self, workshop: Workshop, exploration: Exploration, wanted: Scenario, plan: Plan | None) -> None:
        super().__init__("scenario")
        self.draft: Draft | None = None
        self.task: Task | None = None
        self._workshop, self._exploration, self._wanted, self._plan = workshop, exploration, wanted, plan

    async def run(self) -> Trajectory:
        """All stages; the reference agent at the task.

        Raises:
            LostError: the candidate is given up.
        """
        shop = self._workshop
        draft = scenario.draft(shop.domain, self._exploration, self._wanted, shop.config.seed, self._plan)
        self.draft, self.stage = draft, "summarise"
        task = await shop.summariser.summarise(draft, shop.domain)
        self.task, self.stage = task, "validate"
        require_valid(task, draft, shop.domain, shop.checker)
        if shop.scorer is not None:
            task = self.task = await shop.scorer.score(task, draft)
        self.stage = "play"
        return await shop.player.play(task)


async def _outcome(work: Awaitable[_T], under: _Under) -> _T | Loss | Failure:
    """Await work: what it gives, why it was given up, or the failure of a model's server, which is asked again."""

    async def given_up() -> _T | Loss:
        try:
            return await work
        except LostError as lost:
            return lost.loss

    found = await capture(given_up())
    if isinstance(found, Failure) and found.cause not in _TRANSIENT:
        return Loss(stage=under.stage, reason=f"{found.cause.value} fault", detail=found.reason, fault=True)
    return found


async def synthesise(config: SynthConfig, directory: Path, progress: Progress, cache: CallCache | None = None) -> int:
    """Make tasks, or go on making them.

    Args:
        config: what is asked for.
        directory: where all is kept.
        progress: is told how far it is.
        cache: a call cache shared with other runs.

    Returns:
        How many explorations could not be finished since a model's server failed; the same command tries them again.

    Raises:
        UsageError, ConfigError, StoreError, MissingExtra: before anything is made.
    """
    domain = domains.build(config.domain)
    with SynthStore.create(directory, config, domain.identity(), _files(config)) as store:
        context = ModelContext(cache=cache or store.calls, notify=progress.note)
        workshop = await _open(config, domain, context, stored_graph(store))
        store.put_graph(workshop.graph.json())
        try:
            bank = await begin(domain, workshop.seeds, workshop.sampler, seed=config.seed)
            return await _Rounds(workshop, store, progress, bank).run()
        finally:
            await workshop.explorer.aclose()
            await workshop.summariser.aclose()
            if workshop.scorer is not None:
                await workshop.scorer.aclose()


def _files(config: SynthConfig) -> dict[str, str]:
    """The digest of each file that decides what is made, by the option that names it."""
    found = {}
    for option, path in (("graph", config.graph), ("phrases", config.phrases)):
        if path is not None:
            try:
                found[option] = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror or error}", file=path) from None
    return found


async def _open(
    config: SynthConfig, domain: LiveDomain, context: ModelContext, made: graph.ToolGraph | None = None
) -> Workshop:
    """Build all that tasks are made with, before anything is made; `made` is the graph, where it is known already."""
    if not domain.tools:
        raise UsageError(f"domain {domain.name!r} has no tools, so nothing can be done in it")
    for role, one in (("explores", config.explorer), ("words tasks", config.summariser), ("scores", config.scorer)):
        if one is not None and one.provider in _NO_WRITERS:
            raise UsageError(f"{one.spec} follows recordings and tasks that exist; no such model {role}")
    phrases = (Path(config.phrases),) if config.phrases else ()
    content = domain.world().content()
    program = ProgramExplorer(domain, content)
    explorer: Explorer = program
    if config.explorer.spec != PROGRAM:
        explorer = AskedExplorer(models.build(config.explorer, context), domain, label=config.explorer.spec)
    summariser: Summariser = TemplateSummariser(domain, phrases=phrases, content=content)
    if config.summariser.spec != TEMPLATE:
        model = models.build(config.summariser, context)
        summariser = AskedSummariser(model, domain, phrases=phrases, content=content)
    scorer = None if config.scorer is None else AskedScorer(models.build(config.scorer, context), domain)
    return Workshop(
        config=config,
        domain=domain,
        graph=made or tool_graph(config, domain),
        sampler=Sampler(domain, config.people, content),
        explorer=explorer,
        seeds=program,
        summariser=summariser,
        scorer=scorer,
        checker=Checker(domain),
        player=Player(domain, config.seed),
        mark=jsonio.digest([domain.identity(), config.seed])[:6],
    )


def tool_graph(config: SynthConfig, domain: LiveDomain) -> graph.ToolGraph:
    """The graph that walks go on."""
    overrides = override.read(Path(config.graph)) if config.graph else None
    return graph.build(domain, seed=config.seed, overrides=overrides)


def stored_graph(store: SynthStore) -> graph.ToolGraph | None:
    """The graph that the walks of a synthesis went on; None where none was made yet."""
    text = store.graph()
    return None if text is None else graph.from_json(text, file=str(store.directory))


class _Rounds:
    """The rounds of one synthesis."""

    def __init__(self, workshop: Workshop, store: SynthStore, progress: Progress, bank: Bank) -> None:
        self._workshop = workshop
        self._config = workshop.config
        self._store = store
        self._progress = progress
        self._bank = bank
        self._kept: dict[Scenario, int] = {Scenario(name): 0 for name in self._config.scenarios}
        self._seen: set[str] = set()
        self._failed = 0

    async def run(self) -> int:
        """Make round after round until there is enough."""
        total = self._config.explorations
        done = sum(1 for _ in self._store.explorations())
        self._progress.stage("explorations", total, done=min(done, total))
        for start in range(0, total, ROUND):
            wanted = self._wanting()
            if not wanted:
                break
            positions = range(start, min(start + ROUND, total))
            await run_units(
                self._unfinished(positions, wanted), lambda unit: self._work(*unit), concurrency=self._concurrency()
            )
            if self._failed:
                break
            self._close(positions, wanted)
        return self._failed

    def _wanting(self) -> tuple[Scenario, ...]:
        count = self._config.count
        return tuple(name for name, kept in self._kept.items() if count is None or kept < count)

    def _unfinished(
        self, positions: range, wanted: tuple[Scenario, ...]
    ) -> Iterator[tuple[int, tuple[Scenario, ...], bool]]:
        for position in positions:
            made = self._store.exploration(position)
            left = tuple(name for name in wanted if self._store.candidate(position, name.value) is None)
            if made is None or (left and isinstance(made, Exploration)):
                yield position, left, made is None

    async def _work(self, position: int, wanted: tuple[Scenario, ...], new: bool) -> None:
        failure = await self._make(position, wanted)
        if failure is not None:
            self._failed += 1
            self._progress.note(f"exploration {position}: {failure.reason}")
        if new or failure is not None:
            self._progress.advance(errored=failure is not None)

    async def _make(self, position: int, wanted: tuple[Scenario, ...]) -> Failure | None:
        """Explore, where that was not done, and make the candidates; the failure of a model's server ends it."""
        made = self._store.exploration(position)
        if made is None:
            explored = await _outcome(self._workshop.explore(position, self._bank), _Under("explore"))
            if isinstance(explored, Failure):
                return explored
            made = explored
            self._store.put_exploration(position, made)
        if isinstance(made, Loss):
            return None
        plan = await _outcome(self._workshop.plan(made), _Under("ablate"))
        if isinstance(plan, Failure):
            return plan
        for name in wanted:
            candidate = await self._workshop.make(made, name, plan)
            if isinstance(candidate, Failure):
                return candidate
            self._store.put_candidate(position, candidate)
        return None

    def _close(self, positions: range, wanted: tuple[Scenario, ...]) -> None:
        """Accept what a round came to, in order, and let the bank grow by it."""
        useful: list[Exploration] = []
        for position in positions:
            made = self._store.exploration(position)
            if not isinstance(made, Exploration):
                continue
            kept = [self._accept(position, name) for name in wanted]
            if any(kept):
                useful.append(made)
        self._bank = self._bank.grown(useful)

    def _accept(self, position: int, name: Scenario) -> bool:
        """Count one candidate, or give it up as a repetition; whether it was fit to be kept."""
        candidate = self._store.candidate(position, name.value)
        if candidate is None or candidate.task is None:
            return False
        if candidate.loss is not None:
            return candidate.loss.stage == "repeat"
        key = asked_and_wanted(candidate.task)
        if key in self._seen:
            loss = Loss(stage="repeat", reason="asks for the same as an earlier task", detail=candidate.task.id)
            self._store.put_candidate(position, msgspec.structs.replace(candidate, played=None, loss=loss))
        else:
            self._seen.add(key)
            self._kept[name] += 1
        return True

    def _concurrency(self) -> int:
        asked = [self._config.explorer, self._config.summariser, self._config.scorer]
        return max(one.concurrency for one in asked if one is not None)


def asked_and_wanted(task: Task) -> str:
    """Equal for tasks that say the same and want the same."""
    return jsonio.digest([task.instructions, task.criteria.actions, task.criteria.required, task.criteria.forbidden])
