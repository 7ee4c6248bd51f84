"""What an agent may know at a point of a conversation, without reading everything before it again.

A judge asks that at every decision, and reading the history each time makes a conversation cost the square of its
length. So each is read once: of every reading it is noted where it stands first, and what is known before a message is
whatever stands before it. The few conversations that are being judged are kept, not more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, Message, ToolMessage
from turngap.judges import facts
from turngap.judges.facts import Facts

T = TypeVar("T")

_KEPT = 8


class Recent(Generic[T]):
    """What was made of the latest conversations, so that it is made once for all decisions of each.

    Args:
        make: what to make; of the conversation alone.
    """

    def __init__(self, make: Callable[[Conversation], T]) -> None:
        self._make = make
        # A conversation is kept beside what was made of it, so that its address is not given to another one.
        self._kept: OrderedDict[int, tuple[Conversation, T]] = OrderedDict()

    def of(self, conversation: Conversation) -> T:
        """What was made of a conversation."""
        held = self._kept.pop(id(conversation), None) or (conversation, self._make(conversation))
        self._kept[id(conversation)] = held
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return held[1]


class Known(msgspec.Struct, frozen=True):
    """What is known at one point."""

    readings: Container[str]
    codes: Container[str]


class Knowledge:
    """When each reading of a conversation, its policy and its tools is first known."""

    def __init__(self, conversation: Conversation) -> None:
        self._readings: dict[str, int] = {}
        self._codes: dict[str, int] = {}
        for fact in _background(conversation):
            self._add(fact, -1)
        for position, message in enumerate(conversation.messages):
            for fact in _message_sources(message):
                self._add(fact, position)

    def before(self, position: int) -> Known:
        """What is known before the message at a position."""
        return Known(_Earlier(self._readings, position), _Earlier(self._codes, position))

    def _add(self, found: Facts, position: int) -> None:
        for key in found.readings:
            self._readings.setdefault(key, position)
        for key in found.codes:
            self._codes.setdefault(key, position)


class _Earlier(Container[str]):
    """The keys that stand before a position."""

    __slots__ = ("_first", "_position")

    def __init__(self, first: dict[str, int], position: int) -> None:
        self._first, self._position = first, position

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._first.get(key, self._position) < self._position


def sources_of(conversation: Conversation, messages: Iterable[Message]) -> Iterator[Facts]:
    """What an agent may know from: policy, tools, and everything said, called and returned in `messages`."""
    yield from _background(conversation)
    for message in messages:
        yield from _message_sources(message)


def _background(conversation: Conversation) -> Iterator[Facts]:
    yield facts.of_text(conversation.policy)
    if conversation.tools:
        yield facts.of_result(jsonio.dumps(conversation.tools))


def _message_sources(message: Message) -> Iterator[Facts]:
    if isinstance(message, ToolMessage):
        yield facts.of_result(message.content)
        return
    yield facts.of_text(message.content)
    if isinstance(message, AssistantMessage):
        for call in message.calls:
            yield facts.of_value(call.arguments)
