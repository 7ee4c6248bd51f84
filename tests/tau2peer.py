"""Recorded runs of tau-bench made again in worlds of tau2 and scored again, and calls at random beside tau2 itself.

tau-bench's reward is: the database ends as the reference actions leave it, and every required output occurs in a text of
the agent, as a part of it, with commas taken out and case ignored. `again` computes just that, with turngap's worlds.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter, defaultdict
from typing import Any

import msgspec

from turngap.data import Acted, AssistantMessage, Event, Spoken, Task, ToolCall, Trajectory, UserMessage
from turngap.data.task import Side
from turngap.domains.live import LiveDomain, LiveWorld
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import package
from turngap.errors import MissingExtra
from turngap.formats import tasks as task_files


def absent() -> str | None:
    """Why tau2 cannot be used here; None when it can."""
    try:
        package()
    except MissingExtra as error:
        return str(error)
    return None


def whole(task: Task) -> list[tuple[str, dict[str, Any], Side]]:
    """The reference of a task: names, arguments, who."""
    return [(one.name, one.arguments, one.requestor) for one in task.criteria.actions]


def performed(
    domain: LiveDomain, task: Task, actions: list[tuple[str, dict[str, Any], Side]]
) -> tuple[Trajectory, LiveWorld]:
    """A trial in which somebody does just these things and says what has to be said, and the world as it is left."""
    world = domain.world(0, task.initial_state)
    events: list[Event] = [Spoken(message=UserMessage(content="Hello."))]
    for name, arguments, side in actions:
        call = ToolCall(name=name, arguments=arguments)
        result = world.call(call, requestor=side)
        if side == "user":
            events.append(Spoken(message=UserMessage(content="Done."), calls=(call,), results=(result,)))
        else:
            events.append(Acted(message=AssistantMessage(calls=(call,)), results=(result,)))
    events.append(Acted(message=AssistantMessage(content=" ".join(task.criteria.communicate) or "Done.")))
    known = {"trial": 0, "termination": "user_stop"}
    return Trajectory(conversation=task.id, events=tuple(events), metadata=known, seconds=1.0), world


class Rescored(msgspec.Struct, kw_only=True):
    """One recorded run, scored again."""

    task: int
    trial: int
    stored: float
    """The reward in the recording."""
    database: bool
    """Whether the database ended as the reference leaves it."""
    said: bool
    """Whether every required output was said."""
    calls: int
    other: list[tuple[str, str, str]]
    """Calls whose result differs from the recorded one: name, recorded, now."""
    finished: bool
    """Whether the run came to its end; tau-bench gives nothing to one that reached its step limit."""
    failed: list[str]
    """Reference actions that the domain refuses."""
    differences: list[str]

    @property
    def reward(self) -> float:
        """What comes out now."""
        return float(self.database and self.said and self.finished)


def again(domain: LiveDomain, record: dict[str, Any]) -> Rescored:
    """Make the calls of a recorded run, and those of its reference, and compare."""
    world, other, calls = domain.world(), [], 0
    for call, recorded in _calls(record["traj"]):
        calls += 1
        now = world.call(call).content
        if _content(_value(now)) != _content(_value(recorded)):
            other.append((call.name, recorded, now))
    task = record["info"]["task"]
    wanted, failed = reference(domain, task["actions"])
    texts = [
        message["content"].lower().replace(",", "")
        for message in record["traj"]
        if message["role"] == "assistant" and message.get("content")
    ]
    return Rescored(
        task=record["task_id"],
        trial=record["trial"],
        stored=float(record["reward"]),
        database=world.digest() == wanted.digest(),
        said=all(any(output.lower() in text for text in texts) for output in task.get("outputs") or ()),
        finished=record["info"]["reward_info"] is not None,
        calls=calls,
        other=other,
        failed=failed,
        differences=[str(one) for one in wanted.diff(world)],
    )


def reference(domain: LiveDomain, actions: list[dict[str, Any]]) -> tuple[LiveWorld, list[str]]:
    """The world as the reference actions leave it, and which of them the domain refuses."""
    world, failed = domain.world(), []
    for action in actions:
        result = world.call(ToolCall(name=action["name"], arguments=action["kwargs"]))
        if result.error:
            failed.append(f"{action['name']}: {result.content}")
    return world, failed


def _calls(messages: list[dict[str, Any]]) -> list[tuple[ToolCall, str]]:
    found = []
    for place, message in enumerate(messages):
        for number, call in enumerate(message.get("tool_calls") or ()):
            # tau-bench runs the first call of a message and drops the others.
            if number == 0 and place + 1 < len(messages) and messages[place + 1]["role"] == "tool":
                function = call["function"]
                arguments = json.loads(function["arguments"])
                found.append((ToolCall(name=function["name"], arguments=arguments), messages[place + 1]["content"]))
    return found


def _value(text: str) -> Any:
    if text.startswith("Error:"):
        return "Error"
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return re.sub(r"\s+", " ", text)


def _content(value: Any) -> Any:
    """What both forms of the records have: tau2 adds absent fields as null, a customer's id and a date, renames one."""
    if isinstance(value, list):
        return [_content(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("transaction_type") or "payment_id" in value:
        value = {key: round(item, 2) if isinstance(item, float) else item for key, item in value.items()}
    told = {"state" if key == "province" else key: _content(item) for key, item in value.items() if item is not None}
    if "payment_methods" in told or "dob" in told:
        told.pop("user_id", None)
    if "available_seats" in told:
        told.pop("date", None)
    return told


def kinds_of_difference(runs: list[Rescored]) -> Counter[str]:
    """How many results differ, by tool."""
    return Counter(name for run in runs for name, _, _ in run.other)


class Twins:
    """A domain of tau2 and tau2's own environments, which make the same calls at random."""

    def __init__(self, domain: Tau2Domain, seed: int) -> None:
        self._domain = domain
        self._rng = random.Random(seed)
        self.calls = self.refused = 0
        tasks = task_files.read(domain.task_file).tasks
        self._states = [task.initial_state for task in tasks if task.initial_state] or [None]
        self._known = [(one.name, one.arguments, one.requestor) for task in tasks for one in task.criteria.actions]
        self._values: dict[str, list[Any]] = defaultdict(list, _VALUES)
        for _, arguments, _ in self._known:
            for key, value in arguments.items():
                self._values[key].append(value)
        self._tools: list[tuple[str, Side, list[str]]] = [
            (tool.name, side, list(tool.spec.parameters.get("properties", {})))
            for side, tools in _sides(domain)
            for tool in tools
            if tool.name != "refuel_data"  # draws an id at random
        ]

    def play(self) -> None:
        """Make one to fifteen calls in a world and its forks, and in an environment; compare each result and the end."""
        rng, state = self._rng, self._rng.choice(self._states)
        world, peer = self._domain.world(0, state), _environment(self._domain.name)
        if state:
            began = package().initial_state.model_validate(state)
            peer.set_state(began.initialization_data, began.initialization_actions, [])
        for _ in range(rng.randint(1, 15)):
            name, arguments, side = self._call()
            mine = world.call(ToolCall(name=name, arguments=arguments), requestor=side)
            theirs = peer.get_response(package().call(name=name, arguments=copy.deepcopy(arguments), requestor=side))
            self.calls += 1
            self.refused += theirs.error
            assert (mine.content, mine.error) == (theirs.content, theirs.error), (name, arguments)
            if rng.random() < 0.2:
                left, world = world, world.fork()
                name, arguments, side = self._call()
                left.call(ToolCall(name=name, arguments=arguments), requestor=side)
        for kit in ("tools", "user_tools"):
            ours, other = getattr(world.environment, kit), getattr(peer, kit)
            assert (ours and ours.db.model_dump()) == (other and other.db.model_dump())

    def _call(self) -> tuple[str, dict[str, Any], Side]:
        rng = self._rng
        known = [one for one in self._known if one[0] != "refuel_data"]
        if rng.random() < 0.4:
            name, arguments, side = rng.choice(known)
        else:
            name, side, parameters = rng.choice(self._tools)
            arguments = {key: rng.choice(self._values[key]) for key in parameters if self._values[key]}
        arguments = copy.deepcopy(arguments)
        if arguments and rng.random() < 0.1:
            del arguments[rng.choice(list(arguments))]
        return name, arguments, side


_VALUES: dict[str, list[Any]] = {
    "expression": ["1 + 2", "(3.5 * 2)", "x"],
    "summary": ["s"],
    "customer_id": ["C1001", "C1002"],
    "line_id": ["L1001", "L1004"],
    "phone_number": ["555-123-2002"],
    "bill_id": ["B1001", "B1005"],
}


def _sides(domain: Tau2Domain) -> list[tuple[Side, Any]]:
    return [("assistant", domain.tools), ("user", domain.user_tools)]


def _environment(name: str) -> Any:
    """A new environment, as in a new process: tau2 keeps one VPN record on a class, and its tools spoil it in place."""
    environment = package().environment(name)
    kind = type(environment.user_tools)
    vpn = getattr(kind, "default_vpn_details", None)
    if vpn is not None:
        kind.default_vpn_details = type(vpn)(
            server_address="192.168.1.1", protocol="OpenVPN", server_performance="excellent"
        )
    return environment
