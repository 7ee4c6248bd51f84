"""The shortest history on which a failed replay still fails in the same way: a regression test cut out of a recording.

*The same way* means: the first unresolved error has the same category and is held against the same recorded decision.
The search, deterministic and each step checked by a replay of exactly what would be written:

1. the latest recorded decision from which on, with everything before it given as recorded, the model still fails so
   (the failing decision itself where the model fails on gold history, the first one where only its own history leads
   there), with as little of the recording behind the failure as that takes;
2. of the given history, whole turns are left out while the failure remains, then single calls with their results.
   A case that nobody could solve is no test. So what the failing recorded decision is made of stays (a value of its
   calls, or a number of its text, that the history holds must not get lost), and so does the turn before, which the
   user's words answer.

A case is a `Conversation` whose `start` is the first decision that the model makes: evaluated like any other recording,
it fails in the same way. It keeps the id of the conversation it was cut from; its metadata say where it is from.

Asking the model is bounded; when the bound is reached, what was found so far is the case. Answers come from the run's
call cache where it has them, and count all the same, so that repeating a search finds the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.config import ReplayConfig
from turngap.data import (
    AssistantMessage,
    Category,
    Conversation,
    Decision,
    Failure,
    Message,
    Prediction,
    Problem,
    Segment,
    Trajectory,
    decisions,
    segments,
)
from turngap.errors import UnitError
from turngap.metrics.matching import Matcher
from turngap.models import Model, Request
from turngap.models.ground import leaves
from turngap.protocols import replay
from turngap.protocols.reduction import reduce

METADATA = "turngap_case"
"""Key of a case's metadata under which stands where it came from."""

_WITH_DIGITS = re.compile(r"\w*\d(?:[\w.:/-]*\w)?")

_Span = tuple[int, int]
"""Messages from the first index up to the second."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a case came from, and what it shows."""

    run: str
    """Name of the run directory."""
    model: str
    file: str
    line: int | None
    category: Category
    """Of the first unresolved error, in the replay as in the case."""
    decision: int | None
    """The recorded decision it is held against, by its index in the whole recording; None past the last one."""
    case_decision: int | None
    """The same by its index in the case."""
    start: int
    """First decision that the model makes, by its index in the whole recording."""
    messages: int
    """Of the whole recording."""
    calls: int
    """Questions to the model that the search took."""
    complete: bool
    """Whether the search came to its end, and not to its bound."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A failed replay, cut down."""

    conversation: Conversation
    origin: Origin


class Uncut(msgspec.Struct, frozen=True, kw_only=True):
    """A failed replay of which no case was made."""

    conversation: str
    reason: str
    errored: bool
    """Whether the model's server or turngap failed; otherwise the model does not fail in this way again."""


class Setting(msgspec.Struct, frozen=True):
    """What a search works with."""

    model: Model
    matcher: Matcher
    rules: ReplayConfig
    most_calls: int
    """Bound on the questions to the model."""
    run: str
    """Name of the run."""


async def shrink(conversation: Conversation, trajectory: Trajectory, setting: Setting) -> Case | Uncut:
    """Cut one failed replay down.

    Args:
        conversation: the recording.
        trajectory: its replay; has failed.
        setting: the model and the rules it failed by.
    """
    search = _Search(conversation, trajectory, setting)
    complete = True
    try:
        await search.go()
    except _BoundReached:
        complete = False
    except _Broken as error:
        return Uncut(conversation=conversation.id, reason=str(error), errored=True)
    if search.best is None:
        bound = "" if complete else f" within {setting.most_calls} calls"
        return Uncut(conversation=conversation.id, reason=f"does not fail in this way again{bound}", errored=False)
    return search.case(complete=complete)


class _BoundReached(Exception):
    """The model may not be asked again."""


class _Broken(Exception):
    """A replay could not be measured."""


class _OverBound(UnitError):
    """Ends a replay in which the bound was reached; comes back as a `Failure` of this kind."""

    kind = "bound_reached"


class _Metered:
    """A model that may be asked so many times."""

    def __init__(self, model: Model, most: int) -> None:
        self._model, self._most = model, most
        self.label = model.label
        self.asked = 0

    def identity(self) -> dict[str, Any]:
        return self._model.identity()

    async def act(self, request: Request) -> Prediction:
        if self.asked >= self._most:
            raise _OverBound(f"{self._most} questions were asked")
        self.asked += 1
        return await self._model.act(request)

    async def aclose(self) -> None:
        return


class _Cut(msgspec.Struct, frozen=True):
    """A candidate: which messages are kept of the given history, where the model starts, where the recording ends."""

    given: tuple[_Span, ...]
    start: Decision
    end: int


class _Search:
    """One search; `best` is the smallest case so far."""

    def __init__(self, conversation: Conversation, trajectory: Trajectory, setting: Setting) -> None:
        self._conversation, self._setting = conversation, setting
        self._rules = msgspec.structs.replace(setting.rules, after_failure="stop")
        self._model = _Metered(setting.model, setting.most_calls)
        self._problem: Problem = trajectory.problems[0]
        self._turns: list[Segment] = segments(conversation, 0)
        made = [decision for turn in self._turns for decision in turn.decisions]
        failing = _place(trajectory, self._problem)
        self._failing: Decision = next((one for one in made if one.index == failing), made[-1])
        # The latest first.
        self._values = _values(self._failing, conversation)
        self._starts = [one for one in reversed(list(decisions(conversation))) if one.index <= self._failing.index]
        self.best: _Cut | None = None

    async def go(self) -> None:
        """Search to the end, or until one of the exceptions above."""
        found = await self._latest()
        if found is None:
            return
        whole = await self._leave_out(found, self._earlier_turns(found))
        await self._leave_out(whole, self._exchanges(whole))

    async def _latest(self) -> _Cut | None:
        nearest, *further = self._ends()
        for start in self._starts:
            given = ((0, start.position),)
            if await self._fails(near := _Cut(given, start, nearest)):
                return near
            # Some failures need what comes later: a call that is premature, or missed over further turns.
            if further and await self._fails(_Cut(given, start, further[-1])):
                for end in further:
                    if end == further[-1] or await self._fails(_Cut(given, start, end)):
                        return _Cut(given, start, end)
        return None

    def _ends(self) -> list[int]:
        """Where the recording can end behind the failing decision: right behind it, or at the end of a turn."""
        behind = self._failing.position + 1 + len(self._failing.reference.calls)
        return sorted({behind, *(turn.end for turn in self._turns if turn.end > behind)})

    async def _leave_out(self, cut: _Cut, parts: Sequence[_Span]) -> _Cut:
        async def holds(kept: tuple[_Span, ...]) -> bool:
            return await self._fails(_without(cut, [part for part in parts if part not in kept]))

        kept = await reduce(parts, holds)
        return _without(cut, [part for part in parts if part not in kept])

    def _earlier_turns(self, cut: _Cut) -> list[_Span]:
        """The turns before the one in which the model starts, without the last of them."""
        earlier = [(turn.begin, turn.end) for turn in self._turns if turn.end <= cut.start.position]
        return earlier[:-1]

    def _exchanges(self, cut: _Cut) -> list[_Span]:
        """Tool decisions with their results that are still given."""
        spans = [
            (decision.position, decision.position + 1 + len(decision.reference.calls))
            for turn in self._turns
            for decision in turn.decisions
            if decision.reference.calls and decision.index < cut.start.index
        ]
        return [span for span in spans if any(low <= span[0] < high for low, high in cut.given)]

    async def _fails(self, cut: _Cut) -> bool:
        """Whether the model fails in the same way on a candidate, which then is the best."""
        case, expected = self._conversation_of(cut)
        history = case.messages[: len(case.messages) - (cut.end - self._failing.position)]
        if _said(history, self._values) != self._values:
            return False
        # Once the failing decision is behind the model, it cannot fail there any more.
        window = replay.Window(stop=None if expected is None else expected + 1)
        result = await replay.run(self._model, case, self._setting.matcher, self._rules, window)
        if isinstance(result, Failure):
            if result.kind == _OverBound.kind:
                raise _BoundReached
            raise _Broken(result.reason)
        first = result.problems[0] if result.problems else None
        same = first is not None and (first.category, first.decision) == (self._problem.category, expected)
        if same:
            self.best = cut
        return same

    def _conversation_of(self, cut: _Cut) -> tuple[Conversation, int | None]:
        """The case, and the index in it of the failing decision."""
        given = [message for low, high in cut.given for message in self._conversation.messages[low:high]]
        lived = self._conversation.messages[cut.start.position : cut.end]
        start = sum(isinstance(message, AssistantMessage) for message in given)
        messages: tuple[Message, ...] = (*given, *lived)
        case = msgspec.structs.replace(self._conversation, messages=messages, start=start)
        failing = start + self._failing.index - cut.start.index
        return case, None if self._problem.decision is None else failing

    def case(self, *, complete: bool) -> Case:
        """The best candidate as a case."""
        cut = self.best
        assert cut is not None  # noqa: S101 - the caller has looked
        conversation, failing = self._conversation_of(cut)
        source = conversation.source
        origin = Origin(
            run=self._setting.run,
            model=self._setting.model.label,
            file=source.file,
            line=source.line,
            category=self._problem.category,
            decision=self._problem.decision,
            case_decision=failing,
            start=cut.start.index,
            messages=len(self._conversation.messages),
            calls=self._model.asked,
            complete=complete,
        )
        metadata = conversation.metadata | {METADATA: msgspec.to_builtins(origin)}
        return Case(conversation=msgspec.structs.replace(conversation, metadata=metadata), origin=origin)


def _place(trajectory: Trajectory, problem: Problem) -> int | None:
    """The recorded decision at which a failure stands in the recording."""
    if problem.decision is not None:
        return problem.decision
    event = trajectory.events[problem.event]
    return getattr(event, "decision", None)


def _values(failing: Decision, conversation: Conversation) -> frozenset[str]:
    """What the recorded decision at a failure is made of, as far as the history before it holds it.

    Those are the arguments of its calls, or what its text says with digits: numbers, dates, ids.
    """
    stated = _WITH_DIGITS.findall(failing.reference.content) if failing.kind == "text" else []
    arguments = [
        str(value)
        for call in failing.reference.calls
        for _, value in leaves(call.arguments or {})
        if not isinstance(value, bool)
    ]
    recorded = frozenset(value.casefold() for value in (*stated, *arguments))
    return _said(conversation.messages[: failing.position], recorded)


def _said(messages: Sequence[Message], values: frozenset[str]) -> frozenset[str]:
    """Those values that stand somewhere in messages or in the arguments of their calls."""
    texts = [message.content for message in messages]
    texts += [
        str(value)
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
        for _, value in leaves(call.arguments or {})
    ]
    everything = "\n".join(texts).casefold()
    return frozenset(value for value in values if value in everything)


def _without(cut: _Cut, parts: Sequence[_Span]) -> _Cut:
    """A candidate whose given history lacks some spans."""
    return msgspec.structs.replace(cut, given=tuple(_remaining(cut.given, sorted(parts))))


def _remaining(spans: Sequence[_Span], parts: Sequence[_Span]) -> Iterator[_Span]:
    for low, high in spans:
        at = low
        for begin, end in parts:
            if at <= begin and end <= high:
                if begin > at:
                    yield at, begin
                at = end
        if at < high:
            yield at, high
