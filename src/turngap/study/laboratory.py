"""The stages of an experiment, each in a folder of its own that is named by what went into it.

A stage whose folder is complete is not done again, and one that was interrupted goes on where it was; a change in the
study's file changes the names of the folders that depend on it, and of no others. So repeating the command costs
nothing, and a study with one setting changed costs what hangs on that setting.

Stages: training tasks and evaluation tasks (`turngap.synth`), the teacher on both (`turngap.protocols.trials`),
examples (`turngap.training.making`), training (`turngap.training.fitting`), and for the base and the trained model the
protocols on recorded conversations and live trials. What it all means is said by `turngap.study.findings`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from turngap import domains, formats, jsonio
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
from turngap.engines.base import Progress
from turngap.errors import DataError, UnitError
from turngap.formats import tasks as task_files
from turngap.formats.writer import write_openai
from turngap.metrics.contamination import contamination
from turngap.protocols.evaluate import Services, evaluate
from turngap.protocols.keeping import keep
from turngap.protocols.trials import roll_out
from turngap.runs.store import RunStore
from turngap.study.plan import Study, Tasks
from turngap.synth.export import TASKS, export
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore
from turngap.training import base as bases
from turngap.training import exchange, fitting
from turngap.training.making import Options, document, make
from turngap.training.moment import Watch, nobody
from turngap.training.vocabulary import texts_of

DONE = "stage.json"
"""Stands in the folder of a stage that is complete."""
VALIDATION = 0.08


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

    training: fitting.Outcome
    examples: dict[str, dict[str, int]]
    measured: tuple[Measured, ...]


class Laboratory:
    """Runs one study in one directory."""

    def __init__(self, study: Study, directory: Path, progress: Progress, watch: Watch = nobody) -> None:
        self._study = study
        self._directory = directory.absolute()
        self._progress = progress
        self._watch = watch
        self._services = Services(progress=progress)

    async def run(self) -> Results:
        """Do every stage that is not done.

        Raises:
            TurngapError: a stage cannot be done; one line says why. What was done before stays.
        """
        study = self._study
        self._directory.mkdir(parents=True, exist_ok=True)
        taught = await self._taught("train", study.train)
        gold = await self._taught("evaluate", study.evaluate)
        examples = await self._examples(taught, gold)
        model = await self._train(examples, study.base, "training")
        outcome = fitting.outcome(model)
        if outcome is None:
            raise DataError("the training left no summary", file=str(model))
        measured = []
        before = study.ask.model or (None if study.base.startswith("new:") else study.base)
        if before is not None:
            measured.append(await self._measure("before", before, gold, study.ask.before))
        measured.append(await self._measure("after", self.served(model), gold, None))
        manifest, _ = exchange.read(examples)
        return Results(training=outcome, examples=manifest.counts, measured=tuple(measured))

    def served(self, model: Path) -> str:
        """The spec by which a trained model is asked."""
        wanted = self._study.ask.served
        gguf = model / fitting.GGUF
        if "{}" in wanted:
            return wanted.replace("{}", str(model / fitting.MODEL))
        if wanted == "gguf" or (wanted == "auto" and gguf.is_file() and find_spec("xllamacpp") is not None):
            return f"local/{gguf}"
        return f"hf/{model / fitting.MODEL}"

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
            await roll_out(config, folder / "run", self._services)
            _require_measured(folder / "run")
            with RunStore.open(folder / "run", write=True) as store:
                keep(store, domains.build(tasks.domain), folder / "conversations.jsonl")

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

        identity = domains.build(tasks.domain).identity()
        return await self._stage(f"{side}-tasks", [tasks, identity], work)

    async def _examples(self, taught: Path, gold: Path) -> Path:
        study = self._study
        options = Options(validation=VALIDATION, mix=study.mix, count=study.examples, seed=study.seed)

        async def work(folder: Path) -> None:
            learnt, tested = _conversations(taught), _conversations(gold)
            common = {text for one in learnt for text in (one.policy, *(jsonio.dumps(tool) for tool in one.tools))}
            found = contamination(map(document, learnt), map(document, tested), common=common)
            same = [match for match in found.matches if match.kind != "near"]
            if same:
                raise DataError(
                    f"{len(same)} evaluation tasks are found in the training tasks, such as {same[0].tested} in "
                    f"{same[0].learnt}: {same[0].shown}; give train and evaluate databases of their own"
                )
            made = make(learnt, options, source=str(taught))
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
                    sources=(taught.name,),
                    counts=made.counts(),
                    left_out=made.left_out,
                    checked_against={gold.name: said},
                ),
            )

        return await self._stage("examples", [taught.name, gold.name, options], work) / "set"

    async def _train(self, examples: Path, base: str, name: str) -> Path:
        study = self._study
        recipe = study.training()

        async def work(folder: Path) -> None:
            self._progress.note(f"training {base} on {examples.parent.name}")
            halt = threading.Event()

            def fit() -> None:
                loaded = bases.load(base, texts_of(exchange.conversations(examples, "train")), seed=study.seed)
                fitting.fit(examples, loaded, recipe, folder / "model", watch=self._watch, halt=halt.is_set)

            try:
                await asyncio.to_thread(fit)
            finally:
                # A thread cannot be cancelled: it is told to stop, at a place to go on from.
                halt.set()

        return await self._stage(name, [examples.parent.name, base, recipe], work) / "model"

    async def _measure(self, name: str, spec: str, gold: Path, most: int | None) -> Measured:
        study, ask = self._study, self._study.ask
        model = ModelConfig(
            spec=spec, base_url=ask.base_url, max_tokens=ask.max_tokens, concurrency=ask.concurrency, seed=study.seed
        )
        count = min(ask.conversations, most or ask.conversations)
        tasks = min(ask.tasks, most or ask.tasks)
        identity = [gold.name, _place(spec), ask, count, tasks, study.seed]

        async def recorded(folder: Path) -> None:
            data = folder / "conversations.jsonl"
            write_openai(_evenly(_conversations(gold), count, _scenario), data)
            config = EvalConfig(
                data=DataConfig(paths=(str(data),)),
                model=model,
                judge=JudgeConfig(specs=(ask.judge,), base_url=ask.base_url),
                protocols=(
                    *(name for name in PROTOCOLS if name in ask.protocols),
                    *(("horizon",) if ask.horizon else ()),
                ),
                horizon=HorizonConfig(max=ask.horizon or HorizonConfig().max),
                seed=study.seed,
            )
            await evaluate(config, folder / "run", self._services)
            _require_measured(folder / "run")

        async def live(folder: Path) -> None:
            made = await self._tasks("evaluate", study.evaluate)
            chosen = _evenly(task_files.read(made / TASKS).tasks, tasks, lambda task: task.scenario.value)
            config = RolloutConfig(
                domain=study.evaluate.domain,
                tasks=TaskConfig(path=str(made / TASKS), ids=tuple(task.id for task in chosen)),
                model=model,
                trials=ask.trials,
                max_steps=ask.max_steps,
                seed=study.seed,
            )
            await roll_out(config, folder / "run", self._services)
            _require_measured(folder / "run")

        slug = name.replace(" ", "-")
        return Measured(
            name=name,
            spec=spec,
            recorded=await self._stage(f"{slug}-recorded", identity, recorded) / "run",
            live=await self._stage(f"{slug}-live", identity, live) / "run",
        )

    async def _stage(self, name: str, inputs: Sequence[Any], work: Callable[[Path], Awaitable[None]]) -> Path:
        """The folder of a stage, complete."""
        folder = self._directory / f"{name}-{jsonio.digest(list(inputs))[:8]}"
        if not (folder / DONE).is_file():
            self._progress.note(f"stage {name}: {folder}")
            folder.mkdir(parents=True, exist_ok=True)
            await work(folder)
            jsonio.write_atomic(folder / DONE, jsonio.dumps({"stage": name}) + "\n")
        return folder


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
    path = taught / "conversations.jsonl"
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


def _place(spec: str) -> str:
    """A spec without the folder in which everything lies, so that a study can be moved."""
    return "/".join(Path(spec).parts[-3:]) if "/" in spec else spec
