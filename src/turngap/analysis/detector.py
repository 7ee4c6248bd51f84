"""Detectors: what exactly went wrong in a failed replay, where the evidence decides it.

A failure's category (`turngap.data.Category`) says which rule of the replay it broke. A *finding* says more, and only
what can be read off the recording and the replay, each with its evidence: no detector guesses at reasons. A failure may
have several findings or none; what has none is what a person, or a judge with a list of labels, has to look at.

See docs/taxonomy.md for the list with examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from turngap.analysis.evidence import (
    Difference,
    Place,
    decidable,
    differences,
    heard,
    is_identifier,
    keys_of,
    leaves,
    places,
    shown,
)
from turngap.data import (
    Acted,
    Category,
    Conversation,
    Decision,
    Event,
    Problem,
    Repaired,
    ToolCall,
    Trajectory,
    UserMessage,
    decisions,
)
from turngap.metrics.matching import Matcher

_MOST_QUOTED = 100


class Detector(StrEnum):
    """What a finding says: a closed set."""

    UNKNOWN_TOOL = "unknown_tool"
    """A tool that does not exist."""
    UNRECORDED_TOOL = "unrecorded_tool"
    """A tool that the recording never calls."""
    UNCALLED_CALL = "uncalled_call"
    """A call where the recording speaks to the user."""
    REPEATED_CALL = "repeated_call"
    """A call that had already been made and accepted."""
    UNHEEDED_ERROR = "unheeded_error"
    """The same call again although it had just been rejected."""
    BEFORE_USER_TURN = "before_user_turn"
    """A call that the recording makes only after the user has spoken again."""
    OUT_OF_ORDER = "out_of_order"
    """A call that the recording makes later in the same turn: the due one was skipped."""
    REFUSED_BY_SCHEMA = "refused_by_schema"
    """Arguments that the tool's own schema refuses."""
    MISSING_ARGUMENT = "missing_argument"
    """An argument of the recorded call was left out."""
    EXTRA_ARGUMENT = "extra_argument"
    """An argument that the recorded call does not have."""
    INVENTED_VALUE = "invented_value"
    """An argument value that stands nowhere in the history, while the recorded one (if there is one) does."""
    MISCOMPUTED_VALUE = "miscomputed_value"
    """Another value than the recorded one, and neither stands in the history: it had to be worked out."""
    WRONG_ENTITY = "wrong_entity"
    """The identifier of something else that the history names."""
    STALE_VALUE = "stale_value"
    """A value that the history had replaced: the recorded one was heard later, from the same source."""
    CALL_IN_TEXT = "call_in_text"
    """A text that looks like a call nobody could read."""
    ASKED_INSTEAD = "asked_instead"
    """Asked the user something where a call was due."""
    EMPTY_ANSWER = "empty_answer"
    """Neither text nor a call where a call was due."""
    PARTIAL_CALLS = "partial_calls"
    """Some calls of the recorded decision were made, others never."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one detector found in one failure."""

    detector: Detector
    event: int
    """Index of the event of the trajectory that shows it."""
    evidence: str
    """One line for readers."""


class _Attempt(msgspec.Struct, frozen=True):
    """One rejected call."""

    event: int
    call: ToolCall
    category: Category


class Scene:
    """One failure with all that the detectors look at.

    Args:
        conversation: the recording.
        trajectory: the replay.
        problem: one of its unresolved errors.
        matcher: of the conversation's tools, with the run's rules.
    """

    def __init__(self, conversation: Conversation, trajectory: Trajectory, problem: Problem, matcher: Matcher) -> None:
        self.conversation, self.trajectory, self.problem, self.matcher = conversation, trajectory, problem, matcher
        self.decisions: list[Decision] = list(decisions(conversation))
        self.begins = _begins(trajectory.events, problem)
        self.attempts = list(self._rejected())
        self.due = self._due()

    @property
    def decision(self) -> Decision | None:
        """The recorded decision at which it happened, if any."""
        return next((one for one in self.decisions if one.index == self.problem.decision), None)

    def recorded_for(self, call: ToolCall) -> ToolCall | None:
        """The due call that a rejected one was meant to be: the first of the same tool."""
        return next((due for due in self.due if due.name == call.name), None)

    def silent(self) -> Iterator[tuple[int, Acted]]:
        """Texts that the agent gave instead of the due call."""
        for index, event in self._acted():
            if event.decision == self.problem.decision and not event.message.calls:
                yield index, event

    def _acted(self) -> Iterator[tuple[int, Acted]]:
        events = self.trajectory.events
        for index in range(self.begins, min(self.problem.event + 1, len(events))):
            event = events[index]
            if isinstance(event, Acted):
                yield index, event

    def _rejected(self) -> Iterator[_Attempt]:
        for index, event in self._acted():
            for call, verdict in zip(event.message.calls, event.verdicts, strict=True):
                spent = verdict.attempt is not None and verdict.decision == self.problem.decision
                if spent and verdict.category is not None:
                    yield _Attempt(index, call, verdict.category)

    def _due(self) -> list[ToolCall]:
        """The recorded calls of the decision that were never made."""
        decision = self.decision
        due = [] if decision is None else [call for call in decision.reference.calls if call.arguments is not None]
        for _, event in self._acted():
            for call, verdict in zip(event.message.calls, event.verdicts, strict=True):
                made = next((other for other in due if self.matcher.same(call, other)), None)
                if verdict.accepted and verdict.decision == self.problem.decision and made is not None:
                    due.remove(made)
        return due


def _begins(events: Sequence[Event], problem: Problem) -> int:
    """Where to look from: behind the repair of an earlier error of the same decision (turns without a due call)."""
    before = enumerate(events[: problem.event])
    repairs = [at for at, event in before if isinstance(event, Repaired) and event.decision == problem.decision]
    return max(repairs, default=0)


def detect(scene: Scene) -> tuple[Finding, ...]:
    """All findings of a failure, each detector once, with the first event that shows it."""
    found: dict[Detector, Finding] = {}
    for finding in _findings(scene):
        found.setdefault(finding.detector, finding)
    return tuple(found.values())


def _findings(scene: Scene) -> Iterator[Finding]:
    for number, attempt in enumerate(scene.attempts):
        earlier = next((one for one in scene.attempts[:number] if scene.matcher.same(one.call, attempt.call)), None)
        if earlier is not None:
            yield _found(Detector.UNHEEDED_ERROR, attempt, f"{attempt.call.name} as in event {earlier.event}")
            continue
        yield from _of_call(scene, attempt)
    if scene.problem.category in (Category.MISSING_CALL, Category.TRUNCATED_OUTPUT):
        yield from _of_silence(scene)


def _of_call(scene: Scene, attempt: _Attempt) -> Iterator[Finding]:
    call = attempt.call
    if call.arguments is None:
        return
    tools = {tool.name for tool in scene.conversation.tools}
    if tools and call.name not in tools:
        yield _found(Detector.UNKNOWN_TOOL, attempt, f"{call.name or '(no name)'} is not among the {len(tools)} tools")
        return
    if (made := _made_before(scene, attempt)) is not None:
        yield _found(Detector.REPEATED_CALL, attempt, f"{call.name} with these arguments was accepted in event {made}")
        return
    if attempt.category is Category.PREMATURE_CALL:
        yield from _early(scene, attempt)
        return
    if not scene.due:
        yield _found(Detector.UNCALLED_CALL, attempt, f"{call.name} where the recording speaks to the user")
    known = places(scene.conversation, scene.trajectory.events[: attempt.event])
    if attempt.category is not Category.WRONG_ARGUMENTS:
        yield from _of_other_tool(scene, attempt, known)
        return
    if (refused := scene.matcher.problem(call)) is not None:
        yield _found(Detector.REFUSED_BY_SCHEMA, attempt, refused)
    recorded = scene.recorded_for(call)
    if recorded is not None:
        for difference in differences(call, recorded, scene.matcher):
            yield from _of_value(difference, attempt, known)


def _of_other_tool(scene: Scene, attempt: _Attempt, known: Sequence[Place]) -> Iterator[Finding]:
    """A call of a tool that is not due has no recorded call to be held against."""
    calls = {call.name for decision in scene.decisions for call in decision.reference.calls}
    if attempt.call.name not in calls:
        yield _found(Detector.UNRECORDED_TOOL, attempt, f"the recording never calls {attempt.call.name}")
    for path, value in leaves(scene.matcher.normalise(attempt.call).arguments or {}):
        if decidable(value) and not heard(value, known):
            yield _found(Detector.INVENTED_VALUE, attempt, f"{path}: {shown(value)} stands nowhere in the history")


def _made_before(scene: Scene, attempt: _Attempt) -> int | None:
    """The event in which the same call was accepted, if any."""
    for index, event in enumerate(scene.trajectory.events[: attempt.event + 1]):
        if isinstance(event, Acted):
            for call, verdict in zip(event.message.calls, event.verdicts, strict=True):
                if verdict.accepted and scene.matcher.same(call, attempt.call):
                    return index
        elif isinstance(event, Repaired) and any(
            scene.matcher.same(call, attempt.call) for call in event.message.calls
        ):
            return index
    return None


def _early(scene: Scene, attempt: _Attempt) -> Iterator[Finding]:
    """When the recording makes a premature call, and whether the user speaks before that."""
    here = scene.decision
    later = [one for one in scene.decisions if here is None or one.index > here.index]
    same = (one for one in later if any(scene.matcher.same(attempt.call, call) for call in one.reference.calls))
    right = next(same, None)
    if right is None:
        return
    start = 0 if here is None else here.position
    between = scene.conversation.messages[start : right.position]
    said = next((message.content for message in reversed(between) if isinstance(message, UserMessage)), None)
    where = f"the recording calls {attempt.call.name} so at decision {right.index}"
    if said is None:
        due = ", ".join(call.name for call in scene.due)
        yield _found(Detector.OUT_OF_ORDER, attempt, f"{where}, after {due or 'its text'}")
    else:
        yield _found(Detector.BEFORE_USER_TURN, attempt, f"{where}, after the user has said {_quoted(said)}")


def _of_value(difference: Difference, attempt: _Attempt, known: Sequence[Place]) -> Iterator[Finding]:
    path, ours, theirs = difference.path, difference.predicted, difference.recorded
    if difference.absent:
        detector = Detector.MISSING_ARGUMENT if difference.absent == "predicted" else Detector.EXTRA_ARGUMENT
        value = theirs if difference.absent == "predicted" else ours
        yield _found(detector, attempt, f"{path}: {shown(value)}")
        if difference.absent == "recorded" and decidable(ours) and not heard(ours, known):
            yield _found(Detector.INVENTED_VALUE, attempt, f"{path}: {shown(ours)} stands nowhere in the history")
        return
    if not decidable(ours) or not decidable(theirs):
        return
    ours_at, theirs_at = heard(ours, known), heard(theirs, known)
    pair = f"{path}: {shown(ours)} for {shown(theirs)}"
    if not ours_at:
        detector = Detector.INVENTED_VALUE if theirs_at else Detector.MISCOMPUTED_VALUE
        where = f"stands nowhere; the recorded one in {theirs_at[-1].name}" if theirs_at else "; neither was heard"
        yield _found(detector, attempt, f"{pair} {where}".replace(" ;", ";"))
    elif theirs_at:
        if is_identifier(ours) and is_identifier(theirs):
            yield _found(Detector.WRONG_ENTITY, attempt, f"{pair}, heard in {ours_at[-1].name}")
        order = [place.name for place in known]
        if order.index(ours_at[-1].name) < order.index(theirs_at[0].name) and _same_source(
            ours, theirs, ours_at, theirs_at
        ):
            evidence = f"{pair}; last heard in {ours_at[-1].name}, the other then in {theirs_at[0].name}"
            yield _found(Detector.STALE_VALUE, attempt, evidence)


def _same_source(ours: object, theirs: object, ours_at: Sequence[Place], theirs_at: Sequence[Place]) -> bool:
    """Whether both values were said by the user, or stood in results under one key."""
    old, new = ours_at[-1], theirs_at[0]
    return (old.by_user and new.by_user) or bool({*keys_of(ours, old)} & {*keys_of(theirs, new)})


def _of_silence(scene: Scene) -> Iterator[Finding]:
    decision = scene.decision
    if decision is not None and 0 < len(scene.due) < len(decision.reference.calls):
        made = len(decision.reference.calls) - len(scene.due)
        evidence = (
            f"{made} of {len(decision.reference.calls)} calls made; never: {', '.join(c.name for c in scene.due)}"
        )
        yield Finding(detector=Detector.PARTIAL_CALLS, event=scene.problem.event, evidence=evidence)
    for index, event in scene.silent():
        text = event.message.content.strip()
        if "unparsed_call" in event.notes:
            yield Finding(detector=Detector.CALL_IN_TEXT, event=index, evidence=_quoted(text))
        elif not text:
            yield Finding(detector=Detector.EMPTY_ANSWER, event=index, evidence="neither text nor a call")
        elif text.rstrip("\"'”’)*_ ").endswith(("?", "？", "؟")):
            yield Finding(detector=Detector.ASKED_INSTEAD, event=index, evidence=_quoted(_last_sentence(text)))


def _last_sentence(text: str) -> str:
    line = text.splitlines()[-1]
    for mark in (". ", "! "):
        line = line.rpartition(mark)[2]
    return line


def _found(detector: Detector, attempt: _Attempt, evidence: str) -> Finding:
    return Finding(detector=detector, event=attempt.event, evidence=" ".join(evidence.split()))


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[: _MOST_QUOTED - 1]}…"' if len(line) > _MOST_QUOTED else f'"{line}"'
