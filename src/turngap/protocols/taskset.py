"""Which tasks of a task file a rollout is over."""

from __future__ import annotations

from pathlib import Path

from turngap.config import TaskConfig
from turngap.data import Task
from turngap.data.task import Scenario, TaskFile
from turngap.domains.tau2.package import NAMES, package
from turngap.errors import DataError, UsageError
from turngap.formats import tasks as task_files


def chosen(config: TaskConfig) -> tuple[TaskFile, tuple[Task, ...]]:
    """Read the task file and keep what the configuration wants, in the order of the file.

    Raises:
        DataError: the file cannot be read, or nothing is left of it. UsageError: it has no such split, task or
            scenario; the message lists what there is.
    """
    found = task_files.read(_file(config.path))
    tasks = found.tasks
    if config.split is not None:
        if config.split not in found.splits:
            known = ", ".join(sorted(found.splits)) or "none"
            raise UsageError(f"{config.path} has no split {config.split!r}; known: {known}")
        wanted = set(found.splits[config.split])
        tasks = tuple(task for task in tasks if task.id in wanted)
    if config.ids:
        unknown = [name for name in config.ids if name not in {task.id for task in tasks}]
        if unknown:
            raise UsageError(f"{config.path} has no task {unknown[0]!r}; it begins with {_first(tasks)}")
        tasks = tuple(task for task in tasks if task.id in config.ids)
    if config.scenarios:
        for name in config.scenarios:
            if name not in set(Scenario):
                raise UsageError(f"unknown scenario {name!r}; known: {', '.join(Scenario)}")
        tasks = tuple(task for task in tasks if task.scenario in config.scenarios)
    tasks = tasks[: config.limit]
    if not tasks:
        raise DataError("no task is left of it", file=config.path)
    return found, tasks


def _file(path: str) -> Path:
    """The file that is named; ``tau2:airline`` is the one that the installed tau2 holds for this domain."""
    kind, _, name = path.partition(":")
    return package().task_file(name) if kind == "tau2" and name in NAMES else Path(path)


def _first(tasks: tuple[Task, ...]) -> str:
    return ", ".join(task.id for task in tasks[:5])
