"""Why trials failed: the symptoms that grading found, counted by kind, each case with its evidence.

Reads stored rewards, asks nobody. A trial may show several symptoms, or none; counts are of trials, and a symptom that
occurs twice in a trial counts once. Symptoms of successful trials are counted apart: a loop that ended, a needless hand
over. Trials that were errored have no reward and no symptom; they are listed with the reason.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap.analysis.finish import unfinished
from turngap.analysis.trial import REWARD
from turngap.data import Cause, Failure
from turngap.data.reward import Symptom, SymptomKind
from turngap.metrics.passk import succeeded
from turngap.runs.store import RunStore

FORMAT = "turngap-symptoms-1"


class SymptomRow(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of symptom."""

    name: SymptomKind
    failed: int
    """Failed trials that show it."""
    succeeded: int
    """Successful trials that show it."""
    tasks: int
    """Tasks with a failed trial that shows it."""


class SymptomCase(msgspec.Struct, frozen=True, kw_only=True):
    """One graded trial that failed, or in which something went wrong."""

    task: str
    trial: int
    reward: float
    detail: str
    """What is missing for a full reward."""
    symptoms: tuple[Symptom, ...]


class LostTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial of which nothing is known: it could not be measured, or not be graded."""

    task: str
    trial: int
    cause: Cause
    kind: str
    reason: str


class Symptoms(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong in the trials of a run."""

    trials: int
    """Graded ones, those that the user spoiled included."""
    failed: int
    """Those of them with less than a full reward."""
    spoiled: int
    """Those of the failed ones that the user spoiled: they count neither for nor against the agent."""
    without: int
    """Failed ones that show no symptom."""
    rows: tuple[SymptomRow, ...]
    """Kinds that occur, the most frequent in failed trials first."""
    cases: tuple[SymptomCase, ...]
    """In the order of tasks and trials."""
    lost: tuple[LostTrial, ...]
    """Errored trials, in the same order."""
    notes: tuple[str, ...] = ()
    """What a reader has to know beside it: that the run is not finished."""

    def show(self, name: str) -> tuple[SymptomCase, ...]:
        """The cases of a kind, or of a task."""
        return tuple(
            case for case in self.cases if case.task == name or any(symptom.kind == name for symptom in case.symptoms)
        )

    def show_lost(self, name: str) -> tuple[LostTrial, ...]:
        """The errored trials of a task, a cause or a kind of error; all of them for ``errored``."""
        return tuple(one for one in self.lost if name in (one.task, one.cause, one.kind, "errored"))

    def example(self, kind: SymptomKind) -> SymptomCase | None:
        """The first failed trial that shows a kind."""
        showing = (case for case in self.cases if any(symptom.kind is kind for symptom in case.symptoms))
        return next((case for case in showing if not succeeded(case.reward)), None)


def symptoms(store: RunStore) -> Symptoms:
    """Count the symptoms of a run of trials.

    Raises:
        StoreError: the run is not one of trials.
    """
    graded = 0
    cases = []
    wanted = store.rollout.trials  # what is past it is in no figure
    lost = {key: failure for key, failure in store.trials.failures().items() if key[1] < wanted}
    tasks = store.trials.task_ids()
    for task in tasks:
        for trial, (_, reward) in store.trials.rewards(task).items():
            if trial >= wanted or (task, trial) in lost:
                continue
            if isinstance(reward, Failure):
                lost[task, trial] = reward
                continue
            graded += 1
            if reward.symptoms or not succeeded(reward.value):
                cases.append(
                    SymptomCase(
                        task=task,
                        trial=trial,
                        reward=reward.value,
                        detail=reward.detail,
                        symptoms=reward.symptoms,
                    )
                )
    failed = [case for case in cases if not succeeded(case.reward)]
    by_user = {(one.conversation, one.decision) for _, one in store.scores(REWARD) if one.cause is Cause.USER}
    order = {task: at for at, task in enumerate(tasks)}
    rows = filter(None, (_row(kind, cases) for kind in SymptomKind))
    return Symptoms(
        trials=graded,
        failed=len(failed),
        spoiled=sum((case.task, case.trial) in by_user for case in failed),
        without=sum(not case.symptoms for case in failed),
        rows=tuple(sorted(rows, key=lambda row: (-row.failed, -row.succeeded))),
        cases=tuple(cases),
        lost=tuple(
            LostTrial(task=task, trial=trial, cause=failure.cause, kind=failure.kind, reason=failure.reason)
            for (task, trial), failure in sorted(lost.items(), key=lambda item: (order[item[0][0]], item[0][1]))
        ),
        notes=unfinished(store),
    )


def _row(kind: SymptomKind, cases: list[SymptomCase]) -> SymptomRow | None:
    showing = [case for case in cases if any(symptom.kind is kind for symptom in case.symptoms)]
    failed = [case for case in showing if not succeeded(case.reward)]
    if not showing:
        return None
    return SymptomRow(
        name=kind,
        failed=len(failed),
        succeeded=len(showing) - len(failed),
        tasks=len({case.task for case in failed}),
    )


def to_document(found: Symptoms) -> dict[str, Any]:
    """The JSON document of ``turngap taxonomy --json`` on a run of trials."""
    return {"format": FORMAT, **msgspec.to_builtins(found)}
