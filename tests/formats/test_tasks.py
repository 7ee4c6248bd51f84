"""Task files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap.data import (
    Action,
    AssistantMessage,
    Change,
    Component,
    Criteria,
    Fact,
    Instructions,
    Intent,
    Remark,
    Scenario,
    Task,
    ToolMessage,
    UserMessage,
)
from turngap.errors import DataError
from turngap.formats import tasks

TASK: dict[str, Any] = {
    "id": "7",
    "description": {"purpose": "Moving a booking.", "notes": None},
    "user_scenario": {
        "persona": "Terse.",
        "instructions": {
            "domain": "boats",
            "reason_for_call": "You want to move BK-1042.",
            "known_info": "You are Ada Byron.",
            "unknown_info": None,
            "task_instructions": "Be brief.",
        },
    },
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [
            {"action_id": "7_0", "name": "move_booking", "arguments": {"booking_id": "BK-1042"}, "info": None},
            {"name": "restart", "arguments": {}, "requestor": "user", "compare_args": []},
        ],
        "communicate_info": ["2 May"],
        "nl_assertions": None,
        "env_assertions": [{"env_type": "user", "func_name": "is_on", "arguments": {}, "assert_value": False}],
    },
}

FULL = Task(
    id="full",
    domain="boats",
    scenario=Scenario.INFEASIBLE,
    persona="Terse.",
    instructions=Instructions(reason="You want a boat.", known="You are Ada.", unknown="Your id.", further="Insist."),
    purpose="All fields.",
    initial_state={"initialization_data": {"agent_data": {"boats": {}}, "user_data": None}},
    criteria=Criteria(
        actions=(Action(name="look", arguments={"n": 1}, id="a", compare_args=("n",), info="why"),),
        communicate=("12",),
        nl_assertions=("The agent was kind.",),
        reward_basis=(Component.DB, Component.CONSTRAINT),
        required=(Action(name="look"),),
        forbidden=(Action(name="sell", compare_args=()),),
        reason="Boats are not for sale.",
    ),
    intent=Intent(
        opening="I want to buy a boat.",
        facts=(Fact(slot="boat", value="B-1"), Fact(slot="seats", value=2, says="For two.", source="reference")),
        remarks=(Remark(says="A red one.", about="colour"),),
        unknown=("email",),
        changes=(
            Change(says="Two boats.", when="turn", turn=2, facts=(Fact(slot="boat", value="B-2"),), kind="addition"),
        ),
        insist=("Please!",),
        accepts=False,
        closing="Bye.",
    ),
    made={"seed": 1},
)


def write(path: Path, value: object) -> Path:
    """A file with `value` as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_tau2_task_is_read(tmp_path: Path) -> None:
    """Every part of tau2's form finds its place; absent parts get tau2's meaning."""
    (task,) = tasks.read(write(tmp_path / "tasks.json", [TASK])).tasks
    assert (task.id, task.domain, task.persona, task.purpose) == ("7", "boats", "Terse.", "Moving a booking.")
    assert task.instructions == Instructions(
        reason="You want to move BK-1042.", known="You are Ada Byron.", further="Be brief."
    )
    assert task.scenario is Scenario.GENERAL
    assert task.intent is None
    criteria = task.criteria
    assert criteria.reward_basis == (Component.DB, Component.COMMUNICATE)
    assert criteria.actions[0] == Action(id="7_0", name="move_booking", arguments={"booking_id": "BK-1042"})
    assert criteria.actions[1].requestor == "user"
    assert criteria.actions[1].compare_args == ()
    assert criteria.communicate == ("2 May",)
    assert not criteria.env_assertions[0].expected
    assert task.raw == TASK


def test_plain_instructions_and_numbers_as_ids_are_read() -> None:
    """The instructions may be one text; an id may be a number."""
    task = tasks.parse({"id": 3, "user_scenario": {"instructions": "Create a task."}})
    assert (task.id, task.instructions.text()) == ("3", "Create a task.")
    assert task.criteria == Criteria()


def test_what_tau2_cannot_say_survives_writing_and_reading(tmp_path: Path) -> None:
    """A task made from fields comes back with every field."""
    tasks.write(tmp_path / "tasks.json", [FULL])
    (task,) = tasks.read(tmp_path / "tasks.json").tasks
    assert msgspec.structs.replace(task, raw={}) == FULL


def test_tau2_never_meets_a_component_that_it_does_not_know() -> None:
    """`CONSTRAINT` stands under our own key only."""
    plain = tasks.plain(FULL)
    assert plain["evaluation_criteria"]["reward_basis"] == ["DB"]
    assert plain["turngap"]["reward_basis"] == ["DB", "CONSTRAINT"]


def test_a_foreign_task_is_written_back_unchanged(tmp_path: Path) -> None:
    """Fields that nobody here knows are kept."""
    foreign = {**TASK, "annotations": {"by": "someone"}}
    source = tasks.read(write(tmp_path / "a.json", [foreign]))
    tasks.write(tmp_path / "b.json", source.tasks)
    assert json.loads((tmp_path / "b.json").read_text(encoding="utf-8")) == [foreign]


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    """Layout and key order make no difference; any value does, and so does the order of tasks."""
    other = {**TASK, "id": "8"}
    plain = tasks.read(write(tmp_path / "a.json", [TASK, other]))
    (tmp_path / "b.json").write_text(json.dumps({"tasks": [TASK, other]}, indent=3, sort_keys=True), encoding="utf-8")
    lines = "\n".join(map(json.dumps, (TASK, other)))
    (tmp_path / "c.jsonl").write_text(lines, encoding="utf-8")
    digests = {tasks.read(tmp_path / name).digest for name in ("a.json", "b.json", "c.jsonl")}
    assert digests == {plain.digest}
    assert plain.name == plain.digest[:12]
    assert tasks.read(write(tmp_path / "d.json", [other, TASK])).digest != plain.digest
    assert tasks.read(write(tmp_path / "e.json", [{**TASK, "annotations": 1}, other])).digest != plain.digest


def test_splits_beside_the_file_are_read(tmp_path: Path) -> None:
    """``split_tasks.json`` names parts of ``tasks.json``, ``x-split_tasks.json`` those of ``x-tasks.json``."""
    write(tmp_path / "split_tasks.json", {"test": ["7"]})
    write(tmp_path / "x-split_tasks.json", {"train": ["7"]})
    assert tasks.read(write(tmp_path / "tasks.json", [TASK])).splits == {"test": ("7",)}
    assert tasks.read(write(tmp_path / "x-tasks.json", [TASK])).splits == {"train": ("7",)}
    assert tasks.read(write(tmp_path / "other.json", [TASK])).splits == {}


def test_the_given_history_is_read_as_messages() -> None:
    """The agent's calls get their results; what the user called is left out."""
    history = [
        {"role": "user", "content": "No signal."},
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "look", "arguments": {"x": 1}}]},
        {"role": "tool", "id": "c", "content": "found", "requestor": "assistant"},
        {"role": "assistant", "content": "Look at the bar."},
        {"role": "user", "tool_calls": [{"id": "d", "name": "bar", "arguments": {}, "requestor": "user"}]},
        {"role": "tool", "id": "d", "content": "none", "requestor": "user"},
        {"role": "user", "content": "No bars."},
    ]
    task = tasks.parse({**TASK, "initial_state": {"message_history": history}})
    roles = [type(message) for message in task.given]
    assert roles == [UserMessage, AssistantMessage, ToolMessage, AssistantMessage, UserMessage]
    assert task.given[2] == ToolMessage(content="found", name="look")


@pytest.mark.parametrize("ours", [None, [], ["CONSTRAINT"]])
@pytest.mark.parametrize("theirs", [None, [], ["ACTION"]])
def test_an_empty_basis_is_a_basis(ours: list[str] | None, theirs: list[str] | None) -> None:
    """What stands in the file counts, ours before tau2's, an empty list too; it is written as it was read."""
    value = {"id": "1", "evaluation_criteria": {"reward_basis": theirs}, "turngap": {"reward_basis": ours}}
    basis = tasks.parse(value).criteria.reward_basis
    wanted = next((one for one in (ours, theirs) if one is not None), ["DB", "COMMUNICATE"])
    assert [str(component) for component in basis] == wanted
    assert tasks.parse(tasks.plain(tasks.parse(value))).criteria.reward_basis == basis


def _intent(**changed: Any) -> dict[str, Any]:
    return {**TASK, "turngap": {"intent": {"opening": "Hello.", **changed}}}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "a task file should be a JSON list"),
        ([], "no tasks in it"),
        ([TASK, TASK], "[1].id: two tasks have the id '7'"),
        ([{**TASK, "id": None}], "[0].id: "),
        ([{**TASK, "evaluation_criteria": {"reward_basis": ["LUCK"]}}], "[0].evaluation_criteria.reward_basis[0]: "),
        ([{**TASK, "evaluation_criteria": {"actions": [{"arguments": {}}]}}], "[0].evaluation_criteria.actions[0]: "),
        ([{**TASK, "turngap": {"scenari": "general"}}], "[0].turngap: "),
        ([{**TASK, "turngap": {"scenario": "odd"}}], "[0].turngap.scenario: "),
        ([_intent(opening="")], "[0].turngap.intent.opening: expected `str` of length >= 1"),
        ([_intent(facts=[{"slot": "", "value": 1}])], "[0].turngap.intent.facts[0].slot: "),
        ([_intent(unknown=[""])], "[0].turngap.intent.unknown[0]: "),
        ([_intent(insist=["No.", ""])], "[0].turngap.intent.insist[1]: "),
        ([_intent(changes=[{"says": ""}])], "[0].turngap.intent.changes[0].says: "),
        (
            [_intent(changes=[{"says": "Wait.", "when": "turn", "turn": -5}])],
            "[0].turngap.intent.changes[0].turn: expected `int` >= 1",
        ),
    ],
)
def test_bad_files_say_where(tmp_path: Path, value: object, problem: str) -> None:
    """The message names the file, the field, and what is wrong, in one line."""
    path = write(tmp_path / "tasks.json", value)
    with pytest.raises(DataError) as caught:
        tasks.read(path)
    assert str(caught.value).startswith(str(path))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Task files are strict JSON."""
    path = tmp_path / "tasks.json"
    path.write_text('[{"id": "1", "id": "2"}]', encoding="utf-8")
    with pytest.raises(DataError, match="stands twice"):
        tasks.read(path)
    with pytest.raises(DataError, match="cannot be read"):
        tasks.read(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("file", "count", "name"),
    [("retail-tasks.json", 114, "fed781c0a0c1"), ("airline-tasks.json", 50, "773c5e341375")],
)
def test_real_task_files(shared: Path, file: str, count: int, name: str) -> None:
    """tau2's newest files are read wholly, and every task survives being made anew from its fields."""
    found = tasks.read(shared / "tau2-head" / file)
    assert (len(found.tasks), found.name) == (count, name)
    assert len(found.splits["test"]) in (20, 40)
    for task in found.tasks:
        anew = tasks.parse(tasks.plain(task))
        assert msgspec.structs.replace(anew, raw={}) == msgspec.structs.replace(task, raw={})
