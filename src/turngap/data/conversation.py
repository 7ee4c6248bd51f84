"""Recorded conversations and the decisions in them.

A `Conversation` holds the invariants that everything above relies on; `check` states them and `turngap.formats` makes
them true for the files that people have:

* every assistant message with n calls is followed by exactly n tool messages, in the order of the calls;
* a tool message stands nowhere else;
* a text decision is never directly followed by another assistant message;
* the policy is not among the messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from turngap.data.message import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a record stands in somebody's file."""

    file: str = ""
    line: int | None = None
    """1-based line of a JSONL file."""
    record: int | None = None
    """0-based position in a JSON list, or of the simulation in a results file."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded dialogue."""

    id: str
    """Unique in its data set: the recording's own id, else the first digits of the content digest."""
    policy: str = ""
    """The leading system or developer text; empty when there was none."""
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...] = ()
    goal: str | None = None
    """What the user wanted, where the recording says so; judges may read it, the evaluated model never does."""
    reward: float | None = None
    """The recording's own verdict on the whole conversation, a fraction in [0, 1]; None where it has none."""
    compare_args: dict[str, tuple[str, ...]] = {}
    """Tool name -> the only argument names that matching looks at (tau2's `compare_args`); absent tool: all."""
    metadata: dict[str, Any] = {}
    source: Source = Source()
    start: int = 0
    """Index of the first decision that is evaluated; those before it are given history. 0 but in a cut case."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One assistant message of a conversation, with its place."""

    index: int
    """0-based among the conversation's assistant messages, those before `Conversation.start` included."""
    position: int
    """Index of the assistant message in `Conversation.messages`; `messages[:position]` is its gold history."""
    reference: AssistantMessage
    """The recorded decision."""

    @property
    def kind(self) -> str:
        """``"tool"`` or ``"text"``."""
        return self.reference.kind


def decisions(conversation: Conversation) -> Iterator[Decision]:
    """Yield the decisions that are evaluated, in order: all of them, or those from `Conversation.start` on."""
    return (decision for decision in _recorded(conversation) if decision.index >= conversation.start)


def _recorded(conversation: Conversation) -> Iterator[Decision]:
    index = 0
    for position, message in enumerate(conversation.messages):
        if isinstance(message, AssistantMessage):
            yield Decision(index=index, position=position, reference=message)
            index += 1


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """What was said to the agent, and the decisions it made before it was spoken to again."""

    spoken: tuple[UserMessage | SystemMessage, ...]
    """User messages (and instructions among them) that open the turn; empty where the agent speaks first."""
    decisions: tuple[Decision, ...]
    """The recorded decisions of the turn: tool decisions, then at most one text decision; may be empty."""
    begin: int
    """Index in `Conversation.messages` of the turn's first message: what stands before it is history."""
    end: int
    """Index in `Conversation.messages` just past the turn."""


def segments(conversation: Conversation, start: int | None = None) -> list[Segment]:
    """Cut a conversation at its user messages; instructions in the middle of it cut too.

    Args:
        conversation: the recording.
        start: index of the decision that the first turn begins with; None for `Conversation.start`. A turn in whose
            middle it stands has nothing spoken: that was said before. Whatever the start, `messages[:first.begin]`
            with what the first turn speaks is the gold history of the decision.
    """
    found: list[Segment] = []
    begin = 0
    spoken: list[UserMessage | SystemMessage] = []
    made: list[Decision] = []
    pending = _recorded(conversation)
    for position, message in enumerate(conversation.messages):
        if isinstance(message, UserMessage | SystemMessage):
            if made:
                found.append(Segment(spoken=tuple(spoken), decisions=tuple(made), begin=begin, end=position))
                begin, spoken, made = position, [], []
            spoken.append(message)
        elif isinstance(message, AssistantMessage):
            made.append(next(pending))
    if spoken or made:
        end = len(conversation.messages)
        found.append(Segment(spoken=tuple(spoken), decisions=tuple(made), begin=begin, end=end))
    return _from(found, conversation.start if start is None else start)


def _from(turns: list[Segment], start: int) -> list[Segment]:
    while turns and turns[0].decisions and turns[0].decisions[-1].index < start:
        turns = turns[1:]
    if turns and turns[0].decisions and turns[0].decisions[0].index < start:
        left = tuple(decision for decision in turns[0].decisions if decision.index >= start)
        turns = [Segment(spoken=(), decisions=left, begin=left[0].position, end=turns[0].end), *turns[1:]]
    return turns


def requires_tools(conversation: Conversation) -> bool:
    """Whether at least one decision is a tool decision."""
    return any(decision.reference.calls for decision in decisions(conversation))


def results_of(conversation: Conversation, decision: Decision) -> tuple[ToolMessage, ...]:
    """The recorded results of a tool decision, one per call, in order."""
    start = decision.position + 1
    found = conversation.messages[start : start + len(decision.reference.calls)]
    return tuple(message for message in found if isinstance(message, ToolMessage))


def check(conversation: Conversation) -> str | None:
    """Name the first broken invariant of the module docstring, or None."""
    waiting = 0
    previous: Message | None = None
    for index, message in enumerate(conversation.messages):
        if isinstance(message, ToolMessage):
            if not waiting:
                return f"messages[{index}]: a tool result without a call"
            waiting -= 1
        elif waiting:
            return f"messages[{index}]: {waiting} call(s) before it have no result"
        elif isinstance(message, AssistantMessage):
            if isinstance(previous, AssistantMessage):
                return f"messages[{index}]: two assistant messages in a row"
            waiting = len(message.calls)
        previous = message
    return f"the last {waiting} call(s) have no result" if waiting else None
