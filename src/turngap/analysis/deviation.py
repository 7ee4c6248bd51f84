"""Where a recorded run first left the way, told from the actions that its task asks for.

A replay is held against a recording. A recording that failed itself has no such reference; what it may have is the
task's own list of actions, as tau-bench's records do, and facts that the customer had to be told. From these alone can
be said which change of the world was not asked for, which was left out, and what was said that nothing bears out. That
is all this module says. It knows no policy, so a check or a consent that was skipped on the way to the right change is
not seen; nor is any fault of whoever played the customer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from turngap.data import (
    AssistantMessage,
    Category,
    Conversation,
    Decision,
    ToolCall,
    decisions,
    results_of,
)
from turngap.judges import facts
from turngap.judges.knowledge import sources_of
from turngap.judges.reads import is_read
from turngap.judges.rules import Fault
from turngap.metrics.matching import Matcher


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """The first sign that a recorded run went wrong."""

    decision: int
    """Index of the decision that shows it; the last one where something was left out altogether."""
    category: Category | Fault
    """``wrong_arguments``, ``wrong_tool``, ``missing_call``; ``invented_fact``, ``missing_fact``."""
    evidence: str


def first_deviation(
    conversation: Conversation, actions: Sequence[ToolCall], matcher: Matcher, *, told: Sequence[str] = ()
) -> Deviation | None:
    """Find where a recorded run first left the way.

    Args:
        conversation: the recording.
        actions: what the task asks for; only those that change something count, in any order.
        matcher: of the conversation's tools.
        told: facts that the customer had to be told.

    Returns:
        None where all was done and told, and nothing else was changed. Otherwise the first call that would change
        something and is not asked for, a refused one included; without any, the first text that states something
        nothing before it bears out; without that, the last decision.
    """
    made = list(decisions(conversation))
    still_open = [action for action in actions if not _reads(conversation, action)]
    signs: list[Deviation] = []
    harmed = False
    for decision in made:
        for call, refused in _changes(conversation, decision):
            match = next((action for action in still_open if matcher.same(call, action)), None)
            if match is None:
                signs.append(_uncalled_for(decision, call, still_open, matcher))
                harmed |= not refused
            elif not refused:
                still_open.remove(match)
    untold = [fact for fact in told if not _told(fact, made)]
    if not made or not (harmed or still_open or untold):
        return None
    sign = next(iter(signs), None) or next(_unborne(conversation, made), None)
    return sign or _left_out(made[-1], still_open, untold)


def _changes(conversation: Conversation, decision: Decision) -> Iterator[tuple[ToolCall, bool]]:
    """The calls of a decision that do more than read, and whether the tool refused, so that nothing was changed."""
    calls = decision.reference.calls
    for call, result in zip(calls, results_of(conversation, decision), strict=False):
        if not _reads(conversation, call):
            yield call, result.error or result.content.lstrip().casefold().startswith("error")


def _left_out(last: Decision, still_open: Sequence[ToolCall], untold: Sequence[str]) -> Deviation:
    if still_open:
        names = ", ".join(action.name for action in still_open)
        return Deviation(decision=last.index, category=Category.MISSING_CALL, evidence=f"never done: {names}")
    return Deviation(decision=last.index, category=Fault.MISSING_FACT, evidence=f"never said: {', '.join(untold)}")


def _reads(conversation: Conversation, call: ToolCall) -> bool:
    return is_read(call.name, next((tool for tool in conversation.tools if tool.name == call.name), None))


def _uncalled_for(decision: Decision, call: ToolCall, open_actions: Sequence[ToolCall], matcher: Matcher) -> Deviation:
    namesake = next((action for action in open_actions if action.name == call.name), None)
    if namesake is not None:
        evidence = matcher.explain(call, namesake)
        return Deviation(decision=decision.index, category=Category.WRONG_ARGUMENTS, evidence=evidence)
    wanted = ", ".join(action.name for action in open_actions) or "no change"
    evidence = f"calls {call.name} where the task still asks for {wanted}"
    return Deviation(decision=decision.index, category=Category.WRONG_TOOL, evidence=evidence)


def _told(fact: str, made: Iterable[Decision]) -> bool:
    """Whether some text says a fact: its identifiers and numbers in any spelling, else its words."""
    stated = facts.of_text(fact)
    texts = [decision.reference.content for decision in made if decision.reference.content]
    if stated.stated:
        return any(not stated.missing_from(facts.of_text(text).readings) for text in texts)
    return any(fact.casefold() in text.casefold() for text in texts)


def _unborne(conversation: Conversation, made: Iterable[Decision]) -> Iterator[Deviation]:
    """Texts that state a fact which nothing before them says."""
    for decision in made:
        message: AssistantMessage = decision.reference
        if message.calls or not message.content:
            continue
        known, _ = facts.union(sources_of(conversation, conversation.messages[: decision.position]))
        invented = facts.of_text(message.content).invented_beside(known)
        if invented:
            named = ", ".join(dict.fromkeys(fact.text for fact in invented))
            evidence = f"says what nothing before it says: {named}"
            yield Deviation(decision=decision.index, category=Fault.INVENTED_FACT, evidence=evidence)
