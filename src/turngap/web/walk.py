"""The walk: the same decisions twice, with the history repaired before each, and with the model's own history.

With repair, every decision is asked from the recording: whatever the model got wrong before has been put right.
Without it, the model lives with what it did. Both are stored: predictions on recorded history with their scores, and
the replay. This module sets them side by side for one conversation and says where the model first leaves the recording
and what becomes of the calls behind that place.

A call is right on recorded history when `strict` says so, on own history when it was made at the first try
(`turngap.analysis.walk`): the same question, so that the only difference is the history. Words are right or wrong where
a judge of turns said so; a replay does not judge them.

Non-goals: figures over many conversations (`turngap.analysis.propagation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from turngap.data import Score
from turngap.web.aligned import Alignment, Row, State
from turngap.web.verdict import Scores


class Outcome(StrEnum):
    """What came of asking for one decision: a closed set."""

    RIGHT = "right"
    WRONG = "wrong"
    """Something else than recorded; on own history, for as long as it was tried."""
    RECOVERED = "recovered"
    """Wrong at first, then put right by the model. On own history only."""
    MISSING = "missing"
    """Never made. On own history only."""
    SAID = "said"
    """Words that nobody judged."""
    PASSED = "passed"
    """The turn was over before. On own history only."""
    UNREACHED = "unreached"
    """Never asked: the replay had ended. On own history only."""
    ERRORED = "errored"
    """Not measured, or not yet."""

    @property
    def bad(self) -> bool:
        """Whether something went wrong at it."""
        return self in (Outcome.WRONG, Outcome.RECOVERED, Outcome.MISSING)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded decision, asked for twice."""

    decision: int
    kind: str
    """``tool`` or ``text``."""
    repaired: Outcome
    """From recorded history."""
    own: Outcome
    """From own history."""
    errors_before: int
    """Decisions before it at which something went wrong on own history: what the model reads when it is asked."""
    first: bool = False
    """Whether own history first leaves the recording here."""
    lost: bool = False
    """A call that is right on recorded history, behind the first divergence, and not right on own history."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of a part of the conversation."""

    calls: int
    """Tool decisions that can be asked for."""
    repaired: int
    """Right from recorded history."""
    own: int
    """Right from own history, at the first try."""
    recovered: int
    """Put right by the model, from own history."""
    failed: int
    """Never made right, from own history."""
    unreached: int
    """Never asked for from own history."""


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """Both walks through one conversation."""

    steps: tuple[Step, ...]
    first: int | None
    """Decision at which own history first leaves the recording."""
    whole: Stretch
    behind: Stretch
    """Behind the first divergence."""
    has_repaired: bool
    """Whether there are predictions on recorded history."""
    has_own: bool
    """Whether there is a replay."""
    told: str
    """What happened, in a sentence or two."""


def both(aligned: Alignment, scores: Scores) -> Walked:
    """Set both walks side by side.

    Args:
        aligned: the replay beside its recording.
        scores: of the conversation; those of `strict` and of the first judge of turns count.
    """
    strict = scores.get("strict", {})
    judged = next((of for scorer, of in sorted(scores.items()) if scorer.startswith("turn:")), {})
    steps: list[Step] = []
    errors = 0
    for row in aligned.rows():
        if row.decision is None or row.state is State.UNASKED:
            continue
        index = row.decision.index
        own = _own(row, replayed=aligned.walk is not None)
        repaired = _repaired(row.decision.kind, strict.get(index), judged.get(index))
        behind = aligned.first is not None and index > aligned.first
        steps.append(
            Step(
                decision=index,
                kind=row.decision.kind,
                repaired=repaired,
                own=own,
                errors_before=errors,
                first=index == aligned.first,
                lost=behind and row.decision.kind == "tool" and repaired is Outcome.RIGHT and own is not Outcome.RIGHT,
            )
        )
        errors += own.bad
    walked = Walked(
        steps=tuple(steps),
        first=aligned.first,
        whole=_stretch(steps),
        behind=_stretch([step for step in steps if aligned.first is not None and step.decision > aligned.first]),
        has_repaired=bool(strict or judged),
        has_own=aligned.walk is not None,
        told="",
    )
    return msgspec.structs.replace(walked, told=_told(walked))


def _own(row: Row, *, replayed: bool) -> Outcome:
    if not replayed:
        return Outcome.ERRORED
    if row.state is State.RIGHT and row.decision is not None and row.decision.kind == "text":
        return Outcome.SAID
    return Outcome(row.state.value)


def _repaired(kind: str, strict: Score | None, turn: Score | None) -> Outcome:
    if strict is not None and not strict.errored:
        if kind == "tool":
            return Outcome.RIGHT if strict.success else Outcome.WRONG
        if not strict.success:
            return Outcome.WRONG  # a call where words are recorded
    if kind == "tool" or (strict is None and turn is None):
        return Outcome.ERRORED
    if turn is None or turn.errored:
        return Outcome.SAID if strict is not None and not strict.errored else Outcome.ERRORED
    return Outcome.RIGHT if turn.success else Outcome.WRONG


def _stretch(steps: Sequence[Step]) -> Stretch:
    calls = [step for step in steps if step.kind == "tool"]
    return Stretch(
        calls=len(calls),
        repaired=sum(step.repaired is Outcome.RIGHT for step in calls),
        own=sum(step.own is Outcome.RIGHT for step in calls),
        recovered=sum(step.own is Outcome.RECOVERED for step in calls),
        failed=sum(step.own in (Outcome.WRONG, Outcome.MISSING) for step in calls),
        unreached=sum(step.own is Outcome.UNREACHED for step in calls),
    )


def _told(found: Walked) -> str:
    whole, behind = found.whole, found.behind
    if not found.has_own:
        return "This run holds no replay of the conversation, so there is no own history to walk."
    if not whole.calls:
        return "The recording calls no tool here; what is said is not judged by a replay."
    parts = []
    if found.has_repaired:
        parts.append(
            f"With its history repaired before every question the model gets {_of(whole.repaired, whole.calls)} right; "
            f"on its own history {whole.own}."
        )
    else:
        parts.append(f"On its own history the model gets {_of(whole.own, whole.calls)} right.")
    if found.first is None:
        parts.append("It never leaves the recording.")
        return " ".join(parts)
    parts.append(f"It first leaves the recording at decision {found.first}.")
    if behind.calls:
        parts.append(_behind(found))
    return " ".join(parts)


def _behind(found: Walked) -> str:
    behind = found.behind
    counts = (
        (behind.own, "right at the first try"),
        (behind.recovered, "only after another error"),
        (behind.failed, "never made right"),
        (behind.unreached, "never asked for, because the replay had ended"),
    )
    own = ", ".join(f"{count} {what}" for count, what in counts if count)
    noun = "call" if behind.calls == 1 else "calls"
    if not found.has_repaired:
        return f"Of the {behind.calls} {noun} behind that place: {own}."
    verb = "is" if behind.repaired == 1 else "are"
    return (
        f"Of the {behind.calls} {noun} behind that place, {behind.repaired} {verb} right when history is repaired; "
        f"on own history: {own}."
    )


def _of(count: int, total: int) -> str:
    return f"{count} of {total} {'call' if total == 1 else 'calls'}"
