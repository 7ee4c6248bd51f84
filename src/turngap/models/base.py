"""The seam between turngap and whatever answers: a `Model` is asked for its next action.

A model sees the policy, the tools and the history. The `Seat` beside them says where in which recording the request
arises; only baselines may look at its `reference` and `task`, and nothing of it is ever sent to a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from turngap.data import AssistantMessage, Conversation, Message, Prediction, ToolSpec
from turngap.data.task import Task


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request arises."""

    conversation: str
    """Id of the recorded conversation, or of the task."""
    protocol: str
    """``gold`` (one prediction per decision serves text, turn and strict), ``replay`` or ``rollout``."""
    decision: int | None
    """Index of the recorded decision expected at this point; None past the recording."""
    attempt: int = 1
    """1-based attempt at that decision; 1 on gold history."""
    trial: int = 0
    """Repetition of the whole unit; part of the cache key for sampled calls."""
    reference: AssistantMessage | None = None
    """What the recording did at this point (in replay: what of it is still due). For baselines only."""
    task: Task | None = None
    """The task of a rollout. For baselines only."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model: what is your next action?"""

    policy: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    """The history; obeys the invariants of `turngap.data.conversation`."""
    seat: Seat


class Model(Protocol):
    """Something that acts. Implementations are safe to use from many tasks of one event loop."""

    label: str
    """How tables name it."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its answers, as plain values without secrets."""
        ...

    async def act(self, request: Request) -> Prediction:
        """Answer one request.

        Raises:
            EndpointError: no answer could be had after all retries.
            ContextOverflow: the request does not fit the model's context.
        """
        ...

    async def aclose(self) -> None:
        """Release connections, servers and memory."""
        ...


def workers(model: Model, asked_for: int) -> int:
    """How many requests to have under way: as asked for, but no more than a model in this process says it can use."""
    return min(asked_for, getattr(model, "concurrency", asked_for))


@runtime_checkable
class Examined(Protocol):
    """A model whose server can be looked at before a run."""

    async def preflight(self, request: Request) -> object:
        """Look at the server with one typical request; tell the person what will go wrong, and raise nothing."""
        ...


class CallCache(Protocol):
    """Answers of servers by the digest of everything that can change them."""

    def get(self, key: str) -> bytes | None:
        """The stored answer, or None."""
        ...

    def put(self, key: str, response: bytes) -> None:
        """Commit an answer before it is used."""
        ...


def _silent(_message: str) -> None:
    return


def _no_wait(_seconds: float, _reason: str) -> None:
    return


class ModelContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a factory may need beside its configuration. A factory is ``build(config, context) -> Model``."""

    corpus: Callable[[], Iterable[Conversation]] = lambda: ()
    """The conversations being evaluated (for `nearest`, which never looks at the one being scored)."""
    load: Callable[[Path], Iterable[Conversation]] | None = None
    """Reads conversations from a file of any known format."""
    cache: CallCache | None = None
    notify: Callable[[str], None] = _silent
    """Say something once to the person running this (standard error)."""
    waiting: Callable[[float, str], None] = _no_wait
    """Called when requests pause: seconds and reason, e.g. ``(7.0, "429 Too Many Requests")``."""
