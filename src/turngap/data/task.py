"""A task: a goal for a live user in a domain, and what the work is held against.

The JSON of a task file is tau2-bench's, with one further key ``turngap`` for what that form cannot say (scenario,
structured intent, required and forbidden actions), so that tau2 runs our tasks and we run tau2's. Reading is
`turngap.formats.tasks`'s; nothing here does I/O.

Slots name what a user can be asked for: the argument names of the domain's tools (``email``, ``zip``, ``order_id``).
How an agent asks for slots, and how a scripted user hears it, is `turngap.data.asking`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Literal

import msgspec

from turngap.data.message import Message, ToolCall

Side = Literal["assistant", "user"]
"""Whose tools: the agent's, or those that the user has in hand (a phone, say)."""


class Scenario(StrEnum):
    """What makes a task hard."""

    GENERAL = "general"
    """The user says what is needed."""
    AMBIGUOUS = "ambiguous"
    """The user withholds values until asked for them."""
    CHANGING = "changing"
    """The user changes course at a set point, or adds an issue."""
    INFEASIBLE = "infeasible"
    """What the user wants cannot be done, and the user persists."""


class Component(StrEnum):
    """What a reward can be made of."""

    DB = "DB"
    """The final database equals that of the reference actions."""
    COMMUNICATE = "COMMUNICATE"
    """Required facts were said to the user."""
    ACTION = "ACTION"
    """Every reference action was done."""
    ENV_ASSERTION = "ENV_ASSERTION"
    """Checks of the final state hold."""
    NL_ASSERTION = "NL_ASSERTION"
    """A judge finds that sentences about the conversation hold."""
    CONSTRAINT = "CONSTRAINT"
    """All required actions done, no forbidden one even attempted. tau2 does not know it."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the reference, or one that is required or forbidden."""

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""
    """Its name inside the task."""
    requestor: Side = "assistant"
    """Who makes the call."""
    compare_args: tuple[str, ...] | None = None
    """The only arguments that count; None: all do. Empty: any call of the tool is meant."""
    info: str = ""
    """Why it is there, for readers."""

    def call(self) -> ToolCall:
        """The action as a call."""
        return ToolCall(name=self.name, arguments=self.arguments)


class EnvAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """A check function of the domain, applied to the final state."""

    name: str
    arguments: dict[str, Any] = {}
    side: Side = "assistant"
    """Whose tool kit holds the function."""
    expected: bool = True
    """What it should return."""
    message: str = ""
    """What its failure means, for readers."""


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """What a finished trial is held against."""

    actions: tuple[Action, ...] = ()
    """The reference, in order. The final database that it leads to is the one wanted."""
    communicate: tuple[str, ...] = ()
    """Facts that the agent has to say."""
    nl_assertions: tuple[str, ...] = ()
    env_assertions: tuple[EnvAssertion, ...] = ()
    reward_basis: tuple[Component, ...] = (Component.DB, Component.COMMUNICATE)
    """The components whose product is the reward; the default is tau2's where a file names none."""
    required: tuple[Action, ...] = ()
    """For `CONSTRAINT`: actions that must have been done."""
    forbidden: tuple[Action, ...] = ()
    """For `CONSTRAINT`: actions that must not even be attempted."""
    reason: str = ""
    """Why an infeasible task is infeasible, for readers and judges."""


class Instructions(msgspec.Struct, frozen=True, kw_only=True):
    """The situation of the user in words, addressed to whoever plays the user."""

    reason: str = ""
    """Why the user makes contact. The whole text, where a task has no parts."""
    known: str = ""
    """What the user knows."""
    unknown: str = ""
    """What the user does not know."""
    further: str = ""
    """How to behave, and what to do when."""

    def text(self) -> str:
        """All parts, each under a heading; the bare reason where that is all."""
        parts = [
            (heading, text.strip())
            for heading, text in (
                ("Why you make contact", self.reason),
                ("What you know", self.known),
                ("What you do not know", self.unknown),
                ("How to go about it", self.further),
            )
            if text.strip()
        ]
        if len(parts) == 1 and parts[0][1] == self.reason.strip():
            return parts[0][1]
        return "\n\n".join(f"{heading}:\n{text}" for heading, text in parts)


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the user can tell when asked for it."""

    slot: str
    """What it answers: an argument name, such as ``zip``."""
    value: Any
    """The value as the tools take it."""
    says: str = ""
    """The sentence that tells it; empty to make one from slot and value."""
    told: bool = False
    """The opening, or the change it belongs to, says it in words of its own, so that nobody has to ask."""
    source: Literal["text", "reference"] = "text"
    """For derived facts: the task's text names the value, or only the reference does and the text leaves it open."""


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """Something to say when a question that names no slot touches it."""

    says: str
    about: str = ""
    """Words of the questions it answers; empty for its own."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A turn in what the user wants."""

    says: str
    """What the user says when it happens."""
    when: Literal["turn", "confirm", "done"] = "confirm"
    """The set point: the reply number `turn`, the first time the agent asks for a yes, or the agent being done."""
    turn: int = 1
    """For ``turn``: the 1-based reply, the opening not counted."""
    facts: tuple[Fact, ...] = ()
    """Facts from then on; they take the place of earlier ones of the same slots."""
    kind: Literal["drift", "addition"] = "drift"
    """``drift``: something else is wanted instead; ``addition``: something more."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants, in a form that needs no model to act it out."""

    opening: str
    """The first message, word for word."""
    facts: tuple[Fact, ...] = ()
    """What is told when asked for, and not before."""
    remarks: tuple[Remark, ...] = ()
    """What is said to questions without a slot, as far as they touch it."""
    unknown: tuple[str, ...] = ()
    """Slots that the user has no answer to, and says so."""
    changes: tuple[Change, ...] = ()
    """In the order in which they happen."""
    insist: tuple[str, ...] = ()
    """What the user says to refusals, one after the other, before accepting them."""
    accepts: bool = True
    """Whether a proposal that the facts do not contradict gets a yes."""
    closing: str = "Thank you, that is all."
    """The last words, without the signal."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A goal for a live user in a domain."""

    id: str
    domain: str = ""
    """The domain as the file names it, e.g. ``retail``; empty where it does not."""
    scenario: Scenario = Scenario.GENERAL
    persona: str = ""
    """What the user is like, whatever the situation."""
    instructions: Instructions = Instructions()
    purpose: str = ""
    """What the task tests, for readers."""
    initial_state: dict[str, Any] | None = None
    """tau2's form: ``initialization_data`` {agent_data, user_data}, ``initialization_actions``, ``message_history``."""
    given: tuple[Message, ...] = ()
    """The ``message_history`` of the initial state as messages; calls that the user made are left out."""
    criteria: Criteria = Criteria()
    intent: Intent | None = None
    """Structured intent; None where the file has none (`turngap.users.intent` then derives one)."""
    made: dict[str, Any] = {}
    """How the task was made, where it was synthesised."""
    raw: dict[str, Any] = {}
    """The task as the file has it, so that it can be written back unchanged."""


class TaskFile(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of one file, in file order."""

    tasks: tuple[Task, ...]
    digest: str
    """SHA-256 (hex) of the list of tasks as plain values: the same whatever the layout or key order of the file."""
    file: str = ""
    """Its path as given."""
    splits: dict[str, tuple[str, ...]] = {}
    """Name -> task ids, from a ``split_tasks.json`` beside it."""

    @property
    def name(self) -> str:
        """How scores name the file: the first twelve digits of its digest."""
        return self.digest[:12]


def is_write(name: str) -> bool:
    """Whether a tool's name says that it changes something; for where the domain is not at hand."""
    return not re.match(r"(get|find|list|search|calculate|check|transfer|think|lookup|look)\w*", name)


def hands_over(name: str) -> bool:
    """Whether a tool's name says that it hands the user over to a person."""
    return re.search(r"transfer\w*_(to_)?human|hand_?over|escalate", name, re.IGNORECASE) is not None
