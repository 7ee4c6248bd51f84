"""Tasks are looked at before the first request is paid for: what makes a run pointless stops it, the rest is said.

A tool, an argument, an assertion or an initial state that the domain does not know stops the run: whoever wrote the
task has to mend it, since its reward would mean something else than the task says. So does a task of another domain.

Tasks in tau2-bench's own form for a domain that bears the name of one of tau2's are not the reader's to mend: their
files and the installed package differ in age. There such a finding is a note, as all milder findings are everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from turngap import jsonio
from turngap.data import Task
from turngap.data.task import Component, TaskFile
from turngap.domains import LiveDomain
from turngap.domains.tau2.package import NAMES
from turngap.engines.base import Progress
from turngap.errors import DataError
from turngap.grading.soundness import VERSION, Examiner, Finding, Flaw

NOTE = "vetted"
"""Under which a run notes what was found with its tasks."""

_NAMED = 5  # tasks that a remark names
_SAYING = {
    Flaw.BROKEN: "the task names what the domain does not know, which tau2 leaves aside, and so does the reward",
    Flaw.FAILING: "the domain's own code fails on the task; trials that come to it will be errored",
    Flaw.REFUSED: "the domain refuses a change that the reference makes, so that the task is passed without it",
    Flaw.IN_VAIN: "the domain refuses a call of the reference that changes nothing",
    Flaw.UNMET: "the reference does not meet what the task asks for beside it",
    Flaw.CONTRADICTED: "the reference takes another value than the user says",
    Flaw.UNASKED: "the user has a fact that no argument of a tool bears, so that agents will hardly ask for it",
    Flaw.VACUOUS: "a part of what the trial is held against asks for nothing",
}
"""What a remark says of a task with such a finding."""


class Vetted(msgspec.Struct, frozen=True, kw_only=True):
    """What was found with the tasks of a run."""

    key: str
    """Digest of all that was looked at."""
    findings: tuple[Finding, ...] = ()


async def vet(
    file: TaskFile, tasks: Sequence[Task], domain: LiveDomain, progress: Progress, before: Vetted | None = None
) -> Vetted:
    """Hold tasks against the domain.

    Args:
        file: the task file that they are from.
        tasks: those of it that are wanted.
        domain: where they are to take place.
        progress: is told that it is at it.
        before: what was found the last time; it still holds where nothing has changed since.

    Raises:
        DataError: a task is of another domain, or asks for what the domain does not know; says which and where.
    """
    places = {task.id: f"[{index}]" for index, task in enumerate(file.tasks)}
    for task in tasks:
        _require_domain(task, domain, file.file, places[task.id])
    key = jsonio.digest([VERSION, [task.raw or task for task in tasks], domain.identity()])
    if before is not None and before.key == key:
        return before
    examiner = Examiner(domain)
    findings: list[Finding] = []
    progress.stage("looking at the tasks", 0)
    for task in tasks:
        findings += examiner.examine(task)
        await asyncio.sleep(0)  # an interrupt comes between two tasks
    mine = {task.id for task in tasks if not _of_tau2(task, domain)}
    broken = [one for one in findings if one.flaw is Flaw.BROKEN and one.task in mine]
    if broken:
        first, more = broken[0], len(broken) - 1
        rest = f" (and {more} more in {_tasks(len({one.task for one in broken}))})" if more else ""
        raise DataError(
            f"task {first.task!r}: {first.problem}{rest}", file=file.file, field=f"{places[first.task]}.{first.field}"
        )
    return Vetted(key=key, findings=tuple(findings))


def remarks(findings: Sequence[Finding]) -> Iterator[str]:
    """One sentence for each kind of finding: how many tasks it is about, and the first of them."""
    for flaw in Flaw:
        found: dict[str, list[str]] = {}
        for one in findings:
            if one.flaw is flaw:
                found.setdefault(one.task, []).append(one.problem)
        if found:
            named = [f"{task} ({_first(problems)})" for task, problems in list(found.items())[:_NAMED]]
            more = f"; and {len(found) - _NAMED} more (findings in metrics.json)" if len(found) > _NAMED else ""
            yield f"in {_tasks(len(found))} {_SAYING[flaw]}: {'; '.join(named)}{more}"


def unjudged(tasks: Sequence[Task]) -> Iterator[str]:
    """What to say of tasks whose reward counts sentences where no judge is at hand."""
    counting = sum(
        Component.NL_ASSERTION in task.criteria.reward_basis for task in tasks if task.criteria.nl_assertions
    )
    if counting:
        yield (
            f"{counting} of {_tasks(len(tasks))} count sentences in their reward (NL_ASSERTION), and without a judge "
            "their trials have no reward: give --judge openai/NAME, or judge the stored trials later with turngap score"
        )


def _require_domain(task: Task, domain: LiveDomain, file: str, place: str) -> None:
    wanted = _family(task.domain)
    if wanted and wanted != _family(domain.name):
        ours = (task.raw.get("turngap") or {}).get("domain")
        field = "turngap.domain" if ours else "user_scenario.instructions.domain"
        problem = f"task {task.id!r} is for the domain {task.domain!r}, and {domain.name!r} was asked for"
        raise DataError(problem, file=file, field=f"{place}.{field}")


def _of_tau2(task: Task, domain: LiveDomain) -> bool:
    return bool(task.raw) and "turngap" not in task.raw and domain.name in NAMES


def _family(name: str) -> str:
    """A domain's name without where it comes from and how it is set up: `tau2:telecom-workflow` is telecom."""
    plain = name.strip().casefold().partition("?")[0].removeprefix("tau2:")
    return next((known for known in NAMES if plain.startswith(f"{known}-")), plain)


def _first(problems: Sequence[str]) -> str:
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"{problems[0]}{more}"


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"
