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
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from turngap.data import ABSENT_RESULT, AssistantMessage, Conversation, Score, ToolMessage, Trajectory, decisions
from turngap.data.task import Task
from turngap.domains import LiveDomain
from turngap.errors import UsageError
from turngap.formats.writer import write_openai
from turngap.grading.conversation import conversation
from turngap.models.corrected import PREFIX, first_difference
from turngap.models.live_baseline import advice
from turngap.protocols.trials import SCORERS
from turngap.runs.store import RunStore
from turngap.runs.trials import MAIN


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the trials of a run of ``corrected/MODEL``."""

    trials: int = 0
    """That were measured and that the user did not spoil."""
    differed: int = 0
    """In which a decision of the model differed from the advice; each gives a correction."""
    recovered: int = 0
    """Of these the trials that became a success all the same; each gives a recovery."""


def keep_recoveries(store: RunStore, domain: LiveDomain, path: Path) -> Recovered:
    """Write corrections and recoveries of a finished run, in the order of tasks and trials.

    Args:
        store: a run of ``corrected/MODEL``; its trials are scored.
        domain: where they took place.
        path: the file, which appears when it is complete.

    Raises:
        UsageError: the run is of another model, or the file cannot be written.
    """
    spec = store.rollout.model.spec
    if not spec.startswith(PREFIX):
        raise UsageError(f"recoveries are kept of runs of {PREFIX}MODEL, and this one is of {spec}")
    scores = {(score.conversation, score.decision): score for _, score in store.scores(SCORERS[MAIN])}
    counts = {"trials": 0, "differed": 0, "recovered": 0}

    def found() -> Iterator[Conversation]:
        for task in store.trials.tasks():
            for stored in store.trials.of(task.id):
                score = scores.get((task.id, stored.trial))
                if score is None or score.errored or not isinstance(stored.result, Trajectory):
                    continue
                made = list(_learnt(task, stored.trial, stored.result, score, domain))
                counts["trials"] += 1
                counts["differed"] += bool(made)
                counts["recovered"] += len(made) > 1
                yield from made

    write_openai(found(), path)
    return Recovered(**counts)


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
