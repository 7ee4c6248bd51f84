"""What is wrong with a task before anybody has tried it: held against the domain that it is to take place in.

A task whose reference calls a tool that does not exist asks for nothing, and an agent that does nothing passes it. So
the reference is looked at and done once, in a world of its own, and each finding says where in the task it stands:

* `BROKEN`: the domain knows no such tool, argument, assertion or initial state. Its reward would say something else.
* `FAILING`: the domain's own code fails on it; trials in which that comes up would be errored.
* `REFUSED`: the domain refuses a change that the reference makes, so that the task can be passed without it.
* `IN_VAIN`: it refuses a call of the reference that changes nothing.
* `UNMET`: the reference does not meet what the task asks for beside it.
* `CONTRADICTED`: the user says one value and the reference takes another. A value that the reference takes elsewhere
  contradicts nothing: of two returns, the user may name one good, and say of the other where it is found.
* `UNASKED`: the user has facts under a name that no argument of a tool bears.
* `VACUOUS`: a part of what the task is held against asks for nothing, so that agents pass it whatever they do.

What follows from a finding is decided elsewhere. Not looked at: whether the words of the task and its reference mean
the same, which takes a reader.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from turngap.data import Action, Category, Fact, Intent, Task
from turngap.data.arguments import leaves
from turngap.data.asking import slots_known, spell
from turngap.data.task import Component, Criteria, Scenario, Side
from turngap.domains import LiveDomain, LiveTool
from turngap.errors import DataFault, DomainFault
from turngap.grading.doing import Deeds, Made, called
from turngap.grading.wanted import Wanted, cut
from turngap.metrics.schema import Shape

VERSION = 3
"""Raised when the same task would be found otherwise."""

_NEAR = 3  # names that a finding offers
_SHOWN = 12  # names that it lists where none is near
_MISFITS = (Category.WRONG_TOOL, Category.WRONG_ARGUMENTS, Category.MALFORMED_CALL)


_REFERENCE = "evaluation_criteria.actions"

_Found = tuple["Flaw", str, str]


class Flaw(StrEnum):
    """What can be wrong with a task; the module's docstring says what each means."""

    BROKEN = "broken"
    FAILING = "failing"
    REFUSED = "refused"
    IN_VAIN = "in_vain"
    UNMET = "unmet"
    CONTRADICTED = "contradicted"
    UNASKED = "unasked"
    VACUOUS = "vacuous"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with one task."""

    task: str
    flaw: Flaw
    field: str
    """Where it stands in the task, as the file spells it: ``evaluation_criteria.actions[0].name``."""
    problem: str
    """What is wrong, in one line."""


class Examiner:
    """Holds tasks against one domain."""

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain
        self._deeds = Deeds(domain)
        self._tools: dict[Side, dict[str, LiveTool]] = {
            "assistant": {tool.name: tool for tool in domain.tools},
            "user": {tool.name: tool for tool in domain.user_tools},
        }
        self._shapes = {
            (side, name): Shape(tool.spec.parameters)
            for side, tools in self._tools.items()
            for name, tool in tools.items()
        }
        self._slots = {slot for tool in domain.tools for slot in _slots(tool.spec.parameters)}

    def examine(self, task: Task, seed: int = 0) -> tuple[Finding, ...]:
        """Everything that is wrong with a task, in the order of its fields.

        Args:
            task: what is examined.
            seed: of the world in which the reference is done, where the domain leaves something to chance.

        Raises:
            UsageError, DataError: the domain makes no world at all.
        """
        return tuple(
            Finding(task=task.id, flaw=flaw, field=field, problem=cut(problem, 300))
            for flaw, field, problem in (
                *self._names(task),
                *self._deed(task, seed),
                *self._intent(task),
                *_vacuous(task),
            )
        )

    def _names(self, task: Task) -> Iterator[_Found]:
        """Tools and arguments that the domain does not know, and arguments that it cannot do without."""
        for field, actions in _actions(task.criteria):
            for index, action in enumerate(actions):
                yield from self._misfits(f"{field}[{index}]", action, done=field == _REFERENCE)

    def _misfits(self, field: str, action: Action, *, done: bool) -> Iterator[_Found]:
        """What of an action is no call of a tool. One that is `done` needs all arguments, whichever are compared."""
        known = self._tools[action.requestor]
        if action.name not in known:
            yield Flaw.BROKEN, f"{field}.name", self._no_tool(action)
            return
        schema = known[action.name].spec.parameters
        shape = self._shapes[action.requestor, action.name]
        names = set(shape.names())
        # A schema that says nothing of further arguments means none: tools are functions.
        if "properties" in schema and not schema.get("additionalProperties"):
            for where, given in (("arguments", action.arguments), ("compare_args", action.compare_args or ())):
                for name in given:
                    if name not in names:
                        problem = f"{action.name} has no argument {name!r}{_near(name, names)}"
                        yield Flaw.BROKEN, f"{field}.{where}", problem
        compared = shape.required if done or action.compare_args is None else shape.required & {*action.compare_args}
        for name in sorted(compared - action.arguments.keys()):
            remedy = "" if done else "; compare_args says which arguments count, [] that any call of the tool is meant"
            yield Flaw.BROKEN, f"{field}.arguments", f"{action.name} needs the argument {name!r}{remedy}"

    def _no_tool(self, action: Action) -> str:
        owner, other = ("agent", "user") if action.requestor == "assistant" else ("user", "agent")
        others: Side = "user" if action.requestor == "assistant" else "assistant"
        problem = f"the {owner} has no tool {action.name!r}"
        if action.name in self._tools[others]:
            return f"{problem}; the {other} has: requestor says whose it is"
        return f"{problem}{_near(action.name, self._tools[action.requestor])}"

    def _deed(self, task: Task, seed: int) -> Iterator[_Found]:
        """What comes of doing the reference."""
        try:
            wanted = Wanted.of(task, self._domain, seed)
        except DataFault as error:
            yield Flaw.BROKEN, "initial_state", str(error)
            return
        except DomainFault as error:
            yield Flaw.FAILING, _REFERENCE, str(error)
            return
        made = []
        for index, (action, reply) in enumerate(zip(task.criteria.actions, wanted.replies, strict=True)):
            field = f"{_REFERENCE}[{index}]"
            result = reply.message
            made.append(Made(event=index, side=action.requestor, call=action.call(), result=result))
            if not result.error or any(self._misfits(field, action, done=True)):
                continue
            if reply.category in _MISFITS:
                yield Flaw.BROKEN, f"{field}.arguments", f"{action.name}: {reply.detail}"
            else:
                changes = self._tools[action.requestor][action.name].kind == "write"
                yield Flaw.REFUSED if changes else Flaw.IN_VAIN, field, f"{called(action.call())}: {result.content}"
        yield from self._assertions(task, wanted)
        yield from self._constraint(task, made)

    def _assertions(self, task: Task, wanted: Wanted) -> Iterator[_Found]:
        for index, one in enumerate(task.criteria.env_assertions):
            field = f"evaluation_criteria.env_assertions[{index}]"
            try:
                held = self._domain.holds(wanted.world, one.name, one.arguments, requestor=one.side)
            except DataFault as error:
                yield Flaw.BROKEN, field, str(error)
            except DomainFault as error:
                yield Flaw.FAILING, field, str(error)
            else:
                if held is not one.expected:
                    yield Flaw.UNMET, field, f"{one.name} is {held} when the reference is done"

    def _constraint(self, task: Task, made: Sequence[Made]) -> Iterator[_Found]:
        criteria = task.criteria
        for index in self._deeds.undone(criteria.required, made):
            action = criteria.required[index]
            yield Flaw.UNMET, f"turngap.constraint.required[{index}]", f"the reference has no {called(action.call())}"
        for index, action in enumerate(criteria.forbidden):
            if any(self._deeds.does(one, action) for one in made):
                yield Flaw.UNMET, f"turngap.constraint.forbidden[{index}]", f"the reference has {called(action.call())}"

    def _intent(self, task: Task) -> Iterator[_Found]:
        """Where the user's facts and the reference do not go together."""
        intent = task.intent
        if intent is None:
            return
        told = [fact.slot for fact in (*intent.facts, *(fact for change in intent.changes for fact in change.facts))]
        known = {*self._slots, *slots_known()}
        stray = [slot for slot in dict.fromkeys((*told, *intent.unknown)) if slot not in known]
        if stray:
            problem = ", ".join(f"{slot}{_near(slot, self._slots, every=False)}" for slot in stray)
            yield Flaw.UNASKED, "turngap.intent", problem
        current, gone = _facts(intent)
        taken = [
            (index, action, slot, value)
            for index, action in enumerate(task.criteria.actions)
            if self._is_write(action)
            for slot, value in leaves(action.arguments)
        ]
        used = {(slot, spell(value).casefold()) for _, _, slot, value in taken}
        for index, action, slot, value in taken:
            now, before = current.get(slot, {}), gone.get(slot, {})
            words = spell(value).casefold()
            left = [said for key, said in (now or before).items() if (slot, key) not in used]
            if words not in now and (left or words in before):
                said = "has taken it back" if words in before else f"says {', '.join(left)}"
                problem = f"{action.name} takes {slot} {spell(value)}, and the user {said}"
                yield Flaw.CONTRADICTED, f"{_REFERENCE}[{index}].arguments.{slot}", problem

    def _is_write(self, action: Action) -> bool:
        tool = self._tools["assistant"].get(action.name)
        return action.requestor == "assistant" and tool is not None and tool.kind == "write"


def _vacuous(task: Task) -> Iterator[_Found]:
    """Where nothing is asked for. That nothing is to be said, next to a wanted database, is usual and no finding."""
    criteria = task.criteria
    constraint = bool(criteria.required or criteria.forbidden)
    asked = {
        Component.DB: True,
        Component.COMMUNICATE: bool(criteria.communicate),
        Component.ACTION: bool(criteria.actions),
        Component.ENV_ASSERTION: bool(criteria.env_assertions),
        Component.NL_ASSERTION: bool(criteria.nl_assertions),
        Component.CONSTRAINT: constraint,
    }
    if not any(asked[component] for component in criteria.reward_basis):
        basis = ", ".join(criteria.reward_basis) or "nothing"
        yield (
            Flaw.VACUOUS,
            "reward_basis",
            f"the reward counts {basis}, of which the task has nothing: every trial passes",
        )
    elif Component.CONSTRAINT in criteria.reward_basis and not constraint:
        yield Flaw.VACUOUS, "turngap.constraint", "CONSTRAINT counts, and nothing is required or forbidden"
    elif task.scenario is Scenario.INFEASIBLE and not constraint and not criteria.actions:
        problem = "infeasible, and nothing is required or forbidden: whoever changes nothing passes"
        yield Flaw.VACUOUS, "turngap.constraint", problem


def _actions(criteria: Criteria) -> tuple[tuple[str, Sequence[Action]], ...]:
    return (
        (_REFERENCE, criteria.actions),
        ("turngap.constraint.required", criteria.required),
        ("turngap.constraint.forbidden", criteria.forbidden),
    )


def _facts(intent: Intent) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """What the user says, slot by slot, in words and by their lower case.

    Returns:
        The values that hold in the end or beside a later wish, and those that were taken back.
    """
    current: dict[str, dict[str, str]] = {}
    gone: dict[str, dict[str, str]] = {}

    def add(fact: Fact) -> None:
        for _, one in leaves(fact.value):
            current.setdefault(fact.slot, {})[spell(one).casefold()] = spell(one)

    for fact in intent.facts:
        add(fact)
    for change in intent.changes:
        if change.kind == "drift":
            for slot in {fact.slot for fact in change.facts}:
                gone.setdefault(slot, {}).update(current.pop(slot, {}))
        for fact in change.facts:
            add(fact)
    return current, gone


def _slots(schema: Any) -> Iterator[str]:
    """The names of all arguments in a schema, and of what stands inside them."""
    if isinstance(schema, Mapping):
        for word, node in schema.items():
            if word == "properties" and isinstance(node, Mapping):
                yield from node
            yield from _slots(node)
    elif isinstance(schema, list):
        for node in schema:
            yield from _slots(node)


def _near(name: str, known: Collection[str], *, every: bool = True) -> str:
    """The known names that come near one; where none does, all of them, if `every`."""
    near = difflib.get_close_matches(name, sorted(known), n=_NEAR, cutoff=0.6)
    if not every:
        return f" (or is it {' or '.join(near)}?)" if near else ""
    if near:
        return f"; did you mean {' or '.join(near)}?"
    if not known:
        return "; there are none"
    return f"; known: {', '.join(sorted(known)[:_SHOWN])}{', ...' if len(known) > _SHOWN else ''}"
