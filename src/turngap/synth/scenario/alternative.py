"""What a customer may have wanted first: another change of the same thing, or the same change in another way.

Candidates are made from one change that a plan makes: another tool that takes the same record and can be filled from
what the plan knows, or the same tool with another choice, other options of a value, or fewer things. Each stands for
itself; whether the world takes it is found out by doing it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turngap.data import ToolCall
from turngap.domains import LiveDomain
from turngap.synth.naming import likeness
from turngap.synth.offer import leaves, offers, placed, token
from turngap.synth.parameter import parameters
from turngap.synth.plan import Plan, Step

_MOST = 4
"""Values that are tried for one argument."""


def others(domain: LiveDomain, plan: Plan, goal: int, known: Sequence[Step], rng: random.Random) -> list[ToolCall]:
    """Calls that could have been wanted in the place of one step, the likeliest kind first.

    Args:
        domain: whose tools there are.
        plan: the step's.
        goal: the step.
        known: calls of the same customer elsewhere, whose values may be used.
        rng: chooses among equals.
    """
    call = plan.steps[goal].call
    found = [*_other_tools(domain, call, known, rng), *_other_values(domain, plan, goal, rng)]
    taken = {_key(call)}
    return [one for one in found if _key(one) not in taken and not taken.add(_key(one))]  # type: ignore[func-returns-value]


def _key(call: ToolCall) -> tuple[str, str]:
    return call.name, token(call.arguments)


def _other_tools(domain: LiveDomain, call: ToolCall, known: Sequence[Step], rng: random.Random) -> Iterator[ToolCall]:
    given = call.arguments or {}
    about = {name: value for name, value in given.items() if name.endswith("id") and isinstance(value, str)}
    tools = [tool for tool in domain.tools if tool.kind == "write" and tool.name != call.name]
    rng.shuffle(tools)
    for tool in tools:
        wanted = [one for one in parameters(tool.spec) if one.required]
        if not any(one.name in about for one in wanted):
            continue
        # Values of another call belong together, such as the parts of an address: all from one, or none.
        lenders = [given, *({**(step.call.arguments or {}), **about} for step in known)]
        for lender in lenders:
            values = {**lender, **given}
            arguments: dict[str, Any] = {}
            for parameter in wanted:
                if parameter.name in values:
                    arguments[parameter.name] = values[parameter.name]
                elif parameter.choices:
                    arguments[parameter.name] = rng.choice(parameter.choices)
            if len(arguments) == len(wanted):
                yield ToolCall(name=tool.name, arguments=arguments)
                break


def _other_values(domain: LiveDomain, plan: Plan, goal: int, rng: random.Random) -> Iterator[ToolCall]:
    call = plan.steps[goal].call
    given = call.arguments or {}
    spec = next(tool.spec for tool in domain.tools if tool.name == call.name)
    choices = {one.name: one.choices for one in parameters(spec) if one.choices}
    yield from _fewer(call)
    # The first id names the record that it is all about; a change of that is no change of mind, but another matter.
    entity = next((path for path, _ in leaves(given) if path.endswith("_id")), "")
    paths = [path for path, _ in leaves(given) if path != entity]
    rng.shuffle(paths)
    # Who says another reason than before has not changed their mind about much.
    paths.sort(key=lambda path: path in choices)
    for path in paths:
        value = dict(leaves(given))[path]
        options = choices.get(path) or _beside(plan.steps[:goal], path, value)
        options = [one for one in options if token(one) != token(value)]
        for other in rng.sample(options, min(_MOST, len(options))):
            yield ToolCall(name=call.name, arguments=placed(given, path, other))


def _fewer(call: ToolCall) -> Iterator[ToolCall]:
    """The same for all but one of several things; lists of one length belong together."""
    given = call.arguments or {}
    lengths = {len(value) for value in given.values() if isinstance(value, list)}
    if len(lengths) == 1 and (length := lengths.pop()) > 1:
        for index in range(length):
            fewer: Mapping[str, Any] = {
                name: [*value[:index], *value[index + 1 :]] if isinstance(value, list) else value
                for name, value in given.items()
            }
            yield ToolCall(name=call.name, arguments=dict(fewer))


def _beside(steps: Sequence[Step], path: str, value: Any) -> list[Any]:
    """The values that results offer in the place of one."""
    found: dict[str, Any] = {}
    for step in steps:
        offered = offers(step.result)
        kinds = {
            one.kind
            for one in offered
            if token(one.value) == token(value) and likeness(path.partition("[")[0], one.name)
        }
        found |= {token(one.value): one.value for one in offered if one.kind in kinds}
    return list(found.values())
