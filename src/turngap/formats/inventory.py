"""What is in a data set, counted while it streams by.

All that is kept is a few numbers per conversation, and one per different value that looks personal.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from statistics import median
from typing import Any

import msgspec

from turngap.data import AssistantMessage, Conversation, UserMessage, requires_tools
from turngap.formats.personal import KINDS, find_in, identity

_SENTENCE = 8
"""Words from which on the value of an argument is free text."""


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
    free_text: list[str]
    """Arguments that are sentences in most calls, sorted; two models hardly ever word them alike."""
    other_arguments: list[str]
    """Those that were given or are declared beside them, sorted: what is left to compare."""


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
    """Kind -> ``values`` (different ones, as ``convert --redact`` counts them) and ``conversations`` that hold any."""


class Inventory:
    """Counts conversations one by one."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._malformed: Counter[str] = Counter()
        self._declared: Counter[str] = Counter()
        self._undeclared: Counter[str] = Counter()
        self._arguments: dict[str, Counter[str]] = {}
        self._sentences: dict[str, Counter[str]] = {}
        self._values: dict[str, set[int]] = {kind: set() for kind in KINDS}
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
        for spec in conversation.tools:
            properties = spec.parameters.get("properties")
            self._arguments.setdefault(spec.name, Counter()).update(
                dict.fromkeys(properties if isinstance(properties, dict) else (), 0)
            )
        before = counts["decisions"]
        for message in conversation.messages:
            if isinstance(message, AssistantMessage):
                self._add_decision(message, names, conversation)
            elif isinstance(message, UserMessage):
                counts["user_turns"] += 1
            elif getattr(message, "absent", False):
                counts["absent_results"] += 1
        self._lengths["decisions"].append(counts["decisions"] - before)
        self._lengths["messages"].append(len(conversation.messages))
        self._lengths["characters"].append(sum(len(message.content) for message in conversation.messages))
        values = {identity(found) for found in find_in(conversation)}
        for kind, plain in values:
            self._values[kind].add(_short(plain))
        self._holders.update({kind for kind, _ in values})

    def _add_decision(self, message: AssistantMessage, names: set[str], conversation: Conversation) -> None:
        self._counts["decisions"] += 1
        self._counts[f"{message.kind}_decisions"] += 1
        self._counts["several_calls"] += len(message.calls) > 1
        for call in message.calls:
            self._calls[call.name] += 1
            self._malformed[call.name] += call.arguments is None
            self._undeclared[call.name] += bool(names) and call.name not in names
            given = self._arguments.setdefault(call.name, Counter())
            counting = conversation.compare_args.get(call.name)
            for name, value in (call.arguments or {}).items():
                given[name] += 1
                counts_here = counting is None or name in counting
                if counts_here and isinstance(value, str) and len(value.split()) >= _SENTENCE:
                    self._sentences.setdefault(call.name, Counter())[name] += 1

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
                **self._kinds_of_arguments(name),
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
            personal={
                kind: {"values": len(self._values[kind]), "conversations": self._holders[kind]} for kind in KINDS
            },
        )

    def _kinds_of_arguments(self, tool: str) -> dict[str, list[str]]:
        given, sentences = self._arguments.get(tool, Counter()), self._sentences.get(tool, Counter())
        free = sorted(name for name, count in sentences.items() if 2 * count > given[name])
        return {"free_text": free, "other_arguments": sorted(name for name in given if name not in free)}


def _short(text: str) -> int:
    """A number for a text; two texts share one with a chance of about 1 in 10^19."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
