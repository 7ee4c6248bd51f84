"""The two sides of a conversation as pieces of a page: what was recorded, what the model did, and how they differ.

A rejected call is held against the recorded call it was meant to be: the first of the same tool that was still open. A
prediction on recorded history is paired with the recorded calls, equal ones first. What differs is marked leaf by leaf
on both sides, after the normalisation that the run's matcher has, so that what counts as equal is never marked.

Rows are to be given in their order: which recorded calls are open depends on what was made before.
"""

from __future__ import annotations

from collections.abc import Sequence

from turngap import jsonio
from turngap.analysis.evidence import Difference, differences
from turngap.data import (
    Acted,
    CallVerdict,
    Conversation,
    Decision,
    Prediction,
    Repaired,
    ToolCall,
    decisions,
    results_of,
)
from turngap.metrics.matching import Matcher
from turngap.web.aligned import Row
from turngap.web.hearing import Hearing
from turngap.web.piece import Call, Ink, Message, Standing, finish_notes, turned


class Sides:
    """Makes the messages of both sides.

    Args:
        conversation: the recording.
        matcher: of its calls, with the rules of the run.
        ink: makes the texts.
        hearing: says where values had been heard; None where nobody asks.
    """

    def __init__(self, conversation: Conversation, matcher: Matcher, ink: Ink, hearing: Hearing | None) -> None:
        self._conversation, self._matcher, self._ink, self._hearing = conversation, matcher, ink, hearing
        self._open: dict[int, list[ToolCall]] = {
            one.index: [call for call in one.reference.calls if call.arguments is not None]
            for one in decisions(conversation)
        }
        self._marks: dict[int, list[tuple[ToolCall, Difference]]] = {}

    def recorded(self, decision: Decision) -> Message:
        """A recorded decision; leaves are marked in which the calls that were held against it differ."""
        at = f"d{decision.index}"
        results = results_of(self._conversation, decision)
        marks = self._marks.get(decision.index, [])
        calls = []
        for place, call in enumerate(decision.reference.calls):
            found = list({jsonio.dumps(one): one for of, one in marks if of is call}.values())
            result = self._ink.result(f"{at}.x{place}", results[place]) if place < len(results) else None
            # What only the other side has is no leaf of this one.
            sides = [one for one in turned(found) if one.absent != "predicted"]
            calls.append(self._ink.call(f"{at}.c{place}", call, sides, result=result))
        return self._ink.message(at, decision.reference, calls)

    def own(self, row: Row) -> tuple[Message, ...]:
        """What the model did in a row of a replay, and what was put in there."""
        found = []
        for at, event in row.own:
            if isinstance(event, Repaired):
                found.append(self._put_in(at, event))
            else:
                found.append(self._acted(at, event, row))
        return tuple(found)

    def predicted(self, decision: Decision, prediction: Prediction, *, mark: bool) -> Message:
        """What the model answered on recorded history.

        Args:
            decision: the recorded one.
            prediction: the answer.
            mark: whether the recorded side is to show how it differs too.
        """
        at, message = f"p{decision.index}", prediction.message
        pairs = paired(message.calls, decision.reference.calls, self._matcher)
        calls = []
        for place, (call, other) in enumerate(zip(message.calls, pairs, strict=True)):
            found = [] if other is None else differences(call, other, self._matcher)
            if mark and other is not None:
                self._marks.setdefault(decision.index, []).extend((other, one) for one in found)
            standing: Standing = "accepted" if other is not None and self._matcher.same(call, other) else "rejected"
            category = "" if standing == "accepted" else _unlike(call, other)
            calls.append(self._ink.call(f"{at}.c{place}", call, found, standing=standing, category=category))
        return self._ink.message(
            at,
            message,
            calls,
            raw=self._ink.some(f"{at}.raw", prediction.raw),
            notes=finish_notes(prediction.finish, prediction.notes),
            mark="empty answer" if prediction.empty else "",
            bad=prediction.empty,
        )

    def _acted(self, at: int, event: Acted, row: Row) -> Message:
        beside = row.decision.index if row.decision else None
        calls = [self._judged(at, event, place, beside) for place in range(len(event.message.calls))]
        silent = not event.message.calls and row.decision is not None and row.decision.kind == "tool"
        mark = "" if event.message.calls or event.message.content.strip() else "empty answer"
        if silent:
            mark = f"{mark or 'words'} in the place of a call"
        return self._ink.message(
            f"e{at}",
            event.message,
            calls,
            event=at,
            raw=self._ink.some(f"e{at}.raw", event.raw),
            notes=finish_notes(event.finish, event.notes),
            mark=mark,
            bad=bool(mark),
        )

    def _judged(self, at: int, event: Acted, place: int, beside: int | None) -> Call:
        """One call of a replay, with what became of it."""
        call = event.message.calls[place]
        result = self._ink.result(f"e{at}.x{place}", event.results[place]) if place < len(event.results) else None
        if place >= len(event.verdicts):
            return self._ink.call(f"e{at}.c{place}", call, result=result)
        verdict = event.verdicts[place]
        due = self._open.get(verdict.decision, []) if verdict.decision is not None else []
        found: list[Difference] = []
        where: dict[str, str] = {}
        if verdict.accepted:
            made = next((one for one in due if self._matcher.same(call, one)), None)
            if made is not None:
                due.remove(made)
        elif verdict.attempt is not None and (meant := next((one for one in due if one.name == call.name), None)):
            found = differences(call, meant, self._matcher)
            if verdict.decision is not None:
                self._marks.setdefault(verdict.decision, []).extend((meant, one) for one in found)
            if self._hearing is not None:
                where = {one.path: self._hearing.where(one, at) for one in found}
        return self._ink.call(
            f"e{at}.c{place}",
            call,
            found,
            where,
            standing=_standing(verdict),
            category=verdict.category.replace("_", " ") if verdict.category else "",
            attempt=verdict.attempt,
            # Where calls are due, the recorded one stands beside it and says the same.
            detail="" if due or verdict.accepted else verdict.detail,
            decision=verdict.decision if verdict.decision != beside else None,
            result=result,
        )

    def _put_in(self, at: int, event: Repaired) -> Message:
        calls = [
            self._ink.call(
                f"e{at}.c{place}",
                call,
                standing="put in",
                result=self._ink.result(f"e{at}.x{place}", event.results[place])
                if place < len(event.results)
                else None,
            )
            for place, call in enumerate(event.message.calls)
        ]
        mark = "" if calls else "put in from the recording"
        return self._ink.message(f"e{at}", event.message, calls, event=at, mark=mark)


def paired(calls: Sequence[ToolCall], others: Sequence[ToolCall], matcher: Matcher) -> list[ToolCall | None]:
    """For each call the recorded one that it is, else the next of the same tool that no call is; None where none is."""
    keys = [_key(call, matcher) for call in calls]
    left: dict[str | None, list[ToolCall]] = {}
    for other in others:
        left.setdefault(_key(other, matcher), []).append(other)
    found: list[ToolCall | None] = [left[key].pop(0) if key is not None and left.get(key) else None for key in keys]
    by_name: dict[str, list[ToolCall]] = {}
    for other in (one for group in left.values() for one in group):
        by_name.setdefault(other.name, []).append(other)
    for at, call in enumerate(calls):
        if found[at] is None and by_name.get(call.name):
            found[at] = by_name[call.name].pop(0)
    return found


def _key(call: ToolCall, matcher: Matcher) -> str | None:
    arguments = matcher.normalise(call).arguments
    return None if arguments is None else f"{call.name}\n{jsonio.canonical(arguments)}"


def _standing(verdict: CallVerdict) -> Standing:
    if verdict.accepted:
        return "accepted"
    return "rejected" if verdict.attempt is not None else "ignored"


def _unlike(call: ToolCall, other: ToolCall | None) -> str:
    """Why a predicted call is not the recorded one."""
    if call.arguments is None:
        return "malformed call"
    return "not recorded here" if other is None else "wrong arguments"
