"""Recovery data: what the reference agent makes of the places to which a model's own decisions lead.

Recorded conversations show nobody who has gone wrong, so who learns from them alone never learns to come back. In a run
of ``corrected/MODEL`` (`turngap.models.corrected`) the model acts until a decision of its own differs from the advice
of the reference agent; that decision stands, and the reference goes on from what came of it. Each such trial gives

* the **correction**: the conversation up to that decision, and the advice in its place;
* the **recovery**: the whole trial, learnt from behind that decision on; only where the trial was a success, since
  what cannot be mended shows nobody how to mend.

Both are conversations whose `start` says what is learnt of them: words of the reference alone. Doing so in rounds, with
a model that has learnt from the round before, is dataset aggregation (DAgger, Ross et al. 2011) with the expert taking
over at the first mistake.

The figures of such a run are in part the reference's. `caveat` says so, with counts that are taken where trials are
scored (`take_note`), for they need the tools of the domain; every view of the run shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from turngap.data import ABSENT_RESULT, AssistantMessage, Conversation, Score, ToolMessage, Trajectory, decisions
from turngap.data.task import Task
from turngap.domains import LiveDomain
from turngap.errors import UsageError
from turngap.formats.writer import write_openai
from turngap.grading.conversation import conversation
from turngap.models.corrected import PREFIX, first_difference
from turngap.models.live_baseline import advice
from turngap.protocols.rollout import SCORERS
from turngap.runs.store import RunStore
from turngap.runs.trials import MAIN

NOTE = "recovered"
"""The note of a run that holds its `Recovered`."""
_ALONE = "this says nothing about the model alone"


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the trials of a run of ``corrected/MODEL``."""

    trials: int = 0
    """That were measured and that the user did not spoil."""
    differed: int = 0
    """In which a decision of the model differed from the advice; each gives a correction."""
    recovered: int = 0
    """Of these the trials that became a success all the same; each gives a recovery."""


def require_corrected(spec: str) -> None:
    """Refuse a model of which nothing is corrected.

    Raises:
        UsageError: it is no ``corrected/MODEL``.
    """
    if not spec.startswith(PREFIX):
        raise UsageError(f"recoveries are kept of runs of {PREFIX}MODEL, and this one is of {spec}")


def take_note(store: RunStore, domain: LiveDomain) -> None:
    """Count what became of the trials of a run and store it for `caveat`; nothing is done for a model that acts alone.

    Args:
        store: a run that was scored.
        domain: where its trials took place.
    """
    if store.rollout.model.spec.startswith(PREFIX):
        counts = _counted(len(made) for made in _learnt_by_trial(store, domain))
        store.set_note(NOTE, msgspec.to_builtins(counts))


def caveat(store: RunStore) -> str:
    """What has to be said before the figures of a run of ``corrected/MODEL``; empty for any other run."""
    if not store.settings.model.spec.startswith(PREFIX):
        return ""
    note: dict[str, Any] | None = store.note(NOTE)
    if note is None:
        return f"the reference agent takes over where the model errs; {_ALONE}"
    counts = msgspec.convert(note, Recovered)
    return (
        f"the reference agent took over: in {counts.differed} of {counts.trials} trials a decision of the model was "
        f"corrected, with success in {counts.recovered} of them; {_ALONE}"
    )


def keep_recoveries(store: RunStore, domain: LiveDomain, path: Path) -> Recovered:
    """Write corrections and recoveries of a finished run, in the order of tasks and trials.

    Args:
        store: a run of ``corrected/MODEL``; its trials are scored.
        domain: where they took place.
        path: the file, which appears when it is complete.

    Raises:
        UsageError: the run is of another model, or the file cannot be written.
    """
    require_corrected(store.rollout.model.spec)
    sizes: list[int] = []

    def found() -> Iterator[Conversation]:
        for made in _learnt_by_trial(store, domain):
            sizes.append(len(made))
            yield from made

    write_openai(found(), path)
    return _counted(sizes)


def _counted(sizes: Iterable[int]) -> Recovered:
    """What became of trials, by how many conversations each gives to learn."""
    found = Counter(sizes)
    return Recovered(trials=found.total(), differed=found.total() - found[0], recovered=found[2])


def _learnt_by_trial(store: RunStore, domain: LiveDomain) -> Iterator[list[Conversation]]:
    """What is learnt of each trial that counts: nothing, the correction, or that and the recovery."""
    scores = {(score.conversation, score.decision): score for _, score in store.scores(SCORERS[MAIN])}
    for task in store.trials.tasks():
        for stored in store.trials.of(task.id):
            score = scores.get((task.id, stored.trial))
            if score is not None and not score.errored and isinstance(stored.result, Trajectory):
                yield list(_learnt(task, stored.trial, stored.result, score, domain))


def _learnt(task: Task, trial: int, trajectory: Trajectory, score: Score, domain: LiveDomain) -> Iterator[Conversation]:
    tools = tuple(tool.spec for tool in domain.tools)
    whole = conversation(task, trajectory, policy=domain.policy, tools=tools, reward=score.values.get("reward"))
    at = first_difference(task, tools, whole.messages)
    if at is None:
        return
    made = list(decisions(whole))
    given = sum(isinstance(message, AssistantMessage) for message in task.given)
    wrong = made[given + at]
    told = advice(task, tools, whole.messages[: wrong.position])
    yield msgspec.structs.replace(
        whole,
        id=f"{task.id}.{trial}.corrected",
        messages=(*whole.messages[: wrong.position], told, *(_unknown(call.name) for call in told.calls)),
        start=wrong.index,
        reward=None,
    )
    if score.success and wrong.index + 1 < len(made):
        yield msgspec.structs.replace(whole, id=f"{task.id}.{trial}.recovered", start=wrong.index + 1)


def _unknown(name: str) -> ToolMessage:
    """The result of a call that was never made; nothing is learnt of it, nor of anything behind it."""
    return ToolMessage(content=ABSENT_RESULT, name=name, absent=True)
