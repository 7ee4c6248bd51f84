"""What is in a data set, counted while it streams by: a few numbers per conversation are all that is kept."""

from __future__ import annotations

from array import array
from collections import Counter
from statistics import median
from typing import Any

import msgspec

from turngap.data import AssistantMessage, Conversation, UserMessage, requires_tools
from turngap.formats.personal import KINDS, find_in


class ToolCount(msgspec.Struct, frozen=True, kw_only=True):
    """How one tool occurs."""

    name: str
    calls: int
    malformed: int
    """Calls whose arguments are no JSON object."""
    declared: int
    """Conversations that declare it."""
    undeclared_calls: int
    """Calls in conversations that declare tools, but not this one."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The range of a number over conversations."""

    min: int
    median: float
    max: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a data set."""

    conversations: int
    tool_requiring: int
    """Conversations with at least one tool decision."""
    marked: int
    """Conversations that carry a reward."""
    rewarded: int
    """Conversations whose reward is 1."""
    decisions: int
    text_decisions: int
    tool_decisions: int
    several_calls: int
    """Tool decisions with more than one call."""
    calls: int
    malformed_calls: int
    absent_results: int
    user_turns: int
    lengths: dict[str, Spread]
    """``decisions``, ``messages``, ``characters`` per conversation; empty without conversations."""
    tools: list[ToolCount]
    """Most called first."""
    personal: dict[str, dict[str, int]]
    """Kind -> ``values`` (different ones, summed over conversations) and ``conversations`` that hold any."""


class Inventory:
    """Counts conversations one by one."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._malformed: Counter[str] = Counter()
        self._declared: Counter[str] = Counter()
        self._undeclared: Counter[str] = Counter()
        self._values: Counter[str] = Counter()
        self._holders: Counter[str] = Counter()
        self._lengths = {name: array("Q") for name in ("decisions", "messages", "characters")}

    def add(self, conversation: Conversation) -> None:
        """Count one conversation."""
        counts = self._counts
        counts["conversations"] += 1
        counts["tool_requiring"] += requires_tools(conversation)
        counts["marked"] += conversation.reward is not None
        counts["rewarded"] += conversation.reward is not None and abs(conversation.reward - 1) <= 1e-6
        names = {spec.name for spec in conversation.tools}
        self._declared.update(names)
        before = counts["decisions"]
        for message in conversation.messages:
            if isinstance(message, AssistantMessage):
                self._add_decision(message, names)
            elif isinstance(message, UserMessage):
                counts["user_turns"] += 1
            elif getattr(message, "absent", False):
                counts["absent_results"] += 1
        self._lengths["decisions"].append(counts["decisions"] - before)
        self._lengths["messages"].append(len(conversation.messages))
        self._lengths["characters"].append(sum(len(message.content) for message in conversation.messages))
        by_kind = Counter(found.kind for found in find_in(conversation))
        self._values.update(by_kind)
        self._holders.update(by_kind.keys())

    def _add_decision(self, message: AssistantMessage, names: set[str]) -> None:
        self._counts["decisions"] += 1
        self._counts[f"{message.kind}_decisions"] += 1
        self._counts["several_calls"] += len(message.calls) > 1
        for call in message.calls:
            self._calls[call.name] += 1
            self._malformed[call.name] += call.arguments is None
            self._undeclared[call.name] += bool(names) and call.name not in names

    def summary(self) -> Summary:
        """The counts so far."""
        known = sorted({*self._calls, *self._declared}, key=lambda name: (-self._calls[name], name))
        tools = [
            ToolCount(
                name=name,
                calls=self._calls[name],
                malformed=self._malformed[name],
                declared=self._declared[name],
                undeclared_calls=self._undeclared[name],
            )
            for name in known
        ]
        plain: dict[str, Any] = {
            field: self._counts[field]
            for field in Summary.__struct_fields__
            if field not in ("lengths", "tools", "personal", "calls", "malformed_calls")
        }
        return Summary(
            **plain,
            calls=self._calls.total(),
            malformed_calls=self._malformed.total(),
            lengths={
                name: Spread(min=min(found), median=float(median(found)), max=max(found))
                for name, found in self._lengths.items()
                if found
            },
            tools=tools,
            personal={kind: {"values": self._values[kind], "conversations": self._holders[kind]} for kind in KINDS},
        )
