"""Task files: tau2-bench's ``tasks.json`` as it is, and turngap's superset of it.

A file is a JSON list of tasks, an object with a list ``tasks``, or JSON lines. What tau2's form cannot say stands under
one key ``turngap`` of a task, which tau2's reader ignores::

    "turngap": {"scenario": "changing", "domain": "retail", "intent": {...}, "constraint": {"required": [...],
                "forbidden": [...], "reason": "..."}, "reward_basis": ["CONSTRAINT"], "made": {...}}

Fields that this version does not know are kept in `Task.raw`, which `write` writes back. A wrong type, an unknown
component of the reward, and two tasks of one id are errors that say where.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from turngap.data.task import (
    Action,
    Component,
    Criteria,
    EnvAssertion,
    Instructions,
    Intent,
    Scenario,
    Side,
    Task,
    TaskFile,
)
from turngap.errors import DataError

_TAU2_BASIS = (Component.DB, Component.COMMUNICATE)
_ANY = TypeVar("_ANY")


class _Description(msgspec.Struct, frozen=True):
    purpose: str | None = None


class _Instructions(msgspec.Struct, frozen=True):
    reason_for_call: str | None = None
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str | None = None
    domain: str | None = None


class _UserScenario(msgspec.Struct, frozen=True):
    instructions: _Instructions | str = ""
    persona: str | None = None


class _Action(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] = {}
    action_id: str = ""
    requestor: Side = "assistant"
    compare_args: tuple[str, ...] | None = None
    info: str | None = None

    def action(self) -> Action:
        return Action(
            name=self.name,
            arguments=self.arguments,
            id=self.action_id,
            requestor=self.requestor,
            compare_args=self.compare_args,
            info=self.info or "",
        )


class _Assertion(msgspec.Struct, frozen=True):
    func_name: str
    env_type: Side = "assistant"
    arguments: dict[str, Any] = {}
    assert_value: bool = True
    message: str | None = None


class _Criteria(msgspec.Struct, frozen=True):
    actions: tuple[_Action, ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    env_assertions: tuple[_Assertion, ...] | None = None
    reward_basis: tuple[Component, ...] | None = None


class _Call(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] = {}
    requestor: Side = "assistant"


class _Told(msgspec.Struct, frozen=True):
    role: str
    content: str | None = None
    tool_calls: tuple[_Call, ...] | None = None
    requestor: Side = "assistant"
    error: bool = False
    tool_messages: tuple[_Told, ...] | None = None


class _Initial(msgspec.Struct, frozen=True):
    initialization_data: dict[str, Any] | None = None
    initialization_actions: tuple[dict[str, Any], ...] | None = None
    message_history: tuple[_Told, ...] | None = None


class _Constraint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    required: tuple[_Action, ...] = ()
    forbidden: tuple[_Action, ...] = ()
    reason: str = ""


class _Ours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenario: Scenario = Scenario.GENERAL
    domain: str = ""
    intent: Intent | None = None
    constraint: _Constraint = _Constraint()
    reward_basis: tuple[Component, ...] | None = None
    made: dict[str, Any] = {}


class _Task(msgspec.Struct, frozen=True):
    id: str | int
    description: _Description | str | None = None
    user_scenario: _UserScenario = _UserScenario()
    initial_state: _Initial | None = None
    evaluation_criteria: _Criteria | None = None
    turngap: _Ours = _Ours()


def read(path: Path) -> TaskFile:
    """Read a task file.

    Raises:
        DataError: it cannot be read, holds no task, or a task is not of the form; says file, place and field.
    """
    values = _values(path)
    tasks: list[Task] = []
    seen: set[str] = set()
    for index, value in enumerate(values):
        task = parse(value, file=str(path), index=index)
        if task.id in seen:
            raise DataError(f"two tasks have the id {task.id!r}", file=str(path), field=f"[{index}].id")
        seen.add(task.id)
        tasks.append(task)
    if not tasks:
        raise DataError("no tasks in it", file=str(path))
    return TaskFile(tasks=tuple(tasks), digest=digest(tasks), file=str(path), splits=_splits(path))


def digest(tasks: Sequence[Task]) -> str:
    """The content identity of a list of tasks, as scores name it: SHA-256 (hex) of their plain values, in order."""
    return jsonio.digest([task.raw for task in tasks])


def write(path: Path, tasks: Sequence[Task]) -> None:
    """Write tasks as a list, such as `read` and tau2 read; each as its `raw`, or made from its fields without one."""
    jsonio.write_atomic(path, jsonio.dumps([task.raw or plain(task) for task in tasks], indent=1) + "\n")


def parse(value: Any, *, file: str = "", index: int = 0) -> Task:
    """Turn one task as plain values into a `Task`.

    Raises:
        DataError: it is not of the form.
    """
    wire = _convert(value, _Task, file, f"[{index}]")
    initial = wire.initial_state
    said = wire.user_scenario.instructions
    description = wire.description
    return Task(
        id=str(wire.id),
        domain=wire.turngap.domain or ("" if isinstance(said, str) else said.domain or ""),
        scenario=wire.turngap.scenario,
        persona=wire.user_scenario.persona or "",
        instructions=_instructions(said),
        purpose=description if isinstance(description, str) else (description and description.purpose) or "",
        initial_state=value.get("initial_state"),
        given=_history(initial.message_history or ()) if initial is not None else (),
        criteria=_criteria(wire.evaluation_criteria or _Criteria(), wire.turngap),
        intent=wire.turngap.intent,
        made=wire.turngap.made,
        raw=value,
    )


def plain(task: Task) -> dict[str, Any]:
    """A task as the plain values of a task file, made from its fields (not from `raw`)."""
    told, criteria = task.instructions, task.criteria
    parts = {
        "task_instructions": told.further,
        "domain": task.domain,
        "reason_for_call": told.reason,
        "known_info": told.known or None,
        "unknown_info": told.unknown or None,
    }
    known_to_tau2 = tuple(component for component in criteria.reward_basis if component is not Component.CONSTRAINT)
    basis = known_to_tau2 if known_to_tau2 or not criteria.reward_basis else _TAU2_BASIS
    return {
        "id": task.id,
        "description": {"purpose": task.purpose or None, "relevant_policies": None, "notes": None},
        "user_scenario": {"persona": task.persona or None, "instructions": parts},
        "initial_state": task.initial_state,
        "evaluation_criteria": {
            "actions": [_plain_action(action) for action in criteria.actions],
            "communicate_info": list(criteria.communicate),
            "nl_assertions": list(criteria.nl_assertions) or None,
            "env_assertions": [_plain_assertion(check) for check in criteria.env_assertions] or None,
            "reward_basis": [str(component) for component in basis],
        },
        "turngap": _plain_ours(task),
    }


def _plain_ours(task: Task) -> dict[str, Any]:
    criteria = task.criteria
    ours: dict[str, Any] = {"scenario": str(task.scenario), "domain": task.domain}
    if task.intent is not None:
        ours["intent"] = msgspec.to_builtins(task.intent)
    if criteria.required or criteria.forbidden or criteria.reason:
        ours["constraint"] = {
            "required": [_plain_action(action) for action in criteria.required],
            "forbidden": [_plain_action(action) for action in criteria.forbidden],
            "reason": criteria.reason,
        }
    if Component.CONSTRAINT in criteria.reward_basis:
        ours["reward_basis"] = [str(component) for component in criteria.reward_basis]
    if task.made:
        ours["made"] = task.made
    return ours


def _plain_action(action: Action) -> dict[str, Any]:
    return {
        "action_id": action.id,
        "requestor": action.requestor,
        "name": action.name,
        "arguments": action.arguments,
        "info": action.info or None,
        "compare_args": None if action.compare_args is None else list(action.compare_args),
    }


def _plain_assertion(check: EnvAssertion) -> dict[str, Any]:
    return {
        "env_type": check.side,
        "func_name": check.name,
        "arguments": check.arguments,
        "assert_value": check.expected,
        "message": check.message or None,
    }


def _instructions(said: _Instructions | str) -> Instructions:
    if isinstance(said, str):
        return Instructions(reason=said)
    return Instructions(
        reason=said.reason_for_call or "",
        known=said.known_info or "",
        unknown=said.unknown_info or "",
        further=said.task_instructions or "",
    )


def _criteria(wire: _Criteria, ours: _Ours) -> Criteria:
    return Criteria(
        actions=tuple(action.action() for action in wire.actions or ()),
        communicate=wire.communicate_info or (),
        nl_assertions=wire.nl_assertions or (),
        env_assertions=tuple(
            EnvAssertion(
                name=check.func_name,
                arguments=check.arguments,
                side=check.env_type,
                expected=check.assert_value,
                message=check.message or "",
            )
            for check in wire.env_assertions or ()
        ),
        reward_basis=next((one for one in (ours.reward_basis, wire.reward_basis) if one is not None), _TAU2_BASIS),
        required=tuple(action.action() for action in ours.constraint.required),
        forbidden=tuple(action.action() for action in ours.constraint.forbidden),
        reason=ours.constraint.reason,
    )


def _history(told: Sequence[_Told]) -> tuple[Message, ...]:
    """The agent's and the user's words, the agent's calls and their results; the user's own calls left out."""
    found: list[Message] = []
    waiting: list[str] = []
    for message in told:
        if message.tool_messages is not None:
            results: Sequence[_Told] = message.tool_messages
        else:
            results = (message,) if message.role == "tool" else ()
        for result in results:
            if result.requestor == "assistant":
                name = waiting.pop(0) if waiting else ""
                found.append(ToolMessage(content=result.content or "", name=name, error=result.error))
        if results:
            continue
        if message.role == "assistant":
            calls = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in message.tool_calls or ())
            waiting = [call.name for call in calls]
            found.append(AssistantMessage(content=message.content or "", calls=calls))
        elif message.role == "user" and message.content:
            found.append(UserMessage(content=message.content))
        elif message.role == "system" and message.content:
            found.append(SystemMessage(content=message.content))
    return tuple(found)


def _values(path: Path) -> list[Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    if path.suffix == ".jsonl":
        with path.open("rb") as stream:
            return [_json(line, str(path), number) for number, line in jsonio.read_lines(stream)]
    document = _json(data, str(path), None)
    if isinstance(document, dict) and isinstance(document.get("tasks"), list):
        document = document["tasks"]
    if not isinstance(document, list):
        raise DataError("a task file should be a JSON list of tasks", file=str(path))
    return document


def _json(text: bytes, file: str, line: int | None) -> Any:
    try:
        return jsonio.loads(text)
    except jsonio.JsonError as error:
        raise DataError(str(error), file=file, line=line) from None


def _splits(path: Path) -> dict[str, tuple[str, ...]]:
    """Splits as tau2 keeps them: ``split_NAME`` beside ``NAME``, or ``PREFIX-split_NAME`` beside ``PREFIX-NAME``."""
    prefix, dash, name = path.name.rpartition("-")
    beside = path.with_name(f"{prefix}{dash}split_{name}")
    if not beside.is_file():
        return {}
    document = _json(beside.read_bytes(), str(beside), None)
    return _convert(document, dict[str, tuple[str, ...]], str(beside), "")


def _convert(value: Any, kind: type[_ANY], file: str, root: str) -> _ANY:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, where = jsonio.misfit(error)
        field = root + where
        raise DataError(problem[:1].lower() + problem[1:], file=file, field=field) from None
