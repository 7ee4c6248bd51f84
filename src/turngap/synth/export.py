"""The files that a synthesis is made for: ``tasks.json`` and ``trajectories.jsonl``.

Tasks are those of tau2-bench's form with turngap's parts beside them; trajectories are recordings of the reference
agent at each task, as `turngap eval` and `turngap examples` read them, under the tasks' ids and in their order. Each
file appears when it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from turngap import domains
from turngap.config import SynthConfig
from turngap.data import Conversation, Task, Trajectory
from turngap.errors import StoreError
from turngap.formats import tasks as task_files
from turngap.formats.writer import write_openai
from turngap.grading.conversation import conversation
from turngap.synth.plan import Candidate
from turngap.synth.store import SynthStore

TASKS, TRAJECTORIES = "tasks.json", "trajectories.jsonl"


def kept(store: SynthStore, config: SynthConfig) -> Iterator[Candidate]:
    """What a synthesis keeps: of each scenario the first ones, as many as are asked for."""
    for scenario in config.scenarios:
        left = config.count
        for candidate in within(store, config, scenario):
            if left == 0:
                break
            if candidate.loss is None:
                left = None if left is None else left - 1
                yield candidate


def within(store: SynthStore, config: SynthConfig, scenario: str) -> Iterator[Candidate]:
    """What came of the explorations that are asked for in one scenario; more may be stored."""
    for position, candidate in store.candidates(scenario):
        if position >= config.explorations:
            break
        yield candidate


def export(store: SynthStore) -> int:
    """Write the files into the synthesis's directory; returns how many tasks they hold.

    Raises:
        StoreError, UsageError: a file cannot be written.
    """
    config = store.config
    domain = domains.build(config.domain)
    tools = tuple(tool.spec for tool in domain.tools)
    tasks = [candidate.task for candidate in kept(store, config) if candidate.task is not None]
    path = store.directory / TASKS
    try:
        task_files.write(path, tasks)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None

    def recordings() -> Iterator[Conversation]:
        for candidate in kept(store, config):
            if isinstance(candidate.task, Task) and isinstance(candidate.played, Trajectory):
                made = conversation(candidate.task, candidate.played, policy=domain.policy, tools=tools, reward=1.0)
                yield msgspec.structs.replace(made, id=candidate.task.id)

    write_openai(recordings(), store.directory / TRAJECTORIES)
    return len(tasks)
