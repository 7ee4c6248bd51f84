"""From somebody else's value to ours: where did it come from in its history, and what stands at that place in this one?

`trace` names the origins of a value: an argument of an earlier call, a path in a tool's result, words that were said,
or nothing of these, which makes it a constant of the situation. `refill` looks the analogous place up in
another history and gives candidate values with weights, best first. Both are deterministic and know no tool by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from turngap.models.ground import Ground, Path, Scalar, at, leaves, same

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_WORD = r"[^\W\d_](?:[\w'’.-]*\w)?"
_OTHER = 0.05
"""Weight of a list's elements that were not chosen: they matter when the first choice was used before."""


class Called(NamedTuple):
    """An argument of an earlier call."""

    tool: str
    path: Path


class Returned(NamedTuple):
    """A place in a tool's latest result."""

    tool: str
    path: Path


class Said(NamedTuple):
    """Words of the customer or the agent."""

    speaker: str
    shape: str
    """Regular expression that values of this kind match as a whole."""
    bare: bool
    """Whether the shape alone tells little, so that a neighbouring word has to agree."""
    before: tuple[str, ...]
    """The two words before it, the nearest first."""
    after: str


class Constant(NamedTuple):
    """No origin in the history: the value belongs to the situation."""

    value: Scalar


Origin = Called | Returned | Said | Constant


def trace(value: Scalar, ground: Ground) -> list[Origin]:
    """Name the places a value came from, each kind once, the latest of each; a constant when there is none."""
    if isinstance(value, bool):
        return [Constant(value)]
    origins: list[Origin] = []
    for leaf in reversed(ground.called):
        if same(leaf.value, value):
            origins.append(Called(leaf.tool, leaf.path))
            break
    for leaf in reversed(ground.returned):
        if same(leaf.value, value):
            origins.append(Returned(leaf.tool, leaf.path))
            break
    for speaker in ("user", "agent"):
        said = _said(value, ground, speaker)
        if said is not None:
            origins.append(said)
            break
    return origins or [Constant(value)]


def _said(value: Scalar, ground: Ground, speaker: str) -> Said | None:
    spelled = str(value).strip()
    if not spelled:
        return None
    pattern = re.compile(rf"(?<!\w){re.escape(spelled)}(?!\w)", re.IGNORECASE)
    for saying in reversed(ground.sayings):
        if saying.speaker != speaker:
            continue
        found = pattern.search(saying.text) or _number_word(value, saying.text)
        if found:
            shape, bare = shape_of(spelled)
            before, after = _around(saying.text, found.start(), found.end())
            return Said(speaker, shape, bare, before, after)
    return None


def _number_word(value: Scalar, text: str) -> re.Match[str] | None:
    spelled = str(value)
    if not spelled.isdigit() or int(spelled) >= len(_NUMBERS):
        return None
    return re.search(rf"\b{_NUMBERS[int(spelled)]}\b", text, re.IGNORECASE)


def _around(text: str, start: int, end: int) -> tuple[tuple[str, ...], str]:
    before = [word.lower() for word in _TOKEN.findall(text[max(0, start - 40) : start])]
    after = _TOKEN.search(text[end : end + 30])
    return tuple(before[-1:-3:-1]), after[0].lower() if after else ""


def shape_of(text: str) -> tuple[str, bool]:
    """The regular expression of values like this one, and whether it is so wide that it needs a cue beside it."""
    if _EMAIL.fullmatch(text):
        return _EMAIL.pattern, False
    if text.isdigit():
        return (rf"\d{{{len(text)}}}", False) if len(text) > 3 else (rf"\d{{1,3}}|{'|'.join(_NUMBERS)}", True)
    if " " not in text and text.isupper() and text.isalnum():
        return rf"[A-Z0-9]{{{len(text)}}}", False
    if any(letter.isdigit() for letter in text):
        return _coded(text), " " in text
    return r"\s+".join([_WORD] * len(text.split())), True


def _coded(text: str) -> str:
    """An id, date or address: runs of digits of two and more keep their length, other letters their kind."""
    parts = []
    for run in re.finditer(r"\d+|[A-Z]+|[^\W\d_A-Z]+|\s+|.", text):
        piece = run[0]
        if piece.isdigit():
            parts.append(rf"\d{{{len(piece)}}}" if len(piece) > 2 else r"\d{1,3}")
        elif piece.isalpha():
            # Capitals are mostly the fixed prefix of an id; words are what varies in an address or a user name.
            parts.append(piece if piece.isupper() else r"[^\W\d_]+")
        else:
            parts.append(r"\s+" if piece.isspace() else re.escape(piece))
    return "".join(parts)


def refill(origin: Origin, ground: Ground, key: str) -> Iterator[tuple[Scalar, float]]:
    """Candidate values for another history, with weights in (0, 1].

    Args:
        origin: where the value came from in its own history.
        ground: the history to take a value from.
        key: the name of the argument, for places that moved to another tool.
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
    name = next((step for step in reversed(origin.path) if isinstance(step, str)), key)
    weight = 1.0
    seen: list[Scalar] = []
    for exact in (True, False):
        for leaf in reversed(ground.called):
            fits = (leaf.tool, leaf.path) == origin if exact else _last_key(leaf.path) == name
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
    spoken = " ".join(saying.text for saying in ground.sayings if saying.speaker == "user").casefold()
    path = _steered(result, origin.path, spoken)
    chosen = at(result, path)
    if isinstance(chosen, (str, int, float)):
        yield chosen, 1.0
    wanted = _pattern(origin.path)
    for other, value in leaves(result):
        if other != path and _pattern(other) == wanted:
            yield value, _OTHER


def _pattern(path: Path) -> Path:
    """A path without its list positions."""
    return tuple("*" if isinstance(step, int) else step for step in path)


def _steered(result: Any, path: Path, spoken: str) -> Path:
    """The path with each list position, or unknown key, moved to the element that the customer spoke of most."""
    value, found = result, []
    for step in path:
        if isinstance(value, list) and isinstance(step, int) and value:
            step = _spoken_of(list(range(len(value))), value, step, spoken)  # noqa: PLW2901 - that is the steering
            value = value[step]
        elif isinstance(value, dict) and isinstance(step, str):
            if step not in value and value and all(isinstance(inner, dict) for inner in value.values()):
                # Tables keyed by id: another id stands where ours stood.
                keys = list(value)
                step = keys[_spoken_of(keys, list(value.values()), 0, spoken)]  # noqa: PLW2901
            value = value.get(step)
        else:
            break
        found.append(step)
    return tuple(found)


def _spoken_of(names: list[Any], elements: list[Any], default: int, spoken: str) -> int:
    """Position of the element whose own short texts the customer's words hold most of; `default` on a tie with it."""
    scores = []
    for name, element in zip(names, elements, strict=True):
        texts = {str(value).casefold() for _, value in leaves(element) if isinstance(value, str) and len(value) < 40}
        texts |= {name.casefold()} if isinstance(name, str) else set()
        scores.append(sum(1 for text in texts if len(text) > 1 and text in spoken))
    best = max(scores)
    default = min(default, len(elements) - 1)
    return default if scores[default] == best else scores.index(best)


@lru_cache(maxsize=4096)
def _compiled(shape: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w#@])(?:{shape})(?![\w@])", re.IGNORECASE if shape.startswith(r"\d{1,3}|") else 0)


def _from_words(origin: Said, ground: Ground) -> Iterator[tuple[Scalar, float]]:
    """Spans of the same shape: the latest weighs most, those whose neighbours agree weigh more."""
    found: dict[str, float] = {}
    recency = 1.0
    for saying in reversed(ground.sayings):
        if saying.speaker != origin.speaker:
            continue
        for match in _compiled(origin.shape).finditer(saying.text):
            before, after = _around(saying.text, match.start(), match.end())
            cues = 2 * (before[:1] == origin.before[:1] != ()) + (before[1:] == origin.before[1:] != ())
            cues += after == origin.after != ""
            if origin.bare and not cues:
                continue
            weight = recency * (1 + cues) / 5
            value = match[0]
            if value.lower() in _NUMBERS:
                value = str(_NUMBERS.index(value.lower()))
            found[value] = max(found.get(value, 0.0), weight)
        recency *= 0.8
    yield from sorted(found.items(), key=lambda pair: -pair[1])
