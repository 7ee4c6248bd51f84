"""The stages of an experiment, each in a folder of its own that is named by what went into it.

A stage whose folder is complete is not done again, and one that was interrupted goes on where it was; a change in the
study's file changes the names of the folders whose content depends on it, and of no others. So repeating the command
costs nothing, and a study with one setting changed costs what hangs on that setting. Before the first stage that is to
be done, everything that the rest needs is looked for (`turngap.study.precondition`); nothing is made before that.

What goes into a name is what decides the content: a training is named by its examples as they are, not by where they
come from, and what only decides how fast something goes is in no name.

Stages: training tasks and evaluation tasks (`turngap.synth`), the teacher on both (`turngap.protocols.trials`),
examples (`turngap.training.making`), training (`turngap.training.fitting`), recovery rounds where they are wanted
(tasks, trials in which the teacher takes over, examples, further training), and for the base and each trained model
the protocols on recorded conversations and live trials. What it all means is said by `turngap.study.findings`.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from turngap import formats, jsonio
from turngap.config import (
    PROTOCOLS,
    DataConfig,
    EvalConfig,
    HorizonConfig,
    JudgeConfig,
    ModelConfig,
    RolloutConfig,
    SynthConfig,
    TaskConfig,
)
from turngap.data import Conversation
from turngap.domains import LiveDomain
from turngap.engines.base import Progress
from turngap.errors import DataError, UnitError
from turngap.formats import tasks as task_files
from turngap.formats.writer import write_openai
from turngap.metrics.contamination import Match, contamination
from turngap.models.corrected import PREFIX
from turngap.protocols.evaluate import Services, evaluate
from turngap.protocols.keeping import keep
from turngap.protocols.recovering import Recovered, keep_recoveries
from turngap.protocols.trials import roll_out
from turngap.runs.store import RunStore
from turngap.study import naming, precondition
from turngap.study.plan import NEW, Asked, Study, Tasks
from turngap.synth.export import TASKS, export
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore
from turngap.training import base as bases
from turngap.training import exchange, fitting
from turngap.training.making import Options, document, make
from turngap.training.moment import Watch, nobody
from turngap.training.vocabulary import texts_of

DONE, CONVERSATIONS = "stage.json", "conversations.jsonl"
"""Stands in the folder of a stage that is complete; what a stage of trials is made for."""
VALIDATION = 0.08
_COUNTS = "recovered.json"
_APART = 1_000_003
"""Between the seeds of two rounds."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """One trained model."""

    name: str
    """``after``, ``recovery 1``, ..."""
    folder: Path
    """What `turngap.training.fitting` wrote."""
    examples: Path
    """The set that it learnt from."""
    outcome: fitting.Outcome
    recovered: Recovered | None = None
    """What the trials of its round came to; None without."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one model."""

    name: str
    """``before``, ``after``, ``recovery 1``, ..."""
    spec: str
    recorded: Path
    """Run on recorded conversations."""
    live: Path
    """Run on live tasks."""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything of a study lies."""

    trained: tuple[Trained, ...]
    """In order; each but the first goes on from the one before."""
    measured: tuple[Measured, ...]


class Laboratory:
    """Runs one study in one directory."""

    def __init__(self, study: Study, directory: Path, progress: Progress, watch: Watch = nobody) -> None:
        self._study = study
        self._directory = directory.absolute()
        self._progress = progress
        self._watch = watch
        self._services = Services(progress=progress)
        self._ready = False

    async def run(self) -> Results:
        """Do every stage that is not done.

        Raises:
            TurngapError: a stage cannot be done; one line says why. What was done before stays. MissingExtra,
                ConfigError: as `turngap.study.precondition.require`, before anything is made.
        """
        study = self._study
        taught = await self._taught("train", study.train)
        gold = await self._taught("evaluate", study.evaluate)
        measured = []
        before = study.before()
        examples = await self._examples("examples", [taught], gold)
        trained = [await self._train("after", examples, study.base)]
        if before is not None:
            measured.append(await self._measure("before", before, gold, study.ask.untrained()))
        measured.append(await self._measure("after", self.served(trained[0].folder), gold, study.ask.trained()))
        known = [taught]
        for number in range(1, study.recovery.rounds + 1):
            recovered = await self._recover(number, trained[-1], known, gold)
            if recovered is None:
                break
            trained.append(recovered)
            ask = study.ask.trained(study.recovery.protocols)
            measured.append(await self._measure(trained[-1].name, self.served(trained[-1].folder), gold, ask))
        return Results(trained=tuple(trained), measured=tuple(measured))

    def served(self, model: Path) -> str:
        """The spec by which a trained model is asked."""
        wanted = self._study.ask.served
        gguf = model / bases.GGUF
        if "{}" in wanted:
            return wanted.replace("{}", str(model / bases.MODEL))
        if wanted == "gguf" or (wanted == "auto" and gguf.is_file() and find_spec("xllamacpp") is not None):
            return f"local/{gguf}"
        return f"hf/{model / bases.MODEL}"

    # ---- stages

    async def _taught(self, side: str, tasks: Tasks) -> Path:
        """What the teacher did on the tasks of a side: ``tasks.json`` and ``conversations.jsonl`` in one folder."""
        made = await self._tasks(side, tasks)
        teacher = self._study.teacher

        async def work(folder: Path) -> None:
            config = RolloutConfig(
                domain=tasks.domain,
                tasks=TaskConfig(path=str(made / TASKS)),
                model=ModelConfig(spec=teacher.model, base_url=teacher.base_url),
                user=ModelConfig(spec=teacher.user, max_tokens=512, base_url=teacher.base_url),
                trials=teacher.trials,
                seed=self._study.seed,
            )
            await self._roll_out(config, folder)
            with RunStore.open(folder / "run", write=True) as store:
                keep(store, self._domain(side, tasks), folder / CONVERSATIONS)

        return await self._stage(f"{side}-teacher", [made.name, teacher, self._study.seed], work)

    async def _tasks(self, side: str, tasks: Tasks) -> Path:
        async def work(folder: Path) -> None:
            config = SynthConfig(
                domain=tasks.domain,
                scenarios=tasks.scenarios,
                count=tasks.each,
                explorations=tasks.explorations,
                seed=tasks.seed,
                phrases=tasks.phrases,
            )
            if await synthesise(config, folder, self._progress):
                raise UnitError("some explorations could not be finished; the same command tries them again")
            with SynthStore.open(folder) as store:
                export(store)
            made = task_files.read(folder / TASKS).tasks
            short = [name for name in tasks.scenarios if sum(task.scenario == name for task in made) < tasks.each]
            if short:
                raise DataError(
                    f"{', '.join(short)}: fewer tasks than {tasks.each} came of {tasks.explorations} explorations; "
                    f"raise {side}.explorations or lower {side}.each"
                )

        # The most explorations are in no name: where as many tasks as wanted were made, more would not change them.
        named = msgspec.structs.replace(
            tasks, domain=Path(tasks.domain).name, phrases=naming.content(tasks.phrases), explorations=0
        )
        return await self._stage(f"{side}-tasks", [named, self._domain(side, tasks).identity()], work)

    def _domain(self, side: str, tasks: Tasks) -> LiveDomain:
        return precondition.built(self._study, side, tasks)

    async def _recover(self, number: int, last: Trained, known: list[Path], gold: Path) -> Trained | None:
        """One round: the last model on tasks of its own, corrected; what comes of it is added to what is `known`.

        Returns:
            The model that learnt from it; None where there was nothing to correct.
        """
        study, wanted, ask = self._study, self._study.recovery, self._study.ask.trained()
        kinds = len(study.train.scenarios)
        tasks = msgspec.structs.replace(
            study.train, each=-(-wanted.tasks // kinds), seed=study.train.seed + number * _APART
        )
        made = await self._tasks(f"recovery-{number}", tasks)
        spec = f"{PREFIX}{self.served(last.folder)}"

        async def act(folder: Path) -> None:
            config = self._let_loose(spec, ask, tasks.domain, made, wanted.tasks)
            await self._roll_out(config, folder)
            with RunStore.open(folder / "run", write=True) as store:
                kept = keep_recoveries(store, self._domain("train", tasks), folder / CONVERSATIONS)
            jsonio.write_atomic(folder / _COUNTS, jsonio.dumps(kept) + "\n")

        settings = (ask.max_tokens, ask.max_steps, ask.base_url)
        inputs = [made.name, naming.model(spec, self._directory), wanted.tasks, *settings, study.seed]
        acted = await self._stage(f"recovery-{number}-trials", inputs, act)
        counts = msgspec.json.decode((acted / _COUNTS).read_bytes(), type=Recovered)
        if not counts.differed:
            self._progress.note(f"recovery {number}: in {counts.trials} trials there was nothing to correct")
            return None
        examples = await self._examples(f"recovery-{number}-examples", [acted], gold, rehearsed=tuple(known))
        known.append(acted)
        trained = await self._train(f"recovery {number}", examples, str(last.folder / bases.MODEL))
        return msgspec.structs.replace(trained, recovered=counts)

    async def _examples(self, name: str, sources: Sequence[Path], gold: Path, rehearsed: Sequence[Path] = ()) -> Path:
        """The set that comes of conversations, and of some that were learnt before."""
        study = self._study
        options = Options(validation=VALIDATION, mix=study.mix, count=study.examples, seed=study.seed)
        again = study.recovery.rehearsed if rehearsed else 0

        async def work(folder: Path) -> None:
            learnt = [one for source in sources for one in _conversations(source)]
            old = [one for source in rehearsed for one in _conversations(source)]
            learnt += random.Random(f"{study.seed}/{name}").sample(old, min(again, len(old)))
            tested = _conversations(gold)
            common = {text for one in learnt for text in (one.policy, *(jsonio.dumps(tool) for tool in one.tools))}
            found = contamination(map(document, learnt), map(document, tested), common=common)
            same = [match for match in found.matches if match.kind != "near"]
            if same:
                raise DataError(
                    f"{len({match.tested for match in same})} evaluation tasks are found in the training tasks, "
                    f"such as {_leak(same[0])}; give train and evaluate databases of their own"
                )
            made = make(learnt, options, source=sources[0].name)
            near = len(found.matches)  # of sentences that templates share there are some, whatever the database
            said = (
                f"{found.tested} conversations: none copied, {near} alike in half of their words or more, "
                f"{len(found.entities)} ids or addresses on both sides"
            )
            exchange.write(
                folder / "set",
                made,
                exchange.Manifest(
                    options=options,
                    sources=tuple(one.name for one in (*sources, *rehearsed)),
                    counts=made.counts(),
                    left_out=made.left_out,
                    checked_against={gold.name: said},
                ),
            )

        inputs = [*(one.name for one in sources), gold.name, options]
        if rehearsed:
            inputs += [again, *(one.name for one in rehearsed)]
        return await self._stage(name, inputs, work) / "set"

    async def _train(self, name: str, examples: Path, base: str) -> Trained:
        study = self._study
        recipe = study.training()
        digest = msgspec.json.decode((examples / exchange.MANIFEST).read_bytes(), type=exchange.Manifest).digest
        new = study.seed if base.startswith(NEW) else None  # of new weights

        async def work(folder: Path) -> None:
            self._progress.stage(f"loading {base}", 0)
            halt = threading.Event()

            def fit() -> None:
                loaded = bases.load(base, texts_of(exchange.conversations(examples, "train")), seed=study.seed)
                fitting.fit(examples, loaded, recipe, folder / "model", watch=self._watch, halt=halt.is_set)

            try:
                await asyncio.to_thread(fit)
            finally:
                # A thread cannot be cancelled: it is told to stop, at a place to go on from.
                halt.set()

        slug = "training" if name == "after" else f"{name.replace(' ', '-')}-training"
        folder = await self._stage(slug, [digest, naming.model(base, self._directory), new, recipe], work) / "model"
        outcome = fitting.outcome(folder)
        if outcome is None:
            raise DataError("the training left no summary", file=str(folder))
        return Trained(name=name, folder=folder, examples=examples, outcome=outcome)

    def _asked(self, spec: str, ask: Asked) -> ModelConfig:
        return ModelConfig(
            spec=spec,
            base_url=ask.base_url,
            max_tokens=ask.max_tokens,
            concurrency=ask.concurrency,
            seed=self._study.seed,
        )

    def _let_loose(self, spec: str, ask: Asked, domain: str, made: Path, most: int) -> RolloutConfig:
        """A model on so many of the tasks that were made, evenly from the scenarios."""
        chosen = _evenly(task_files.read(made / TASKS).tasks, most, lambda task: task.scenario.value)
        return RolloutConfig(
            domain=domain,
            tasks=TaskConfig(path=str(made / TASKS), ids=tuple(task.id for task in chosen)),
            model=self._asked(spec, ask),
            max_steps=ask.max_steps,
            seed=self._study.seed,
        )

    async def _roll_out(self, config: RolloutConfig, folder: Path) -> None:
        await roll_out(config, folder / "run", self._services)
        _require_measured(folder / "run")

    async def _measure(self, name: str, spec: str, gold: Path, ask: Asked) -> Measured:
        study, slug = self._study, name.replace(" ", "-")
        made = await self._tasks("evaluate", study.evaluate)
        protocols = tuple(name for name in PROTOCOLS if name in ask.protocols)

        async def recorded(folder: Path) -> None:
            data = folder / CONVERSATIONS
            write_openai(_evenly(_conversations(gold), ask.conversations, _scenario), data)
            config = EvalConfig(
                data=DataConfig(paths=(str(data),)),
                model=self._asked(_at_hand(spec), ask),
                judge=JudgeConfig(specs=(ask.judge,), base_url=ask.base_url),
                protocols=(*protocols, *(("horizon",) if ask.horizon else ())),
                horizon=HorizonConfig(max=ask.horizon or HorizonConfig().max),
                seed=study.seed,
            )
            await evaluate(config, folder / "run", self._services)
            _require_measured(folder / "run")

        async def live(folder: Path) -> None:
            config = self._let_loose(_at_hand(spec), ask, study.evaluate.domain, made, ask.tasks)
            await self._roll_out(msgspec.structs.replace(config, trials=ask.trials), folder)

        whom = [naming.model(spec, self._directory), ask.max_tokens, ask.base_url, study.seed]
        on_recorded = [gold.name, *whom, ask.conversations, protocols, ask.judge, ask.horizon]
        on_live = [made.name, *whom, ask.tasks, ask.trials, ask.max_steps]
        return Measured(
            name=name,
            spec=spec,
            recorded=await self._stage(f"{slug}-recorded", on_recorded, recorded) / "run",
            live=await self._stage(f"{slug}-live", on_live, live) / "run",
        )

    async def _stage(self, name: str, inputs: Sequence[Any], work: Callable[[Path], Awaitable[None]]) -> Path:
        """The folder of a stage, complete."""
        folder = self._directory / f"{name}-{jsonio.digest(list(inputs))[:8]}"
        if not (folder / DONE).is_file():
            await self._require_all()
            self._progress.note(f"stage {name}: {folder}")
            folder.mkdir(parents=True, exist_ok=True)
            await work(folder)
            jsonio.write_atomic(folder / DONE, jsonio.dumps({"stage": name}) + "\n")
            self._progress.stage("", 0)
        return folder

    async def _require_all(self) -> None:
        if not self._ready:
            await precondition.require(self._study)
            self._ready = True


def _require_measured(run: Path) -> None:
    """Refuse to go on from a run of which something is missing.

    Raises:
        UnitError: units are errored; the same command tries them again.
    """
    with RunStore.open(run) as store:
        state = store.state()
    if state != "finished":
        raise UnitError(f"{run}: not finished; the same command goes on")


def _conversations(taught: Path) -> list[Conversation]:
    path = taught / CONVERSATIONS
    if not path.is_file() or not path.stat().st_size:
        raise DataError("the teacher solved no task", file=str(taught))
    return list(formats.read(DataConfig(paths=(str(path),))))


def _scenario(conversation: Conversation) -> str:
    return str(conversation.metadata.get("scenario", ""))


def _evenly(items: Iterable[Any], count: int, kind: Callable[[Any], str]) -> list[Any]:
    """So many, taken in turn from each kind, in the order in which they come."""
    kinds: dict[str, list[Any]] = {}
    for item in items:
        kinds.setdefault(kind(item), []).append(item)
    chosen: list[Any] = []
    while len(chosen) < count and any(kinds.values()):
        chosen += [one.pop(0) for one in kinds.values() if one]
    return chosen[:count]


def _at_hand(spec: str) -> str:
    """The spec of a model of transformers by its folder, where it is named by what it is called in the local cache."""
    if not spec.startswith("hf/") or Path(spec.removeprefix("hf/").partition("?")[0]).expanduser().is_dir():
        return spec
    return f"hf/{bases.folder_of(spec)}"


def _leak(match: Match) -> str:
    if match.kind == "id":
        return f"{match.tested}, which both have"
    return f"{match.tested}, whose words are those of {match.learnt}: {match.shown}"
