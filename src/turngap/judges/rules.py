"""The `rules` judge: deterministic and offline, from calls, facts and a little word overlap. See docs/judges.md.

It can say that an answer is wrong because a call, an identifier, a number, a date or a time is; it cannot say that an
answer is right in any deeper sense, and knows nothing of policy, tone or logic. Every table names it `rules`, so that
nobody takes its verdicts for a reader's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from turngap.config import JudgeConfig, MatchConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    Conversation,
    Decision,
    Message,
    Spoken,
    SystemMessage,
    ToolCall,
    Trajectory,
    UserMessage,
    Verdict,
    decisions,
)
from turngap.judges import facts, suspicion
from turngap.judges.base import TurnCase, WorkflowCase
from turngap.judges.facts import Fact, Facts
from turngap.judges.knowledge import Knowledge, Known, Recent, sources_of
from turngap.judges.reads import is_read
from turngap.metrics.matching import Matcher
from turngap.metrics.rouge import choose_tokenizer, rouge_n
from turngap.models.base import ModelContext

_VERSION = 1
"""Goes up when the same input may get another verdict."""
_MOST_NAMED = 6


class Fault(StrEnum):
    """Why `rules` fails a unit: a closed set. A replay that did not complete keeps its own category instead."""

    EMPTY_ANSWER = "empty_answer"
    """Neither text nor a call, where the recording has some."""
    MISSING_CALL = "missing_call"
    """Text, or only some of the calls, where calls were due."""
    MALFORMED_CALL = "malformed_call"
    """A call whose arguments are no JSON object."""
    WRONG_TOOL = "wrong_tool"
    """A call of a tool that was not due and does not merely read, or that does not exist."""
    WRONG_ARGUMENTS = "wrong_arguments"
    """A due tool with other arguments, or a further read that the schema refuses or that asks for invented things."""
    UNCALLED_CALL = "uncalled_call"
    """A call where the recording speaks to the user."""
    MISSING_FACT = "missing_fact"
    """The text does not say something checkable that the recording says."""
    INVENTED_FACT = "invented_fact"
    """The text says something checkable that neither the recording nor anything before it says."""
    DISSIMILAR = "dissimilar"
    """The text shares too few words with the recording's to be about the same thing."""


_Finding = tuple[str, str]
"""Category and rationale of a failure."""


class RulesJudge:
    """Judges by calls, facts and word overlap; never asks anybody.

    Args:
        match: how calls are compared.
        similarity_floor: least ROUGE-1 of a text and the recorded one; 0 switches this rule off.
    """

    label = "rules"

    def __init__(self, match: MatchConfig, *, similarity_floor: float) -> None:
        self._match = match
        self._floor = similarity_floor
        self._knowledge = Recent(Knowledge)

    def identity(self) -> dict[str, Any]:
        """The rules' version and settings."""
        return {
            "judge": self.label,
            "version": _VERSION,
            "similarity_floor": self._floor,
            "match": msgspec.to_builtins(self._match),
        }

    async def turn(self, case: TurnCase) -> Verdict:
        """Judge one decision: calls by `strict`'s matcher and the tolerance for reads, text by its facts."""
        prediction, reference = case.prediction.message, case.decision.reference
        if prediction.calls:
            finding = self._calls(case)
        elif reference.calls:
            said = "says something" if prediction.content.strip() else "does nothing"
            finding = Fault.MISSING_CALL, f"{said} where {_names(reference.calls)} is due"
        else:
            finding = self._texts(prediction.content, reference.content, self._known(case))
        return _verdict(finding, suspicion.of_turn(case))

    async def workflow(self, case: WorkflowCase) -> Verdict:
        """Judge one closed loop: it completed, and the user was told what the recording told, and nothing invented."""
        return _verdict(_unresolved(case.trajectory) or self._replay(case), suspicion.of_workflow(case))

    async def aclose(self) -> None:
        """Nothing is held."""

    def _known(self, case: TurnCase) -> Known:
        return self._knowledge.of(case.conversation).before(case.decision.position)

    def _calls(self, case: TurnCase) -> _Finding | None:
        """Hold predicted calls against the due ones, and what is left of either against the tolerance for reads."""
        conversation, decision = case.conversation, case.decision
        matcher = Matcher(conversation.tools, self._match, conversation.compare_args)
        predicted, due = case.prediction.message.calls, decision.reference.calls
        if not due:
            return Fault.UNCALLED_CALL, f"calls {_names(predicted)} where the recording speaks to the user"
        if matcher.exact(predicted, due):
            return None
        for call in predicted:
            if call.arguments is None:
                return Fault.MALFORMED_CALL, f"the arguments of {call.name} are no JSON object: {call.error}"
        reads = _reader(conversation)
        extra, undone = _pair_off(predicted, due, matcher)
        if not undone:
            return _extra_reads(extra, reads, matcher, self._known(case), _later_calls(conversation, decision))
        # Not everything that is due was called. That is in order for reads that the recording makes before the user
        # speaks again, whether in this decision or a later one: nothing is changed yet, and what is due can follow.
        unforeseen, _ = _pair_off(extra, _later_calls(conversation, decision), matcher)
        if not unforeseen and all(reads(call) for call in predicted):
            return None
        return _mistake(unforeseen or extra, undone, matcher)

    def _texts(self, predicted: str, recorded: str, known: Known) -> _Finding | None:
        """Hold what was said against what the recording says; `known` is what else may be said."""
        if not predicted.strip():
            return (Fault.EMPTY_ANSWER, "says nothing") if recorded.strip() else None
        ours, theirs = [facts.of_text(predicted)], [facts.of_text(recorded)]
        return _difference(ours, theirs, known) or self._unlike(predicted, recorded)

    def _replay(self, case: WorkflowCase) -> _Finding | None:
        """Hold everything that the replay's agent said against everything that the recorded one said.

        What the user said need not be told back, and where in the conversation a thing was told does not matter. Text
        beside calls counts as said, but is not asked for: the texts that end a turn are what the user waits for.
        """
        acted = [event.message for event in case.trajectory.events if isinstance(event, Acted)]
        recorded = [decision.reference for decision in decisions(case.conversation)]
        closing = [message.content for message in recorded if not message.calls and message.content.strip()]
        if _empty_answers(acted) > _empty_answers(recorded):
            return Fault.EMPTY_ANSWER, "an answer to the user is empty"
        heard, _ = facts.union(
            facts.of_text(message.content) for message in case.conversation.messages if isinstance(message, UserMessage)
        )
        theirs = [_without(facts.of_text(text), heard) for text in closing]
        ours = [facts.of_text(message.content) for message in acted]
        lived = [message for event in case.trajectory.events for message in _given(event)]
        known = Known(*facts.union(sources_of(case.conversation, [*case.conversation.messages, *lived])))
        return _difference(ours, theirs, known) or self._unlike(
            "\n".join(message.content for message in acted), "\n".join(closing)
        )

    def _unlike(self, predicted: str, recorded: str) -> _Finding | None:
        if not self._floor or not recorded.strip():
            return None
        similarity = rouge_n(predicted, recorded, n=1, tokenizer=choose_tokenizer(predicted, recorded))
        if similarity >= self._floor:
            return None
        return Fault.DISSIMILAR, f"shares few words with the recording (ROUGE-1 {similarity:.2f} < {self._floor:g})"


def build(
    _spec: str,
    config: JudgeConfig,
    match: MatchConfig,
    _context: ModelContext,
    _save_prompt: Callable[[dict[str, Any]], None] | None = None,
) -> RulesJudge:
    """Build the `rules` judge; it sends no prompts, so there are none to save."""
    return RulesJudge(match, similarity_floor=config.similarity_floor)


# --- calls -----------------------------------------------------------------------------------------------------------


def _pair_off(
    calls: Sequence[ToolCall], others: Sequence[ToolCall], matcher: Matcher
) -> tuple[list[ToolCall], list[ToolCall]]:
    """Pair equal calls one to one; return what is left of both. Equality is transitive, so the order cannot matter."""
    left, others_left = [], list(others)
    for call in calls:
        partner = next((index for index, other in enumerate(others_left) if matcher.same(call, other)), None)
        if partner is None:
            left.append(call)
        else:
            del others_left[partner]
    return left, others_left


def _later_calls(conversation: Conversation, decision: Decision) -> list[ToolCall]:
    """The recorded calls after a decision and before anybody speaks to the agent again."""
    found: list[ToolCall] = []
    for message in conversation.messages[decision.position + 1 :]:
        if isinstance(message, UserMessage | SystemMessage):
            break
        if isinstance(message, AssistantMessage):
            found.extend(message.calls)
    return found


def _reader(conversation: Conversation) -> Callable[[ToolCall], bool]:
    tools = {tool.name: tool for tool in conversation.tools}
    return lambda call: is_read(call.name, tools.get(call.name))


def _extra_reads(
    extra: Iterable[ToolCall],
    reads: Callable[[ToolCall], bool],
    matcher: Matcher,
    known: Known,
    later: Sequence[ToolCall],
) -> _Finding | None:
    """Whether what is called beside the due calls does no harm: reads that work and ask for what is known."""
    for call in extra:
        if not reads(call):
            return Fault.WRONG_TOOL, f"beside the due calls also calls {call.name}, which may change something"
        problem = matcher.problem(call)
        if problem is not None:
            return Fault.WRONG_ARGUMENTS, f"beside the due calls: {problem}"
        invented = facts.of_value(call.arguments).invented_beside(known.readings)
        if invented and not any(matcher.same(call, other) for other in later):
            return (
                Fault.WRONG_ARGUMENTS,
                f"beside the due calls {call.name} asks for {_listed(invented)}, heard nowhere",
            )
    return None


def _mistake(candidates: Sequence[ToolCall], undone: Sequence[ToolCall], matcher: Matcher) -> _Finding:
    """Name what is wrong with calls that do not add up to the due ones."""
    for call in candidates:
        namesake = next((due for due in undone if due.name == call.name), None)
        if namesake is not None:
            return Fault.WRONG_ARGUMENTS, matcher.explain(call, namesake)
    if candidates:
        return Fault.WRONG_TOOL, f"calls {_names(candidates)} where {_names(undone)} is due"
    return Fault.MISSING_CALL, f"leaves out {_names(undone)}"


def _names(calls: Iterable[ToolCall]) -> str:
    return " and ".join(dict.fromkeys(call.name for call in calls))


# --- texts -----------------------------------------------------------------------------------------------------------


def _given(event: Acted | Spoken | Any) -> Iterator[Message]:
    """What a replay's agent was given at an event; what it said itself is no source."""
    if isinstance(event, Spoken):
        yield event.message
    else:
        yield from event.results


def _empty_answers(messages: Iterable[AssistantMessage]) -> int:
    return sum(not message.calls and not message.content.strip() for message in messages)


def _without(said: Facts, heard: set[str]) -> Facts:
    """The facts of a text that another did not say."""
    return Facts(
        stated=tuple(fact for fact in said.stated if fact.keys.isdisjoint(heard)),
        readings=said.readings,
        capitals=tuple(fact for fact in said.capitals if fact.keys.isdisjoint(heard)),
    )


def _difference(ours: Sequence[Facts], theirs: Sequence[Facts], known: Known) -> _Finding | None:
    """What `theirs` say and `ours` do not, and what `ours` say that neither `theirs` nor the sources do."""
    said, _ = facts.union(ours)
    reference, _ = facts.union(theirs)
    missing = [fact for part in theirs for fact in part.missing_from(said, known.codes)]
    invented = [fact for part in ours for fact in part.invented_beside(known.readings, reference)]
    if not missing and not invented:
        return None
    parts = [f"{word} {_listed(found)}" for word, found in (("missing", missing), ("invented", invented)) if found]
    return (Fault.MISSING_FACT if missing else Fault.INVENTED_FACT), "; ".join(parts)


def _listed(found: Sequence[Fact]) -> str:
    named = list(dict.fromkeys(f"{fact.text} ({fact.kind})" for fact in found))
    rest = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + rest


# --- verdicts --------------------------------------------------------------------------------------------------------


def _unresolved(trajectory: Trajectory) -> _Finding | None:
    if trajectory.completed:
        return None
    if not trajectory.problems:
        return Fault.MISSING_CALL, "the replay did not complete"
    problem = trajectory.problems[0]
    return problem.category, problem.detail or f"unresolved at decision {problem.decision}"


def _verdict(finding: _Finding | None, flags: tuple[str, ...]) -> Verdict:
    if finding is None:
        return Verdict(success=True, flags=flags)
    category, rationale = finding
    return Verdict(success=False, category=str(category), rationale=" ".join(rationale.split()), flags=flags)
