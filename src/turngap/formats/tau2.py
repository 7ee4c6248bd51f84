"""Results of tau2-bench: a ``results.json``, its directory form, or one simulation file of the directory form.

In the directory form ``results.json`` is an index, and ``simulations/<id>.json`` beside it hold the runs. Tools that
the simulated user has (``requestor: user``) are not the agent's: its calls and their results are left out and counted.
A voice run (``ticks`` instead of ``messages``) has no conversation in it and is said to be unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turngap.data import Conversation, ToolSpec
from turngap.errors import DataError
from turngap.formats.assemble import WireCall, WireMessage, assemble
from turngap.formats.base import Findings, GivenTools, Place, Raw, Record, convert_each
from turngap.formats.content import text_of
from turngap.formats.openai import content_id, read_reward
from turngap.formats.records import json_document, load_document, top_keys
from turngap.formats.toolspec import read_tools

_INDEX = "results.json"
_FOLDER = "simulations"
_SIMULATION_KEYS = {"task_id", "termination_reason"}
_GOAL_PARTS = (
    ("reason_for_call", "Reason for the call"),
    ("known_info", "Known to the user"),
    ("unknown_info", "Not known to the user"),
    ("task_instructions", "Further"),
)
_ROLES = ("system", "user", "assistant", "tool")


class Tau2:
    """Reader of tau2-bench results."""

    name = "tau2"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is a results object, an index, or one simulation."""
        del path
        is_list, keys = top_keys(head)
        is_results = "simulations" in keys or {"info", "tasks"} <= keys or {"timestamp", "info"} <= keys
        return not is_list and (is_results or keys >= _SIMULATION_KEYS)

    def members(self, path: Path) -> Iterable[Path]:
        """The simulation files beside an index."""
        return sorted((path.parent / _FOLDER).glob("*.json")) if path.name == _INDEX else ()

    def read(self, path: Path, given: GivenTools) -> Iterator[Record | DataError]:
        """Yield the simulations of a results file, of an index, or the one of a simulation file."""
        for raw in json_document(path):
            if isinstance(raw, DataError):
                yield raw
                return
            document = raw[1]
            if not isinstance(document, dict):
                yield raw[0].error("a tau2 file should be an object with simulations")
                return
            if document.keys() >= _SIMULATION_KEYS:
                yield from _Run(_index_beside(path), given).read([raw])
            elif "simulations" in document:
                yield from _Run(document, given).read(_listed(document["simulations"], path))
            else:
                yield from self._read_folder(path, document, given)

    def _read_folder(self, path: Path, index: dict[str, Any], given: GivenTools) -> Iterator[Record | DataError]:
        files = sorted((path.parent / _FOLDER).glob("*.json"))
        if not files:
            yield DataError(f"no simulations in it, and no folder {_FOLDER}/ with files beside it", file=str(path))
        yield from _Run(index, given).read(raw for file in files for raw in json_document(file))


def _index_beside(path: Path) -> dict[str, Any]:
    index = path.parent.parent / _INDEX
    document = load_document(index) if path.parent.name == _FOLDER and index.is_file() else {}
    return document if isinstance(document, dict) else {}


def _listed(value: Any, path: Path) -> Iterable[Raw]:
    if not isinstance(value, list):
        return [DataError("simulations should be a list", file=str(path), field="simulations")]
    return (
        (Place(file=str(path), record=index, root=f"simulations[{index}]"), item) for index, item in enumerate(value)
    )


class _Run:
    """What the simulations of one results file share."""

    def __init__(self, document: dict[str, Any], given: GivenTools) -> None:
        self.given = given
        info = _object(document.get("info"))
        self.environment = _object(info.get("environment_info"))
        tasks = document.get("tasks")
        self.tasks = {
            str(task.get("id")): task for task in (tasks if isinstance(tasks, list) else ()) if isinstance(task, dict)
        }

    def read(self, raws: Iterable[Raw]) -> Iterator[Record | DataError]:
        return convert_each(raws, self.conversation)

    def conversation(self, simulation: Any, findings: Findings) -> Conversation:
        if not isinstance(simulation, dict):
            raise findings.place.error("a simulation should be an object")
        messages = simulation.get("messages")
        if not messages:
            voice = " (a voice run: ticks without messages)" if simulation.get("ticks") else ""
            raise findings.place.error(f"no conversation in it{voice}", "messages")
        if not isinstance(messages, list):
            raise findings.place.error("messages should be a list", "messages")
        wires = _wires(messages, findings)
        tools = self._tools(findings)
        assembled = assemble(wires, tools, findings)
        if not tools and any(wire.calls for wire in wires):
            findings.note("no_tools", "calls without tool specifications")
        policy = next(
            (p for p in (simulation.get("policy"), self.environment.get("policy")) if isinstance(p, str) and p), ""
        )
        task = self.tasks.get(str(simulation.get("task_id")), {})
        return Conversation(
            id=str(simulation.get("id") or content_id(messages)),
            policy=assembled.policy or policy,
            tools=tools,
            messages=assembled.messages,
            goal=_goal(task.get("user_scenario")),
            reward=read_reward(_object(simulation.get("reward_info")).get("reward"), "reward_info.reward", findings),
            compare_args=_compare_args(task),
            metadata=self._metadata(simulation),
            source=findings.place.source(),
        )

    def _tools(self, findings: Findings) -> tuple[ToolSpec, ...]:
        recorded = self.environment.get("tool_defs")
        tools = read_tools(recorded, "info.environment_info.tool_defs", Findings(Place(file=findings.place.file)))
        return tools or self.given.specs

    def _metadata(self, simulation: dict[str, Any]) -> dict[str, Any]:
        known = {"domain": self.environment.get("domain_name")}
        known |= {key: simulation.get(key) for key in ("task_id", "trial", "termination_reason")}
        return {key: value for key, value in known.items() if value is not None}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _goal(scenario: Any) -> str | None:
    if isinstance(scenario, str):
        return scenario or None
    instructions = _object(scenario).get("instructions")
    if isinstance(instructions, str):
        return instructions or None
    parts = _object(instructions)
    lines = [
        f"{label}: {parts[key]}"
        for key, label in _GOAL_PARTS
        if isinstance(parts.get(key), str) and parts[key].strip(" .")
    ]
    return "\n".join(lines) or None


def _compare_args(task: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Tools whose compared arguments are restricted in the same way by every reference action that calls them."""
    actions = _object(task.get("evaluation_criteria")).get("actions")
    found: dict[str, list[Any]] = {}
    for action in actions if isinstance(actions, list) else ():
        if isinstance(action, dict) and action.get("requestor", "assistant") != "user":
            found.setdefault(str(action.get("name")), []).append(action.get("compare_args"))
    return {
        tool: tuple(str(name) for name in restrictions[0])
        for tool, restrictions in found.items()
        if isinstance(restrictions[0], list) and all(other == restrictions[0] for other in restrictions)
    }


def _wires(messages: list[Any], findings: Findings) -> list[WireMessage]:
    wires: list[WireMessage] = []
    for index, message in enumerate(messages):
        at = f"messages[{index}]"
        if not isinstance(message, dict):
            raise findings.place.error("a message should be an object with a role", at)
        inner = message.get("tool_messages")
        if isinstance(inner, list):
            wires += [
                _result(item, f"{at}.tool_messages[{i}]", findings) for i, item in enumerate(inner) if _agents(item)
            ]
        elif message.get("role") == "tool":
            wires += [_result(message, at, findings)] if _agents(message) else []
        else:
            wires += _spoken(message, at, findings)
    return wires


def _agents(item: Any) -> bool:
    return not isinstance(item, dict) or item.get("requestor") != "user"


def _spoken(message: dict[str, Any], at: str, findings: Findings) -> list[WireMessage]:
    role = message.get("role")
    if role not in _ROLES:
        raise findings.place.error(f"unknown role {role!r}; known: {', '.join(_ROLES)}", f"{at}.role")
    content = text_of(message.get("content"), f"{at}.content", findings)
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise findings.place.error("tool_calls should be a list of objects", f"{at}.tool_calls")
    if role == "user" and calls:
        findings.note("user_calls", ", ".join(str(call.get("name")) for call in calls), at)
        # The agent never saw these calls; a message that held nothing else did not exist for it.
        return [WireMessage(role=role, content=content, at=at)] if content else []
    ours = tuple(
        WireCall(
            name=str(call.get("name") or ""),
            arguments=call.get("arguments"),
            id=_text(call.get("id")),
            at=f"{at}.tool_calls[{index}]",
        )
        for index, call in enumerate(calls)
        if _agents(call)
    )
    reasoning = message.get("reasoning_content")
    return [
        WireMessage(
            role=role, content=content, calls=ours, reasoning=reasoning if isinstance(reasoning, str) else None, at=at
        )
    ]


def _result(item: Any, at: str, findings: Findings) -> WireMessage:
    if not isinstance(item, dict):
        raise findings.place.error("a tool message should be an object", at)
    return WireMessage(
        role="tool",
        content=text_of(item.get("content"), f"{at}.content", findings, is_result=True),
        call_id=_text(item.get("id")),
        error=bool(item.get("error")),
        at=at,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
