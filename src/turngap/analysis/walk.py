"""A replay seen as a sequence of tool decisions: which were right at the first try, and what had gone wrong before.

A tool decision of the recording is a *step* once the model has faced it. It is **right** when the model made all its
calls without a *slip* at it. A slip is a rejected call while it was due, a text in its place, or that it was never
made: what `strict` calls wrong on gold history, so that the two can be set side by side. It is **resolved** when the
model made the calls in the end, slip or not; otherwise the recorded calls were put in, or the replay ended.

An **earlier error** of a step is any slip at a step before it, and any call that was rejected while nothing was due;
whether it was resolved does not matter, since it stands in the history that the model reads. An earlier *unresolved*
error is one that the recording had to repair. What the model says to the user is not judged here: a wrong text is no
error.

Steps are numbered from 1 (*depth*), by recorded tool decisions. Talk belongs to the step before it, so a call that was
rejected while nothing was due is an error at the step before it (at the first one, when it came earlier).
"""

from __future__ import annotations

import msgspec

from turngap.data import Acted, Category, Conversation, Finish, Repaired, Spoken, Trajectory, decisions

NOT_DUE = ""
"""Stands for the tool of an error that happened while no call was due."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded tool decision that the model faced in a replay."""

    conversation: str
    decision: int
    """Index of the recorded decision."""
    depth: int
    """1-based among the tool decisions of the conversation."""
    right: bool
    """Made at the first try."""
    resolved: bool
    """Made by the model in the end."""
    after_error: bool
    """Whether any error came before."""
    after_unresolved: bool
    """Whether an error came before that the recording had to repair."""


class FirstError(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replay first left the recording."""

    depth: int
    tool: str
    """The recorded tool that was due (the first open call); `NOT_DUE` where none was."""
    category: Category


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """What one replay says about errors and what follows them."""

    conversation: str
    due: int
    """Tool decisions of the recording that can be made at all."""
    steps: tuple[Step, ...]
    """Those that the model faced, in order."""
    first: FirstError | None
    """None for a replay without any error."""


class _Place:
    """A tool decision on the way."""

    def __init__(self, depth: int, calls: tuple[str, ...]) -> None:
        self.depth = depth
        self.open = list(calls)
        self.tool = calls[0]
        self.before: tuple[bool, bool] | None = None
        self.slipped = False
        self.repaired = False


class _Walker:
    """Goes through the events of one trajectory."""

    def __init__(self, conversation: Conversation) -> None:
        self.places: dict[int, _Place] = {}
        for decision in decisions(conversation):
            calls = tuple(call.name for call in decision.reference.calls if call.arguments is not None)
            if calls:
                self.places[decision.index] = _Place(len(self.places) + 1, calls)
        self.first: FirstError | None = None
        self.errors = self.unresolved = False
        self._depth = 1

    def face(self, decision: int | None) -> _Place | None:
        """The place of a due decision, which notes what had happened before it was first faced."""
        place = None if decision is None else self.places.get(decision)
        if place is not None and place.before is None:
            place.before = (self.errors, self.unresolved)
            self._depth = max(self._depth, place.depth)
        return place

    def slip(self, place: _Place | None, category: Category) -> None:
        """Note an error at a place, or while nothing was due."""
        if place is not None:
            place.slipped = True
        self.errors = True
        if self.first is None:
            depth, tool = (self._depth, NOT_DUE) if place is None else (place.depth, place.tool)
            self.first = FirstError(depth=depth, tool=tool, category=category)

    def act(self, event: Acted) -> None:
        """One message of the model."""
        faced = self.face(event.decision)
        if not event.message.calls and faced is not None:
            self.slip(faced, Category.TRUNCATED_OUTPUT if event.finish is Finish.LENGTH else Category.MISSING_CALL)
        for call, verdict in zip(event.message.calls, event.verdicts, strict=True):
            place = self.face(verdict.decision)
            if verdict.accepted and place is not None:
                if call.name in place.open:
                    place.open.remove(call.name)
            elif verdict.attempt is not None and verdict.category is not None:
                # Without an attempt, the call came behind one that spent the last: it was not looked at.
                self.slip(place, verdict.category)

    def repair(self, event: Repaired, category: Category) -> None:
        """The recording put a decision in."""
        place = self.face(event.decision)
        self.unresolved = True
        if place is not None:
            place.repaired = True
            if not place.slipped:
                self.slip(place, category)

    def step(self, conversation: str, decision: int) -> Step | None:
        """What became of a place; None where the model never faced it."""
        place = self.places[decision]
        if place.before is None:
            return None
        resolved = not place.open and not place.repaired
        return Step(
            conversation=conversation,
            decision=decision,
            depth=place.depth,
            right=resolved and not place.slipped,
            resolved=resolved,
            after_error=place.before[0],
            after_unresolved=place.before[1],
        )


def walk(conversation: Conversation, trajectory: Trajectory) -> Walk:
    """Read steps and errors off a replay, whatever it did after a failure."""
    walker = _Walker(conversation)
    blamed = {problem.decision: problem.category for problem in trajectory.problems}
    for event in trajectory.events:
        if isinstance(event, Acted):
            walker.act(event)
        elif not isinstance(event, Spoken):
            walker.repair(event, blamed.get(event.decision, Category.MISSING_CALL))
    for problem in trajectory.problems:
        # What ended the replay without a message of its own: calls never made, limits.
        place = walker.face(problem.decision)
        noted = walker.first is not None if place is None else place.slipped or place.repaired or not place.open
        if not noted:
            walker.slip(place, problem.category)
    steps = [walker.step(conversation.id, decision) for decision in walker.places]
    return Walk(
        conversation=conversation.id,
        due=len(walker.places),
        steps=tuple(step for step in steps if step is not None),
        first=walker.first,
    )
