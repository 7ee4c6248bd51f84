"""Tasks held against their domain before a run: what stops it, what is said, and what tau2's own files may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from boatdomain import domain

from turngap import domains
from turngap.data import Action, Component, Criteria, Task
from turngap.domains.retail.domain import retail
from turngap.engines import Quiet
from turngap.errors import DataError, MissingExtra
from turngap.formats import tasks as task_files
from turngap.grading.soundness import Finding, Flaw
from turngap.protocols.vetting import Vetted, remarks, unjudged, vet


def _file(tmp_path: Path, *tasks: Task, plain: bool = False) -> task_files.TaskFile:
    """Tasks written and read; `plain` in tau2's own form."""
    raw: list[dict[str, Any]] = [task_files.plain(task) for task in tasks]
    for one in raw if plain else ():
        del one["turngap"]
    path = tmp_path / "tasks.json"
    task_files.write(path, [task_files.parse(one) for one in raw])
    return task_files.read(path)


def _task(name: str, tool: str = "move_booking", booking: str = "BK-7", **changed: Any) -> Task:
    arguments = {"booking_id": booking} if tool == "cancel" else {"booking_id": booking, "date": "2031-05-09"}
    return Task(id=name, criteria=Criteria(actions=(Action(name=tool, arguments=arguments),)), **changed)


async def test_a_tool_that_nobody_knows_stops_the_run(tmp_path: Path) -> None:
    """File, place in the file, task and near names are told, and how much more is wrong; sound tasks pass."""
    file = _file(tmp_path, _task("a", "cancel"), _task("b", "cancle"), _task("c", "mov"), _task("d", "mov"))
    with pytest.raises(DataError) as caught:
        await vet(file, file.tasks[1:], domain(), Quiet())
    assert (caught.value.file, caught.value.field) == (file.file, "[1].evaluation_criteria.actions[0].name")
    assert str(caught.value).endswith(
        "task 'b': the agent has no tool 'cancle'; did you mean cancel? (and 2 more in 3 tasks)"
    )
    assert (await vet(file, file.tasks[:1], domain(), Quiet())).findings == ()


async def test_a_task_of_another_domain_stops_the_run(tmp_path: Path) -> None:
    """A file for one domain is refused in another; the same family by another way is not, nor a file that says none."""
    for name in ("boats", "Boats", ""):
        file = _file(tmp_path, _task("a", "cancel", domain=name))
        await vet(file, file.tasks, domain(), Quiet())
    for plain, field in ((False, "[0].turngap.domain"), (True, "[0].user_scenario.instructions.domain")):
        file = _file(tmp_path, _task("a", "cancel", domain="retail"), plain=plain)
        with pytest.raises(DataError, match="for the domain 'retail', and 'boats' was asked for") as caught:
            await vet(file, file.tasks, domain(), Quiet())
        assert caught.value.field == field
    for name, ours in (("tau2:telecom", "telecom-workflow"), ("telecom", "telecom"), ("retail", "tau2:retail?x=1")):
        file = _file(tmp_path, _task("a", "cancel", domain=name))
        await vet(file, file.tasks, domain(name=ours), Quiet())


async def test_files_of_tau2_are_not_the_readers_to_mend(tmp_path: Path) -> None:
    """In tau2's form, for a domain of tau2's name, a broken action is a note; with our key it is not."""
    task = _task("21", "get_things", domain="retail")
    theirs = _file(tmp_path, task, plain=True)
    found = await vet(theirs, theirs.tasks, retail({}), Quiet())
    assert {one.flaw for one in found.findings} == {Flaw.BROKEN}
    (said,) = remarks(found.findings)
    assert said.startswith("in 1 task the task names what the domain does not know, which tau2 leaves aside")
    ours = _file(tmp_path, task)
    with pytest.raises(DataError, match="no tool 'get_things'"):
        await vet(ours, ours.tasks, retail({}), Quiet())


async def test_what_was_found_holds_until_something_changes(tmp_path: Path) -> None:
    """The same tasks in the same domain are not looked at again; another database is."""
    file = _file(tmp_path, _task("a"), _task("b", "cancel"))
    progress = Quiet()
    found = await vet(file, file.tasks, domain(), progress)
    assert [one.flaw for one in found.findings] == [Flaw.REFUSED] and len(progress.stages) == 1
    assert await vet(file, file.tasks, domain(), progress, found) is found and len(progress.stages) == 1
    stale = msgspec.structs.replace(found, findings=())
    assert (await vet(file, file.tasks, domain(), progress, stale)).findings == ()
    other = await vet(file, file.tasks, domain(database={}), progress, stale)
    assert len(other.findings) == 2
    assert msgspec.convert(msgspec.to_builtins(found), Vetted) == found


def test_remarks_count_and_name_the_tasks() -> None:
    """One sentence a kind: how many tasks, the first five, each with what is wrong."""
    found = [
        Finding(task=f"t{number}", flaw=Flaw.REFUSED, field="x", problem=f"p{number}")
        for number in (1, 1, 2, 3, 4, 5, 6)
    ]
    found.append(Finding(task="t9", flaw=Flaw.UNMET, field="x", problem="q"))
    refused, unmet = remarks(found)
    assert refused == (
        "in 6 tasks the domain refuses a change that the reference makes, so that the task is passed without it: "
        "t1 (p1 and 1 more); t2 (p2); t3 (p3); t4 (p4); t5 (p5); and 1 more (findings in metrics.json)"
    )
    assert unmet == "in 1 task the reference does not meet what the task asks for beside it: t9 (q)"


def test_sentences_without_a_judge_are_told_beforehand() -> None:
    """Only tasks that have sentences and count them; nothing where there are none."""
    having = Criteria(nl_assertions=("It is friendly.",), reward_basis=(Component.DB, Component.NL_ASSERTION))
    looking = Criteria(nl_assertions=("It is friendly.",), reward_basis=(Component.DB,))
    empty = Criteria(reward_basis=(Component.NL_ASSERTION,))
    tasks = [Task(id=str(number), criteria=one) for number, one in enumerate((having, looking, empty, Criteria()))]
    (said,) = unjudged(tasks)
    assert said.startswith("1 of 4 tasks count sentences in their reward (NL_ASSERTION)") and "--judge" in said
    assert list(unjudged(tasks[1:])) == []


_FINDINGS = {
    "airline-tasks.json": ("tau2:airline", {}),
    "retail-tasks.json": ("tau2:retail", {Flaw.BROKEN: {"21"}, Flaw.REFUSED: {"64", "105"}}),
}


@pytest.mark.parametrize("name", _FINDINGS)
async def test_the_newer_task_files_of_tau2_run(shared: Path, name: str) -> None:
    """They are not refused; what the package's domain does not know, or refuses to change, is named."""
    spec, wanted = _FINDINGS[name]
    await _require(task_files.read(shared / "tau2-head" / name), spec, wanted)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("tau2:airline", {}),
        ("tau2:retail", {Flaw.REFUSED: {"12", "13", "64", "105"}}),
        ("tau2:mock", {Flaw.UNMET: {"update_task_with_history_and_env_assertions"}}),
    ],
)
async def test_the_task_files_of_the_package_run(spec: str, wanted: dict[Flaw, set[str]]) -> None:
    """The same for the files that the package holds."""
    path = getattr(_tau2(spec), "task_file", None)
    assert isinstance(path, Path)
    await _require(task_files.read(path), spec, wanted)


def _tau2(spec: str) -> domains.LiveDomain:
    try:
        return domains.build(spec)
    except MissingExtra as error:
        pytest.skip(str(error))


async def _require(file: task_files.TaskFile, spec: str, wanted: dict[Flaw, set[str]]) -> None:
    found = (await vet(file, file.tasks, _tau2(spec), Quiet())).findings
    by_flaw: dict[Flaw, set[str]] = {}
    for one in found:
        if one.flaw is not Flaw.IN_VAIN:
            by_flaw.setdefault(one.flaw, set()).add(one.task)
    assert by_flaw == wanted
