"""What happened when a model acted on its own history.

A trajectory is a flat list of events in order; `messages` turns it back into the history that the model saw. Judgements
of calls (accepted, rejected, which attempt) stand beside the calls they judge, so that every view and every judge reads
the one stored trajectory.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from turngap.data.message import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from turngap.data.prediction import Finish, Usage


class Category(StrEnum):
    """Why a closed loop failed: a closed set, and every exit sets one."""

    WRONG_TOOL = "wrong_tool"
    """A tool that was not due, or that does not exist."""
    WRONG_ARGUMENTS = "wrong_arguments"
    """The due tool with other arguments, or arguments that its schema refuses."""
    PREMATURE_CALL = "premature_call"
    """A call that becomes due only after a further user message or decision."""
    MALFORMED_CALL = "malformed_call"
    """Arguments that are no JSON object."""
    MISSING_CALL = "missing_call"
    """A due call was never made."""
    TRUNCATED_OUTPUT = "truncated_output"
    """The token limit cut the output that should have brought the due call."""
    STEP_LIMIT = "step_limit"
    """The model went on and on."""
    CONTEXT_OVERFLOW = "context_overflow"
    """The model's own talk filled the context."""
    ERROR_LIMIT = "error_limit"
    """Live only: too many of the model's calls ended in errors."""
    EMPTY_ANSWER = "empty_answer"
    """Live only: neither text nor a call."""


class Termination(StrEnum):
    """How a live episode ended: a closed set, and every episode has one."""

    USER_STOP = "user_stop"
    """The user had what they came for, or gave up."""
    TRANSFER = "transfer"
    """The user was handed over to a person."""
    OUT_OF_SCOPE = "out_of_scope"
    """The conversation went where the user's instructions say nothing."""
    STEP_LIMIT = "step_limit"
    """The agent used up its messages."""
    ERROR_LIMIT = "error_limit"
    """Too many of the agent's calls ended in errors."""
    EMPTY_ANSWER = "empty_answer"
    """The agent gave neither text nor a call."""
    CONTEXT_OVERFLOW = "context_overflow"
    """The conversation no longer fits the agent's context."""
    USER_ERROR = "user_error"
    """The simulated user failed; says nothing about the agent."""


class CallVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the replay said about one call."""

    accepted: bool
    category: Category | None = None
    """Why it was rejected; None when accepted."""
    decision: int | None = None
    """Index of the recorded decision it ticked off, or was held against; None where nothing was due."""
    attempt: int | None = None
    """1-based attempt that a rejected call spent; None when accepted."""
    detail: str = ""
    """What was wrong, for readers: reference against prediction. Never shown to the model."""


class Spoken(msgspec.Struct, frozen=True, kw_only=True, tag="spoken", omit_defaults=True):
    """A message of the user, recorded or live, or a recorded instruction between turns."""

    message: UserMessage | SystemMessage
    calls: tuple[ToolCall, ...] = ()
    """What a live user did with tools of their own before these words; the agent never sees it."""
    results: tuple[ToolMessage, ...] = ()
    """Of `calls`: one each, in order."""


class Acted(msgspec.Struct, frozen=True, kw_only=True, tag="acted"):
    """One step of the model, with the results and verdicts of its calls (one each per call, in order)."""

    message: AssistantMessage
    results: tuple[ToolMessage, ...] = ()
    verdicts: tuple[CallVerdict, ...] = ()
    decision: int | None = None
    """Index of the recorded decision that was expected at this point; None past the recording."""
    finish: Finish = Finish.STOP
    notes: tuple[str, ...] = ()
    raw: str = ""
    """The provider's message as JSON text, verbatim."""
    asked: str | msgspec.UnsetType = msgspec.UNSET
    """Digest of what the model was asked with beside the history: policy, tools and its own settings."""


class Repaired(msgspec.Struct, frozen=True, kw_only=True, tag="repaired"):
    """The recorded decision, put in after a failure so that the replay could go on."""

    decision: int
    message: AssistantMessage
    results: tuple[ToolMessage, ...] = ()


Event = Spoken | Acted | Repaired


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One unresolved error of a trajectory."""

    category: Category
    decision: int | None
    """Index of the recorded decision where it happened; None where nothing was due."""
    event: int
    """Index of the event at which it became unresolved."""
    detail: str = ""


class Trajectory(msgspec.Struct, frozen=True, kw_only=True, tag="trajectory"):
    """A finished closed loop."""

    conversation: str
    """Id of the recorded conversation (or task)."""
    events: tuple[Event, ...] = ()
    completed: bool = False
    """All user messages consumed, nothing due, no unresolved error."""
    problems: tuple[Problem, ...] = ()
    """Unresolved errors in order; the first one is what failed the workflow. Empty exactly when completed."""
    steps: int = 0
    """Messages of the model."""
    step_limit: int = 0
    rejected: int = 0
    """Calls that were rejected (attempts spent)."""
    recovered: int = 0
    """Due decisions, or segments without one, in which calls were rejected and that were resolved nevertheless."""
    first_error: int | None = None
    """Index of the recorded decision at which the first call was rejected or went missing; None without any error."""
    usage: Usage = Usage()
    seconds: float = 0.0
    metadata: dict[str, Any] = {}

    def messages(self) -> tuple[Message, ...]:
        """The history as the model saw it."""
        found: list[Message] = []
        for event in self.events:
            found.append(event.message)
            if not isinstance(event, Spoken):
                found.extend(event.results)
        return tuple(found)
