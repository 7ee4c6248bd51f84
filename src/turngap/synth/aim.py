"""Arguments with which a call comes to what is aimed at: found by trying them on a note of the world.

An agent that knows its trade does not guess: what it does goes through. So arguments are drawn until they do; and where
an attempt should not come off, until they do not, for a reason that lies in the customer's things or wishes and not in
what was done a moment ago.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from turngap import jsonio
from turngap.data import ToolCall
from turngap.synth.filling import Filled, Means, Scope, fill
from turngap.synth.naming import is_money
from turngap.synth.plan import Step

Aim = Literal["do", "refused", "unfit", "forbidden"]
"""What should come of a call: a change; a no of the tool; a no for the sake of what is asked for, where something else
could be done about the same thing; a change that a rule forbids."""

INSTEAD: dict[Aim, tuple[Literal["another", "gone", "itself"], ...]] = {
    "do": ("another",),
    "refused": ("another", "gone"),
    "unfit": ("another", "gone"),
    "forbidden": ("another", "itself"),
}
"""What may take the place of a thing, see `Scope.instead`."""

_TRIES = 6
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")


def search(means: Means, scope: Scope, aim: Aim) -> Filled | None:
    """Arguments with which a call comes to what is aimed at; None where a few tries find none."""
    refusals: set[str] = set()
    for filled in _drawn(means, scope):
        step = probe(means, scope, filled)
        mended = _mended(filled.arguments, step.result) if step.error else None
        if mended is not None:
            filled = msgspec.structs.replace(filled, arguments=mended)  # noqa: PLW2901 - the same call, put right
            step = probe(means, scope, filled)
        if _suits(step, aim) and (aim == "do" or _is_fair(means, scope, filled, aim)):
            return filled
        if step.error and step.result in refusals:
            break
        refusals.add(step.result)
    return None


def probe(means: Means, scope: Scope, filled: Filled, *, before_all: bool = False) -> Step:
    """What a call would lead to; see `Looking.probe`."""
    return means.looking.probe(ToolCall(name=scope.tool.name, arguments=filled.arguments), before_all=before_all)


def scalars(value: Any) -> Iterator[Any]:
    """Every key and every value that is no container, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    else:
        yield value


def _drawn(means: Means, scope: Scope) -> Iterator[Filled]:
    """A few different fillings."""
    tried: set[str] = set()
    for _ in range(_TRIES):
        filled = fill(means, scope)
        key = "" if filled is None else jsonio.canonical(filled.arguments)
        if filled is not None and key not in tried:
            tried.add(key)
            yield filled


def _suits(step: Step, aim: Aim) -> bool:
    if aim in ("refused", "unfit"):
        return step.error and step.result != "" and not step.breaches
    return step.changed and not step.error and len(step.breaches) == (aim == "forbidden")


def _is_fair(means: Means, scope: Scope, filled: Filled, aim: Aim) -> bool:
    """Whether an attempt is one that a customer could make in earnest.

    What only fails because of what was changed a moment ago is none. Neither is, among attempts that fail for what is
    asked, one that asks for what is so already.
    """
    if not _suits(probe(means, scope, filled, before_all=True), aim):
        return False
    if aim != "unfit":
        return True
    for name, value in filled.arguments.items():
        named = means.looking.memory.find(name, 3, scope.sources)
        if scope.anchor is not None and name != scope.anchor.name and any(leaf.value == value for _, leaf in named):
            return False
    likewise = msgspec.structs.replace(scope, instead="another")
    return any(_suits(probe(means, likewise, other), "do") for other in _drawn(means, likewise))


def _mended(arguments: dict[str, Any], refusal: str) -> dict[str, Any] | None:
    """Arguments with an amount that a refusal names in the place of one that it rejects; None where it names none.

    A tool that says "the total is 350, but 20 was paid" tells what it wants; an agent that reads tries that next.
    """
    named = [float(number) if "." in number else int(number) for number in _NUMBER.findall(refusal)]
    given = [value for value in scalars(arguments) if isinstance(value, (int, float)) and not isinstance(value, bool)]
    wrong = next((number for number in named if number in given), None)
    right = next((number for number in named if number not in given), None)
    if wrong is None or right is None:
        return None
    mended: dict[str, Any] = _with(arguments, wrong, right, "")
    return mended


def _with(value: Any, wrong: float, right: float, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _with(inner, wrong, right, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with(inner, wrong, right, name) for inner in value]
    is_wrong = value == wrong and isinstance(value, (int, float)) and not isinstance(value, bool)
    return right if is_wrong and is_money(name) else value
