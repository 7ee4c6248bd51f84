"""A recording and a replay of it, side by side: which own messages belong to which recorded decision.

Both sides keep their order, so that each can be read from top to bottom as the dialogue that it was. They are cut at
the same places, the turns of the user, who says the same on both sides; within a turn own messages stand beside the
decision that was expected of the model when it sent them. A call that the model makes only after the user has spoken
again stands where it was made, in a row of its own that names the decision it is late for.

What became of a decision is what `turngap.analysis.walk` says of it, so a page and a table never disagree. The words of
a text decision are not judged by a replay: such a decision is right as soon as the model speaks where the recording
speaks.

Non-goals: reading a run, and anything about how it looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from turngap.analysis.walk import Step, Walk, walk
from turngap.data import (
    Acted,
    CallVerdict,
    Conversation,
    Decision,
    Message,
    Problem,
    Repaired,
    Spoken,
    SystemMessage,
    Trajectory,
    UserMessage,
    segments,
)

Own = tuple[int, Acted | Repaired]
"""An own message (or one that was put in) with the index of its event."""


class State(StrEnum):
    """What became of a recorded decision in a replay: a closed set."""

    RIGHT = "right"
    """All its calls at the first try, or words where the recording has words."""
    RECOVERED = "recovered"
    """Something went wrong first, and the model put it right by itself."""
    WRONG = "wrong"
    """Its attempts were spent on other calls."""
    MISSING = "missing"
    """Its calls were never made."""
    PASSED = "passed"
    """A text decision whose turn the model had ended before, with words in the place of a call."""
    UNREACHED = "unreached"
    """The replay ended before it."""
    UNASKED = "unasked"
    """Its recorded calls cannot be read, so nothing was asked of the model."""

    @property
    def failed(self) -> bool:
        """Whether it was an unresolved error."""
        return self in (State.WRONG, State.MISSING)

    @property
    def slipped(self) -> bool:
        """Whether anything went wrong at it, put right or not."""
        return self.failed or self is State.RECOVERED


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision with what the model did at it; or own messages for which the recording has nothing here."""

    decision: Decision | None
    """None past the recording."""
    state: State
    own: tuple[Own, ...] = ()
    late: bool = False
    """Whether this row stands in a later turn than its decision, for calls that were carried over."""
    elsewhere: int | None = None
    """Event in which the calls were made after all, where it stands in another row."""
    repaired: bool = False
    """Whether the recorded message was put in, so that the replay could go on."""
    problems: tuple[Problem, ...] = ()
    """Unresolved errors at this decision."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What was said to the agent, and what came of it on both sides."""

    number: int
    """1-based."""
    spoken: tuple[UserMessage | SystemMessage, ...]
    rows: tuple[Row, ...]
    reached: bool
    """Whether the replay came to it."""


class Alignment(msgspec.Struct, frozen=True, kw_only=True):
    """A whole conversation, aligned."""

    given: tuple[Message, ...]
    """What was said and done before the first turn: history on both sides."""
    turns: tuple[Turn, ...]
    walk: Walk | None
    """The replay as steps; None where there is no replay."""
    first: int | None
    """Index of the recorded decision at which the replay first left the recording; None where it never did."""

    def rows(self) -> Iterator[Row]:
        """One row for each recorded decision, in order: without those of late calls and past the recording."""
        return (row for turn in self.turns for row in turn.rows if row.decision is not None and not row.late)


def align(conversation: Conversation, trajectory: Trajectory | None) -> Alignment:
    """Lay a replay beside its recording.

    Args:
        conversation: the recording.
        trajectory: the replay; None for the recording alone, of which every decision is then unreached.
    """
    turns = segments(conversation)
    steps = walk(conversation, trajectory) if trajectory else None
    facts = _Facts(trajectory, steps.steps if steps else ())
    parts = _parts(trajectory, [len(turn.spoken) for turn in turns])
    found = tuple(
        Turn(
            number=number,
            spoken=turn.spoken,
            rows=tuple(_rows(turn.decisions, part, facts)),
            reached=part is not None,
        )
        for number, (turn, part) in enumerate(zip(turns, parts, strict=True), 1)
    )
    aligned = Alignment(
        given=conversation.messages[: turns[0].begin] if turns else conversation.messages,
        turns=_with_rest(found, facts),
        walk=steps,
        first=None,
    )
    slips = (row.decision.index for row in aligned.rows() if row.decision is not None and row.state.slipped)
    return msgspec.structs.replace(aligned, first=next(slips, None))


def sound(trajectory: Trajectory) -> Trajectory:
    """The same with one verdict for each call: what another program stored may lack some, and is shown all the same."""
    events = tuple(
        msgspec.structs.replace(event, verdicts=_as_many(event))
        if isinstance(event, Acted) and len(event.verdicts) != len(event.message.calls)
        else event
        for event in trajectory.events
    )
    return msgspec.structs.replace(trajectory, events=events)


def _as_many(event: Acted) -> tuple[CallVerdict, ...]:
    lacking = len(event.message.calls) - len(event.verdicts)
    unknown = CallVerdict(accepted=False, detail="no verdict is stored")
    return (*event.verdicts, *[unknown] * lacking)[: len(event.message.calls)]


class _Facts:
    """What a replay says about each decision, wherever it says so."""

    def __init__(self, trajectory: Trajectory | None, steps: Sequence[Step]) -> None:
        self.steps = {step.decision: step for step in steps}
        self.rejected: set[int] = set()
        self.repaired: set[int] = set()
        self.made: dict[int, int] = {}
        """Decision -> the last event in which a call of it was accepted, or put in."""
        self.problems: dict[int | None, list[Problem]] = {}
        self.decisions: dict[int, Decision] = {}
        """Those of the turns that have been laid out."""
        for at, event in enumerate(trajectory.events if trajectory else ()):
            if isinstance(event, Repaired):
                self.repaired.add(event.decision)
                self.made[event.decision] = at
            elif isinstance(event, Acted):
                for verdict in event.verdicts:
                    if verdict.decision is None:
                        continue
                    if verdict.accepted:
                        self.made[verdict.decision] = at
                    elif verdict.attempt is not None:
                        self.rejected.add(verdict.decision)
        for problem in trajectory.problems if trajectory else ():
            self.problems.setdefault(problem.decision, []).append(problem)

    def state(self, decision: Decision, own: Sequence[Own], part: Sequence[Own] | None) -> State:
        """What became of a decision, given the own messages beside it and all those of its turn."""
        index = decision.index
        if decision.kind == "tool":
            if all(call.arguments is None for call in decision.reference.calls):
                return State.UNASKED
            step = self.steps.get(index)
            if step is None:
                return State.UNREACHED
            if step.resolved:
                return State.RIGHT if step.right else State.RECOVERED
        elif index not in self.problems and index not in self.repaired:
            if _spoke(own):
                return State.RECOVERED if index in self.rejected else State.RIGHT
            return State.PASSED if _spoke(part or ()) else State.UNREACHED
        return State.WRONG if index in self.rejected else State.MISSING


def _spoke(messages: Sequence[Own]) -> bool:
    return any(isinstance(event, Acted) and not event.message.calls for _, event in messages)


def _parts(trajectory: Trajectory | None, counts: Sequence[int]) -> list[list[Own] | None]:
    """Own messages by turn, given how often somebody speaks at the beginning of each; None for turns never begun."""
    if trajectory is None:
        return [None for _ in counts]
    parts: list[list[Own] | None] = []
    at, events = 0, trajectory.events
    for count in counts:
        if count and at >= len(events):
            parts.append(None)
            continue
        for _ in range(count):
            at += at < len(events) and isinstance(events[at], Spoken)
        part: list[Own] = []
        while at < len(events) and not isinstance(event := events[at], Spoken):
            part.append((at, event))
            at += 1
        parts.append(part)
    return parts


def _rows(made: Sequence[Decision], part: Sequence[Own] | None, facts: _Facts) -> Iterator[Row]:
    """First what is late, then the turn's own decisions, then what stands beyond the recording."""
    groups: dict[int | None, list[Own]] = {}
    for message in part or ():
        groups.setdefault(message[1].decision, []).append(message)
    here = {decision.index for decision in made}
    for index, group in groups.items():
        if index is not None and index not in here and index in facts.decisions:
            late = facts.decisions[index]
            yield Row(decision=late, state=facts.state(late, group, part), own=tuple(group), late=True)
    for decision in made:
        facts.decisions[decision.index] = decision
        own = groups.get(decision.index, [])
        made_in = facts.made.get(decision.index)
        yield Row(
            decision=decision,
            state=facts.state(decision, own, part),
            own=tuple(own),
            elsewhere=None if made_in is None or made_in in dict(own) else made_in,
            repaired=decision.index in facts.repaired,
            problems=tuple(facts.problems.get(decision.index, ())),
        )
    beyond = [one for index, group in groups.items() if index not in facts.decisions for one in group]
    if beyond:
        yield Row(decision=None, state=State.UNASKED, own=tuple(sorted(beyond, key=lambda one: one[0])))


def _with_rest(turns: tuple[Turn, ...], facts: _Facts) -> tuple[Turn, ...]:
    """Put errors that belong to no decision behind the last turn that was begun."""
    rest = tuple(
        problem for index, group in facts.problems.items() if index not in facts.decisions for problem in group
    )
    if not rest or not turns:
        return turns
    last = max((at for at, turn in enumerate(turns) if turn.reached), default=0)
    row = Row(decision=None, state=State.WRONG, problems=rest)
    turn = msgspec.structs.replace(turns[last], rows=(*turns[last].rows, row))
    return (*turns[:last], turn, *turns[last + 1 :])
