"""What an agent could know at a point of a replay: where a value was heard, and how two calls' arguments differ.

"Heard" means that the value stands in something the agent was given before that point: the policy, the tools, what the
user said, what tools returned, or what a repair put in. What the agent said or called itself is no source, so an
invented value does not become known by being repeated. Spellings of one number, date or identifier meet, as they do for
the `rules` judge (`turngap.judges.facts`); every other value is looked for as words, whatever the case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import Acted, Conversation, Event, Message, Spoken, ToolCall, UserMessage
from turngap.judges import facts
from turngap.judges.facts import Facts
from turngap.metrics.matching import Matcher

_MOST_WORDS = 4
"""A text of more words (a note, a summary) is the agent's own wording, and not looked for."""
_MOST_SHOWN = 80


class Place(msgspec.Struct, frozen=True):
    """One thing that the agent was given."""

    name: str
    """For readers, e.g. "result of get_booking (event 2)"."""
    by_user: bool
    text: str
    """Case folded, white space folded."""
    facts: Facts
    keys: dict[str, tuple[str, ...]]
    """Leaf of a structured result -> the keys it stands under."""
    event: int | None = None
    """Index of the event that gave it; None for what was given before all of them."""


class Difference(msgspec.Struct, frozen=True):
    """One place where the arguments of a call differ from the recorded call's."""

    path: str
    """Argument, dotted where it is nested; an element of an array has the path of the array."""
    predicted: Any
    """None where absent (see `absent`)."""
    recorded: Any
    absent: str = ""
    """``predicted`` or ``recorded``: the side that lacks the argument."""


def places(conversation: Conversation, events: Sequence[Event]) -> list[Place]:
    """What the agent was given by `events`, in order, behind policy and tools."""
    found = [_place("policy", conversation.policy)]
    if conversation.tools:
        found.append(_place("tools", jsonio.dumps(conversation.tools), structured=True))
    for index, event in enumerate(events):
        if isinstance(event, Spoken):
            user = isinstance(event.message, UserMessage)
            name = f"{'user' if user else 'instruction'} (event {index})"
            found.append(_place(name, event.message.content, event=index, by_user=user))
            continue
        if not isinstance(event, Acted):
            found += [_place(f"repair (event {index})", text, event=index) for text in _put_in(event.message)]
        for result in event.results:
            name = f"result of {result.name} (event {index})"
            found.append(_place(name, result.content, event=index, structured=True))
    return found


def heard(value: Any, known: Iterable[Place]) -> list[Place]:
    """The places that hold a value, in order."""
    wanted = _spelling(value)
    stated = facts.of_text(wanted).stated
    if stated:
        return [place for place in known if all(not fact.keys.isdisjoint(place.facts.readings) for fact in stated)]
    pattern = re.compile(rf"(?<!\w){re.escape(_fold(wanted))}(?!\w)")
    return [place for place in known if pattern.search(place.text)]


def decidable(value: Any) -> bool:
    """Whether it makes sense to ask where a value was heard: not for switches, nothing, and the agent's own prose."""
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return False
    return not isinstance(value, str) or 0 < len(value.split()) <= _MOST_WORDS


def is_identifier(value: Any) -> bool:
    """Whether a value names one thing among many: letters mixed with digits, an address, or at least five digits."""
    text = _spelling(value)
    stated = facts.of_text(text).stated
    return (text.isdigit() and len(text) >= 5) or (len(stated) == 1 and stated[0].kind == "id")


def differences(call: ToolCall, recorded: ToolCall, matcher: Matcher) -> list[Difference]:
    """Where the arguments of two readable calls of one tool differ, after normalisation."""
    ours, theirs = matcher.normalise(call).arguments, matcher.normalise(recorded).arguments
    if ours is None or theirs is None:
        return []
    return list(_differences(ours, theirs, ""))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(argument path, value) of every plain value; elements of an array have its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value


def shown(value: Any) -> str:
    """A value for readers, cut where it is long."""
    text = jsonio.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _differences(ours: Any, theirs: Any, path: str) -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in dict.fromkeys((*theirs, *ours)):
            inner = f"{path}.{key}" if path else key
            if key not in ours:
                yield Difference(inner, None, theirs[key], absent="predicted")
            elif key not in theirs:
                yield Difference(inner, ours[key], None, absent="recorded")
            else:
                yield from _differences(ours[key], theirs[key], inner)
    elif isinstance(ours, list) and isinstance(theirs, list):
        yield from _elements(list(ours), list(theirs), path)
    elif jsonio.canonical(ours) != jsonio.canonical(theirs):
        yield Difference(path, ours, theirs)


def _elements(ours: list[Any], theirs: list[Any], path: str) -> Iterator[Difference]:
    """Elements that both arrays have cancel out, wherever they stand; the rest is paired in order."""
    for element in list(ours):
        if element in theirs:
            theirs.remove(element)
            ours.remove(element)
    for one, other in zip(ours, theirs, strict=False):
        yield Difference(path, one, other)
    yield from (Difference(path, one, None, absent="recorded") for one in ours[len(theirs) :])
    yield from (Difference(path, None, other, absent="predicted") for other in theirs[len(ours) :])


def _put_in(message: Message) -> Iterator[str]:
    yield message.content
    for call in getattr(message, "calls", ()):
        yield jsonio.dumps(call.arguments)


def _place(name: str, text: str, *, event: int | None = None, by_user: bool = False, structured: bool = False) -> Place:
    if not structured:
        return Place(name, by_user, _fold(text), facts.of_text(text), {}, event)
    keys: dict[str, list[str]] = {}
    try:
        pairs = list(_keyed(jsonio.loads(text), ""))
    except jsonio.JsonError:
        pairs = [("", text)]
    for key, leaf in pairs:
        keys.setdefault(_fold(leaf), []).append(key)
    # The keys of objects are heard as well: some interfaces answer with identifiers as keys.
    words = "\n".join(_fold(part) for key, leaf in pairs for part in (key, leaf))
    by_leaf = {leaf: tuple(names) for leaf, names in keys.items()}
    return Place(name, by_user, words, facts.of_result(text), by_leaf, event)


def _keyed(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _keyed(item, str(name))
        if not value:
            yield key, ""
    elif isinstance(value, list):
        for item in value:
            yield from _keyed(item, key)
    else:
        yield key, _spelling(value)


def _spelling(value: Any) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def keys_of(value: Any, place: Place) -> tuple[str, ...]:
    """The keys under which a structured result holds a value."""
    return place.keys.get(_fold(_spelling(value)), ())
