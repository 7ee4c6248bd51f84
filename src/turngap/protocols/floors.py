"""The floors of a task set: what an agent reaches that does nothing, and one that refuses and transfers everybody.

They are properties of the tasks, not of the model: one trial of every task with the scripted user, whoever plays the
user otherwise, graded like any other. Nothing of them is stored but the scores, which are kept as long as tasks, domain
and grader stay the same.
"""

from __future__ import annotations

import msgspec

from turngap import jsonio, live, models, users
from turngap.config import ModelConfig
from turngap.data import Failure, Score
from turngap.domains import LiveDomain
from turngap.engines.base import Progress
from turngap.engines.local import run_units
from turngap.live import Place
from turngap.protocols import rollout
from turngap.protocols.grading import Grader, graded
from turngap.runs.store import RunStore

FLOORS = ("nothing", "transfer")
"""The baselines that give them; the scorer of each is ``floor:NAME``."""


async def lay(store: RunStore, domain: LiveDomain, grader: Grader, progress: Progress) -> None:
    """Put the floors of a run's tasks beside its scores, where they are not there yet."""
    key = jsonio.digest([store.trials.tasks_digest(), domain.identity(), grader.identity()])
    if store.note("floors") == key:
        return
    names = store.trials.task_ids()
    progress.stage("floors", len(FLOORS) * len(names))
    for name in FLOORS:
        scores = await _floor(store, domain, grader, name, progress)
        store.replace_scores(f"floor:{name}", scores)
    store.set_note("floors", key)


async def _floor(store: RunStore, domain: LiveDomain, grader: Grader, name: str, progress: Progress) -> list[Score]:
    model = models.build(ModelConfig(spec=f"baseline/{name}"))
    simulator = users.build(ModelConfig(spec="scripted"))
    place = Place.of(domain, simulator, store.rollout)
    found: list[Score] = []

    async def work(task_id: str) -> None:
        task = store.trials.task(task_id)
        played = await live.run(model, place, task, 0)
        if isinstance(played, Failure):
            found.append(rollout.score(task, 0, played, played, ()))
        else:
            reward = await graded(grader, task, domain, played.trajectory, played.world)
            # How long it took is of no interest, and would make equal runs differ.
            trajectory = msgspec.structs.replace(played.trajectory, seconds=0.0)
            found.append(rollout.score(task, 0, trajectory, reward, ()))
        progress.advance()

    await run_units(store.trials.task_ids(), work, concurrency=store.rollout.model.concurrency)
    return sorted(found, key=lambda score: score.conversation)
