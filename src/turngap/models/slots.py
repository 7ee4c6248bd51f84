"""From somebody else's value to ours: where did it come from in its history, and what stands at that place in this one?

`trace` names the origins of a value: an argument of an earlier call, a path in a tool's result, words that were said,
or nothing of these, which makes it a constant of the situation. An origin counts only if refilling it in its own
history gives the value back. `refill` looks the analogous place up in another history and gives candidate values with
weights, best first. Both are deterministic and know no tool by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from turngap.models.ground import Ground, Path, Scalar, at, leaves, spelling
from turngap.models.span import Kind, locate, spans

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OTHER = 0.05
"""Weight of a list's elements that were not chosen: they matter when the first choice was used before."""


@dataclass(frozen=True)
class Called:
    """An argument of an earlier call."""

    tool: str
    path: Path


@dataclass(frozen=True)
class Returned:
    """A place in a tool's latest result."""

    tool: str
    path: Path


@dataclass(frozen=True)
class Said:
    """Words of the customer or the agent."""

    speaker: str
    kind: Kind
    before: tuple[str, ...]
    """The two words before it, the nearest first."""
    after: str


@dataclass(frozen=True)
class Constant:
    """No origin in the history: the value belongs to the situation."""

    value: Scalar


Origin = Called | Returned | Said | Constant


def trace(value: Scalar, ground: Ground, key: str = "") -> tuple[Origin, ...]:
    """Name the places a value came from, the latest of each kind; a constant when there is none.

    Args:
        value: a leaf of a call's arguments, or a fact in a text.
        ground: the history before that call or text.
        key: the name of the argument.
    """
    if isinstance(value, bool):
        return (Constant(value),)
    known = (type(value).__name__, value, key)
    if known not in ground.traced:
        found = [*_said(value, ground), *_called(value, ground), *_returned(value, ground)]
        sure = tuple(origin for origin in found if _gives(origin, value, ground, key))
        ground.traced[known] = sure or (Constant(value),)
    return ground.traced[known]


def _gives(origin: Origin, value: Scalar, ground: Ground, key: str) -> bool:
    first = next(refill(origin, ground, key), None)
    return first is not None and spelling(first[0]) == spelling(value)


def _called(value: Scalar, ground: Ground) -> Iterator[Origin]:
    leaf = ground.calls_with.get(spelling(value))
    if leaf:
        yield Called(leaf.tool, leaf.path)


def _returned(value: Scalar, ground: Ground) -> Iterator[Origin]:
    """One origin a tool: the same id stands in an order and in a product, and only one of them tells which to take."""
    for leaf in ground.results_with.get(spelling(value), {}).values():
        yield Returned(leaf.tool, leaf.path)


def _said(value: Scalar, ground: Ground) -> Iterator[Origin]:
    """The latest mention by the customer, else by the agent."""
    spelled = str(value).strip()
    for speaker in ("user", "agent") if spelled else ():
        for saying in reversed(ground.sayings):
            found = locate(spelled, saying.text) if saying.speaker == speaker else None
            if found:
                kind, span = found
                yield Said(speaker, kind, *_around(saying.text, span.start, span.end))
                return


def _around(text: str, start: int, end: int) -> tuple[tuple[str, ...], str]:
    before = [word.lower() for word in _TOKEN.findall(text[max(0, start - 40) : start])]
    after = _TOKEN.search(text[end : end + 30])
    return tuple(before[-1:-3:-1]), after[0].lower() if after else ""


def refill(origin: Origin, ground: Ground, key: str = "") -> Iterator[tuple[Scalar, float]]:
    """Candidate values in another history, with weights in (0, 1], best first.

    Args:
        origin: where the value came from in its own history.
        ground: the history to take a value from.
        key: the name of the argument, for values that an earlier call of another tool had under that name.
    """
    if isinstance(origin, Constant):
        yield origin.value, 1.0
    elif isinstance(origin, Called):
        yield from _from_calls(origin, ground, key)
    elif isinstance(origin, Returned):
        yield from _from_results(origin, ground)
    else:
        yield from _from_words(origin, ground)


def _from_calls(origin: Called, ground: Ground, key: str) -> Iterator[tuple[Scalar, float]]:
    name = _last_key(origin.path) or key
    weight = 1.0
    seen: list[Scalar] = []
    for exact in (True, False):
        for leaf in reversed(ground.called):
            fits = (leaf.tool, leaf.path) == (origin.tool, origin.path) if exact else _last_key(leaf.path) == name
            if fits and leaf.value not in seen:
                seen.append(leaf.value)
                yield leaf.value, weight
                weight *= 0.3


def _last_key(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _from_results(origin: Returned, ground: Ground) -> Iterator[tuple[Scalar, float]]:
    result = ground.results.get(origin.tool)
    if result is None:
        return
    path = _steered(result, origin.path, ground.spoken)
    chosen = at(result, path)
    if isinstance(chosen, (str, int, float)):
        yield chosen, 1.0
    if path == origin.path and not any(isinstance(step, int) for step in path):
        return  # nothing was chosen from a list or a table
    wanted = _pattern(origin.path)
    for other, value in leaves(result):
        if other != path and _pattern(other) == wanted:
            yield value, _OTHER


def _pattern(path: Path) -> Path:
    """A path without its list positions."""
    return tuple("*" if isinstance(step, int) else step for step in path)


def _steered(result: Any, path: Path, spoken: str) -> Path:
    """The path with each list position, or unknown key, moved to the element that the customer spoke of most."""
    value = result
    found: list[str | int] = []
    for step in path:
        place = step
        if isinstance(value, list) and isinstance(step, int) and value:
            place = _spoken_of(list(range(len(value))), value, step, spoken)
            value = value[place]
        elif isinstance(value, dict) and isinstance(step, str):
            if step not in value and value and all(isinstance(inner, dict) for inner in value.values()):
                # A table keyed by ids: other ids stand where ours stood.
                keys = list(value)
                place = keys[_spoken_of(keys, list(value.values()), 0, spoken)]
            value = value.get(place)
        else:
            break
        found.append(place)
    return tuple(found)


def _spoken_of(names: list[Any], elements: list[Any], default: int, spoken: str) -> int:
    """Position of the element of whose short texts the customer spoke most; `default` where it is among the best."""
    scores = []
    for name, element in zip(names, elements, strict=True):
        texts = {str(value).casefold() for _, value in leaves(element) if isinstance(value, str) and len(value) < 40}
        texts |= {name.casefold()} if isinstance(name, str) else set()
        scores.append(sum(1 for text in texts if len(text) > 1 and text in spoken))
    best = max(scores)
    default = min(default, len(elements) - 1)
    return default if scores[default] == best else scores.index(best)


def _from_words(origin: Said, ground: Ground) -> Iterator[tuple[Scalar, float]]:
    """Spans of the same kind: the latest weighs most, and those whose neighbours agree weigh more."""
    found: dict[str, float] = {}
    recency = 1.0
    for saying in reversed(ground.sayings):
        if saying.speaker != origin.speaker:
            continue
        for span in spans(origin.kind, saying.text):
            before, after = _around(saying.text, span.start, span.end)
            cues = 2 * (before[:1] == origin.before[:1] != ()) + (before[1:] == origin.before[1:] != ())
            cues += after == origin.after != ""
            if cues or not origin.kind.vague:
                weight = recency * (0.5 + 0.125 * cues)
                found[span.value] = max(found.get(span.value, 0.0), weight)
        recency *= 0.8
    yield from sorted(found.items(), key=lambda pair: -pair[1])
