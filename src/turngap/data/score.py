"""Verdicts, scores and figures: what measuring yields."""

from __future__ import annotations

import msgspec

from turngap.data.prediction import Cause, Usage


class Verdict(msgspec.Struct, frozen=True, kw_only=True, tag="verdict"):
    """A judge's answer."""

    success: bool
    category: str = "none"
    """``none``, or the primary failure in a few words."""
    rationale: str = ""
    raw: str = ""
    """The judge's reply, verbatim; empty for the `rules` judge."""
    asks: int = 1
    """How often the judge was asked until this verdict could be read."""
    usage: Usage = Usage()
    """Of all times it was asked; zero for `rules`."""
    flags: tuple[str, ...] = ()
    """Texts among what was judged that speak to a judge or imitate a verdict: for the reader, without effect."""


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and money that the answers of a run stand for, whether they were asked for or came from a cache."""

    gold: Usage = Usage()
    """Predictions on gold history."""
    replay: Usage = Usage()
    """Closed loops."""
    judges: dict[str, Usage] = {}
    """Label of an LLM judge -> all its verdicts."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of one unit under one protocol."""

    protocol: str
    """text, turn, strict, replay, workflow, horizon or rollout."""
    conversation: str
    """Id of the conversation; of the task, for `rollout`."""
    decision: int | None
    """Index of the decision; None when the unit is a whole conversation. For `rollout`, the trial."""
    kind: str
    """``text``, ``tool`` (decisions); ``tools``, ``chat`` (conversations with and without tool decisions); a
    task's scenario."""
    success: bool
    """What the protocol calls a success: see docs/figures.md."""
    cause: Cause | None
    """None exactly when `success`; otherwise the one cause in the blame ledger."""
    values: dict[str, float] = {}
    """Figure name -> value, e.g. ``{"rouge1": 0.4}``; empty when the unit is errored, other than by a live user."""
    category: str = ""
    """Failure category of the protocol."""
    detail: str = ""
    """One line for readers."""

    @property
    def errored(self) -> bool:
        """Whether the unit could not be measured."""
        return self.cause is not None and self.cause.errored


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number as it is reported. Fractions in [0, 1]; `value` and `ci95` are None exactly when n is 0."""

    value: float | None
    n: int
    ci95: tuple[float, float] | None = None
    """95% interval: Wilson for shares, by whole conversations or tasks for means; see docs/figures.md."""
