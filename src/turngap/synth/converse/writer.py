"""Where scenarios come from: tasks with a verified reference, or a model that writes them.

A model is given the policy, the tools and what is drawn for this scenario: which kind it is, which tools it should
turn on, and in a domain a customer with their records. In a domain the operations that it expects are carried out: a
scenario is lost where the domain refuses one, or where one breaks a rule of the policy, so that what is left has a
verified reference like any task. Without a domain only the schemas are held against it.

A reply that is no such scenario is asked for once more with what is wrong, and then lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from turngap import jsonio
from turngap.data import Action, Criteria, Instructions, Intent, Scenario, Task
from turngap.data.asking import spell, spoken
from turngap.data.task import Component, Fact
from turngap.domains.live import Done
from turngap.errors import DataFault, UsageError
from turngap.judges import prompt
from turngap.judges.reply import Unreadable, read_objects
from turngap.synth.converse.asking import Answer, Asker, UnreadableError
from turngap.synth.converse.desk import Desk, Gatekeeper
from turngap.synth.converse.situation import Lost, Situation, of_task
from turngap.synth.customer import Sampler

_MOST_FEATURED = 3
"""Tools that a scenario should turn on."""
_MOST_RECORDS = 12
"""Records of a customer that the writer sees."""

SCENARIO = f"""\
You write scenarios for practice conversations between a customer and a service agent. You see the policy of the desk,
its tools, what is drawn for this scenario and, where the desk has records, those of one customer. Write one scenario
that could have happened at this desk, and that an agent can bring to its end with this policy and these tools alone.

- All people and data are invented, or come from the records you see. Use no real persons.
- The customer knows what such a customer would know, and nothing of tools, policies or the desk's systems.
- The operations you expect are those of a careful agent, in their order, the looking up included. Where records are
  shown, give every operation all its arguments, with values from the records or from what the customer knows.
- The kinds. general: the customer says what is needed. ambiguous: the customer begins vaguely, and tells details when
  asked. changing: the customer first wants one thing, and another one on the way; the operations are those of the final
  wish. infeasible: the policy or the tools do not allow what the customer wants; the operations are those by which the
  agent finds out, and nothing is changed.

{prompt.READING}
How to answer. Write one JSON object and nothing else, with these fields: objective, what the customer wants and why, in
the words of "you"; persona, what the customer is like, in a sentence; initial_state, a list of texts, how the records
stand as far as it matters; desired_state, a list of texts, what should have become of them; knows, an object from the
name of a value (as the tools call it) to the value that the customer can tell; opening, the customer's first message;
expected, a list of objects with the fields tool and arguments; criteria, a list of texts, by what an observer of the
conversation sees that it succeeded.
"""
VERSION = jsonio.digest([SCENARIO, "layout 1"])[:16]
"""Identity of the prompt."""
_FURTHER = {
    Scenario.AMBIGUOUS: "Begin vaguely, and tell details only when you are asked for them.",
    Scenario.CHANGING: "Change your mind on the way, as described, and not before the agent has proposed something.",
    Scenario.INFEASIBLE: "When you are refused, insist once or twice, then accept it.",
}


class Scenarios(Protocol):
    """Something that has scenarios. Implementations are safe to use from many tasks of one event loop."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change them."""
        ...

    def ids(self) -> Sequence[str]:
        """The scenarios that there are, in order; each id is that of a conversation."""
        ...

    async def make(self, key: str) -> Situation | Lost:
        """One of them.

        Raises:
            EndpointError: a model's server failed. DomainFault: the domain's code did.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class TaskScenarios:
    """The scenarios of tasks with a reference.

    Args:
        desk: has a domain.
        tasks: in the order of the conversations.
    """

    def __init__(self, desk: Desk, tasks: Sequence[Task]) -> None:
        self._desk = desk
        self._tasks = {task.id: task for task in tasks}

    def identity(self) -> dict[str, Any]:
        """That there is no writer; each task is stored with its conversation."""
        return {"writer": "tasks"}

    def ids(self) -> Sequence[str]:
        """The ids of the tasks."""
        return tuple(self._tasks)

    async def make(self, key: str) -> Situation | Lost:
        """The scenario of a task. See `Scenarios.make`."""
        domain = self._desk.domain
        if domain is None:
            raise DataFault("tasks with a reference take a domain")
        return of_task(self._tasks[key], domain)

    async def aclose(self) -> None:
        """Nothing is held."""


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """What chance decides about one scenario."""

    kind: Scenario
    tools: tuple[str, ...]
    """What it should turn on."""
    customer: dict[str, Any] | None = None
    """Table -> key -> record of one customer; None without a domain."""


class WrittenScenarios:
    """Scenarios that a model writes.

    Args:
        asker: asks it.
        desk: what they are for.
        count: how many.
        kinds: those to be drawn.
        seed: of the draws.
    """

    def __init__(self, asker: Asker, desk: Desk, *, count: int, kinds: Sequence[Scenario], seed: int) -> None:
        self._asker, self._desk = asker, desk
        self._gate = Gatekeeper(desk)
        self._count, self._kinds, self._seed = count, tuple(kinds), seed
        self._sampler = _sampler(desk)

    def identity(self) -> dict[str, Any]:
        """The model and the prompt."""
        return {"writer": self._asker.identity(), "prompt": VERSION}

    def ids(self) -> Sequence[str]:
        """``w00000`` and so on."""
        return tuple(f"w{position:05d}" for position in range(self._count))

    async def make(self, key: str) -> Situation | Lost:
        """Have one written. See `Scenarios.make`."""
        drawn = self.draw(key)
        try:
            said = await self._asker.ask(key, self.prompt(drawn), lambda text: self._read(text, drawn.kind))
        except UnreadableError as error:
            return Lost(reason="no readable scenario", detail=str(error))
        situation = self._situation(key, drawn, said)
        return self._refused(situation) or situation

    async def aclose(self) -> None:
        """Release the model."""
        await self._asker.aclose()

    def draw(self, key: str) -> Drawn:
        """What chance decides: by seed and id alone."""
        rng = random.Random(f"{self._seed}/scenario/{key}")
        names = self._desk.names()
        kind = rng.choice(self._kinds)
        tools = rng.sample(names, min(len(names), rng.randint(1, _MOST_FEATURED)))
        return Drawn(
            kind=kind, tools=tuple(tools), customer=None if self._sampler is None else _records(self._sampler, rng)
        )

    def prompt(self, drawn: Drawn) -> prompt.Messages:
        """The request for one scenario."""
        sections = [
            *prompt.setting(self._desk.policy, self._desk.tools),
            ("Drawn for this scenario:", {"kind": drawn.kind.value, "tools_to_turn_on": list(drawn.tools)}),
        ]
        if drawn.customer is not None:
            sections.append(("The customer's records:", drawn.customer))
        return prompt.request(SCENARIO, sections, "What is the scenario?")

    def _read(self, text: str, kind: Scenario) -> _Written | Unreadable:
        found = read_objects(text, "objective")
        if isinstance(found, Unreadable):
            return found
        try:
            written = msgspec.convert(found[-1], _Written)
        except msgspec.ValidationError as error:
            return Unreadable(f"its JSON object is not of the form: {error}")
        problem = written.gap(kind) or next(self._wrong(written), None)
        return written if problem is None else Unreadable(problem)

    def _wrong(self, written: _Written) -> Iterator[str]:
        """What is wrong with the operations that it expects."""
        for one in written.expected:
            if not self._gate.knows(one.tool):
                yield f"it expects {self._gate.unknown(one.tool)}"
            elif one.arguments or self._desk.domain is not None:
                problem = self._gate.problem(one.tool, one.arguments)
                if problem is not None:
                    yield f"it expects a call of {one.tool} with wrong arguments: {problem}"

    def _situation(self, key: str, drawn: Drawn, said: Answer[_Written]) -> Situation:
        written = said.value
        expected = tuple(Action(name=one.tool, arguments=one.arguments) for one in written.expected)
        knows = tuple(f"{spoken(name)}: {spell(value)}" for name, value in written.knows.items())
        task = Task(
            id=key,
            domain=self._desk.name,
            scenario=drawn.kind,
            persona=written.persona,
            instructions=Instructions(
                reason=written.objective, known="\n".join(knows), further=_FURTHER.get(drawn.kind, "")
            ),
            criteria=Criteria(actions=expected, reward_basis=(Component.DB,)),
            intent=Intent(
                opening=written.opening,
                facts=tuple(Fact(slot=name, value=value) for name, value in written.knows.items()),
            ),
            made={"writer": self._asker.label, "drawn": msgspec.to_builtins(drawn)},
        )
        return Situation(
            id=key,
            task=task,
            objective=written.objective,
            initial=written.initial_state,
            desired=written.desired_state,
            knows=knows,
            expected=expected,
            criteria=written.criteria,
            writer=self._asker.label,
            asks=said.asks,
            usage=said.usage,
        )

    def _refused(self, situation: Situation) -> Lost | None:
        """Carry out in the domain what is expected; why it cannot be, where it cannot."""
        if self._desk.domain is None:
            return None
        world = self._desk.domain.world()
        before: list[Done] = []
        for action in situation.expected:
            call = action.call()
            rules = world.breaches(call, before)
            if rules:
                return Lost(reason="an expected operation breaks a rule", detail=f"{call.name}: {rules[0]}")
            result = world.call(call)
            if result.error:
                return Lost(reason="an expected operation is refused", detail=f"{call.name}: {result.content[:200]}")
            before.append(Done(call=call, result=result))
        if situation.task.scenario is Scenario.INFEASIBLE and world.changes():
            return Lost(reason="what should be infeasible is done")
        return None


class _Operation(msgspec.Struct, frozen=True):
    tool: str
    arguments: dict[str, Any] = {}


class _Written(msgspec.Struct, frozen=True):
    """What a model writes."""

    objective: str
    opening: str
    criteria: tuple[str, ...]
    expected: tuple[_Operation, ...]
    persona: str = ""
    initial_state: tuple[str, ...] = ()
    desired_state: tuple[str, ...] = ()
    knows: dict[str, Any] = {}

    def gap(self, kind: Scenario) -> str | None:
        """What it leaves empty. A wish may be refused by the policy alone, without looking anything up."""
        for name in ("objective", "opening", "criteria", *(("expected",) if kind is not Scenario.INFEASIBLE else ())):
            value = getattr(self, name)
            if not (value.strip() if isinstance(value, str) else value):
                return f"its {name} is empty"
        return None


def _sampler(desk: Desk) -> Sampler | None:
    """Who draws customers; None where there are no records."""
    if desk.domain is None:
        return None
    try:
        return Sampler(desk.domain)
    except UsageError:
        return None


def _records(sampler: Sampler, rng: random.Random) -> dict[str, Any]:
    customer = sampler.draw(rng)
    found: dict[str, Any] = {customer.table: {customer.key: customer.record}}
    linked = [(table, key) for table, keys in sampler.records(customer).items() for key in keys]
    for table, key in linked[:_MOST_RECORDS]:
        found.setdefault(table, {})[key] = sampler.content[table][key]
    return found
