"""What a model produced for one decision, and what stands in its place when nothing could be had."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from turngap.data.message import AssistantMessage


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    """It was done (with text or with calls)."""
    LENGTH = "length"
    """The token limit cut it off."""
    FILTER = "filter"
    """The provider withheld the answer."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and money of one or more calls."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the provider read from its cache."""
    cost: float | None = None
    """In the currency of the configured prices; None where no price is known."""

    def __add__(self, other: Usage) -> Usage:
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=sum(known) if known else None,
        )


class Prediction(msgspec.Struct, frozen=True, kw_only=True, tag="prediction"):
    """A model's answer to one request."""

    message: AssistantMessage
    """The answer as parsed: text, calls, reasoning. An empty answer has neither text nor calls."""
    raw: str = ""
    """The provider's message as JSON text, verbatim, for re-parsing and audit; empty for baselines."""
    finish: Finish = Finish.STOP
    dialect: str = "native"
    """How calls were found: ``native`` (the server's `tool_calls`) or the name of a text dialect."""
    notes: tuple[str, ...] = ()
    """Tolerances that were needed, e.g. ``from_reasoning``, ``several_calls_in_one_envelope``, ``unparsed_call``."""
    usage: Usage = Usage()
    seconds: float = 0.0
    """Wall time of the request, without waiting for a free slot."""
    cached: bool = False
    """Whether it was read from the call cache."""

    @property
    def empty(self) -> bool:
        """Whether there is neither text nor a call."""
        return not self.message.calls and not self.message.content.strip()


class Cause(StrEnum):
    """The blame ledger: why a unit is not a success. Exactly one per unit."""

    MALFORMED = "malformed"
    """The model's output could not be read as a call."""
    WRONG = "wrong"
    """The model's output was well-formed and not good."""
    CUT = "cut"
    """The token limit cut the model's output."""
    JUDGE = "judge"
    """The judge gave no usable verdict."""
    HARNESS = "harness"
    """turngap failed."""
    ENDPOINT = "endpoint"
    """The model's server failed."""
    DATA = "data"
    """The recording makes the unit unmeasurable."""
    DOMAIN = "domain"
    """The code of a live domain failed. Rollouts only."""
    USER = "user"
    """The simulated user failed. Rollouts only."""

    @property
    def errored(self) -> bool:
        """Whether the unit could not be measured and is left out of the denominators."""
        return self not in (Cause.MALFORMED, Cause.WRONG, Cause.CUT)


RECORDED_CAUSES = tuple(cause for cause in Cause if cause not in (Cause.DOMAIN, Cause.USER))
"""The causes that there can be where conversations are recorded."""


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """A unit that could not be measured: stored, shown, retried on resume, never a model failure."""

    cause: Cause
    reason: str
    """One line: what was asked, what happened. Holds no secret."""
    kind: str = ""
    """The class of the error, e.g. ``EndpointError``; or a named reason such as ``context_truncated_by_server``."""
    attempts: int = 1
    """Requests that were made for it."""
