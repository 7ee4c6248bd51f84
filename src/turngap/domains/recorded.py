"""The recorded world: tools that know only what was recorded.

A call that matches a due call of the recording (same matching as `strict`) is accepted and gets the recorded result;
every other call is rejected with a result that says what is wrong without giving the answer away, and costs one
attempt. Each due decision, or each turn in which nothing is due, has `ReplayConfig.attempts` of them.

Two finer points (docs/decisions/replay-rules.md): a turn whose recording ends with a tool result is over as soon as
its calls are made, and a recorded call that is itself malformed is never due.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turngap import jsonio
from turngap.config import ReplayConfig
from turngap.data import (
    AssistantMessage,
    CallVerdict,
    Category,
    Conversation,
    Decision,
    Finish,
    Message,
    Repaired,
    Segment,
    ToolCall,
    ToolMessage,
    results_of,
    segments,
)
from turngap.domains.base import Expectation, Outcome
from turngap.metrics.matching import Matcher

_OUT_OF_PLACE = "this call is not valid at this point of the conversation"


class _Due:
    """A recorded tool decision, and what of it is still to be done."""

    def __init__(self, conversation: Conversation, decision: Decision) -> None:
        self.index = decision.index
        self.text = decision.reference.content
        pairs = zip(decision.reference.calls, results_of(conversation, decision), strict=True)
        self.open: list[tuple[ToolCall, ToolMessage]] = [pair for pair in pairs if pair[0].arguments is not None]
        self.rejected = 0
        self.silenced_by_limit = False


class RecordedWorld:
    """The world of one recording. Not shared between episodes."""

    def __init__(
        self, conversation: Conversation, matcher: Matcher, rules: ReplayConfig, *, start: int | None = None
    ) -> None:
        """Make the world as it is just before a turn, or in the middle of one.

        Args:
            conversation: the recording.
            matcher: of its calls.
            rules: attempts, and what silence means.
            start: recorded decision at which the agent takes over, with fresh attempts; None for the conversation's
                own start. Nothing before it is due.
        """
        self._conversation = conversation
        self._matcher = matcher
        self._rules = rules
        self._turns: list[Segment] = segments(conversation, start)
        self._turn = -1
        self._due: list[_Due] = []
        self._idle_rejected = 0
        self._spoke = False
        self.rejected = 0
        """Calls rejected so far."""
        self.recovered = 0
        """Due decisions (or turns without one) that were resolved after a rejected call."""
        self.first_error: int | None = None
        """Recorded decision of the first rejected or missing call."""

    def turn_begins(self) -> None:
        """Make the tool decisions of the next turn due, behind those that were carried over."""
        self._settle_idle()
        self._turn += 1
        self._spoke = False
        for decision in self._turns[self._turn].decisions:
            if decision.kind == "tool":
                due = _Due(self._conversation, decision)
                if due.open:
                    self._due.append(due)

    def turn_is_over(self) -> bool:
        """Whether all due calls are made and the recording says nothing more before the next user turn."""
        return self._spoke or (not self._due and self._closing() is None)

    def expected(self) -> Expectation:
        """The due decision with its open calls, else the text that closed the turn in the recording."""
        if self._due:
            due = self._due[0]
            calls = tuple(call for call, _ in due.open)
            reference = AssistantMessage(content=due.text, calls=calls)
            return Expectation(decision=due.index, attempt=due.rejected + 1, reference=reference)
        closing = self._closing()
        return Expectation(
            decision=closing.index if closing else None,
            attempt=self._idle_rejected + 1,
            reference=closing.reference if closing else None,
        )

    def answer(self, message: AssistantMessage, finish: Finish) -> Outcome:
        """Judge each call in order, or note that the agent spoke."""
        if not message.calls:
            return self._hear(finish)
        results: list[ToolMessage] = []
        verdicts: list[CallVerdict] = []
        problem = None
        for call in message.calls:
            if problem is not None:
                results.append(_error(call, _OUT_OF_PLACE))
                verdicts.append(CallVerdict(accepted=False, category=problem[0], detail="attempts were already spent"))
                continue
            result, verdict = self._judge(call, finish)
            results.append(result)
            verdicts.append(verdict)
            if verdict.attempt is not None and verdict.attempt >= self._rules.attempts and verdict.category is not None:
                problem = (verdict.category, verdict.decision, verdict.detail)
        return Outcome(results=tuple(results), verdicts=tuple(verdicts), problem=problem)

    def repair(self) -> Repaired | None:
        """Do the open calls of the due decision as recorded, or speak the text that closed the turn."""
        if self._due:
            due = self._due.pop(0)
            message = AssistantMessage(content=due.text, calls=tuple(call for call, _ in due.open))
            return Repaired(decision=due.index, message=message, results=tuple(result for _, result in due.open))
        self._spoke = True
        self._idle_rejected = 0
        closing = self._closing()
        return None if closing is None else Repaired(decision=closing.index, message=closing.reference)

    def outgrown(self, history: Sequence[Message]) -> bool:
        """Whether `history` holds more characters than the recording up to the end of this turn."""
        recorded = self._conversation.messages[: self._turns[self._turn].end]
        return _size(history) > _size(recorded)

    def close(self) -> tuple[Category, int | None, str] | None:
        """Name the first call that was never made."""
        self._settle_idle()
        if not self._due:
            return None
        due = self._due[0]
        self._note_error(due.index)
        category = Category.TRUNCATED_OUTPUT if due.silenced_by_limit else Category.MISSING_CALL
        names = ", ".join(call.name for call, _ in due.open)
        return category, due.index, f"reference: {names}; prediction: no call"

    def _closing(self) -> Decision | None:
        made = self._turns[self._turn].decisions
        return made[-1] if made and made[-1].kind == "text" else None

    def _hear(self, finish: Finish) -> Outcome:
        self._spoke = True
        if not self._due:
            return Outcome()
        due = self._due[0]
        due.silenced_by_limit |= finish is Finish.LENGTH
        if self._rules.when_silent == "carry":
            return Outcome()
        self._note_error(due.index)
        category = Category.TRUNCATED_OUTPUT if finish is Finish.LENGTH else Category.MISSING_CALL
        return Outcome(problem=(category, due.index, f"reference: {due.open[0][0].name}; prediction: text"))

    def _judge(self, call: ToolCall, finish: Finish) -> tuple[ToolMessage, CallVerdict]:
        due = self._due[0] if self._due else None
        for place, (reference, result) in enumerate(due.open if due else ()):
            if due and self._matcher.same(call, reference):
                del due.open[place]
                if not due.open:
                    self._due.pop(0)
                    self.recovered += due.rejected > 0
                return result, CallVerdict(accepted=True, decision=due.index)
        self.rejected += 1
        attempt, decision = self._spend(due)
        self._note_error(decision)
        category, told = self._fault(call, due, finish)
        detail = self._detail(call, due, told)
        return _error(call, told), CallVerdict(
            accepted=False, category=category, decision=decision, attempt=attempt, detail=detail
        )

    def _spend(self, due: _Due | None) -> tuple[int, int | None]:
        """Spend one attempt; returns its number and the recorded decision it is held against."""
        if due is not None:
            due.rejected += 1
            return due.rejected, due.index
        self._idle_rejected += 1
        closing = self._closing()
        return self._idle_rejected, closing.index if closing else None

    def _fault(self, call: ToolCall, due: _Due | None, finish: Finish) -> tuple[Category, str]:
        """The category of a rejected call, and what the model is told about it."""
        problem = self._matcher.problem(call)
        if call.arguments is None:
            category = Category.TRUNCATED_OUTPUT if finish is Finish.LENGTH else Category.MALFORMED_CALL
            return category, problem or "the arguments are not a JSON object"
        known = any(tool.name == call.name for tool in self._conversation.tools) or not self._conversation.tools
        if problem is not None:
            return (Category.WRONG_ARGUMENTS if known else Category.WRONG_TOOL), problem
        if self._comes_later(call):
            return Category.PREMATURE_CALL, _OUT_OF_PLACE
        named = due is not None and any(reference.name == call.name for reference, _ in due.open)
        return (Category.WRONG_ARGUMENTS if named else Category.WRONG_TOOL), _OUT_OF_PLACE

    def _comes_later(self, call: ToolCall) -> bool:
        waiting = [reference for due in self._due[1:] for reference, _ in due.open]
        ahead = [
            reference
            for turn in self._turns[self._turn + 1 :]
            for decision in turn.decisions
            for reference in decision.reference.calls
        ]
        return any(self._matcher.same(call, reference) for reference in (*waiting, *ahead))

    def _detail(self, call: ToolCall, due: _Due | None, told: str) -> str:
        if due is None:
            return f"reference: no call; prediction: {call.name} ({told})"
        return self._matcher.explain(call, due.open[0][0])

    def _note_error(self, decision: int | None) -> None:
        if self.first_error is None:
            self.first_error = decision

    def _settle_idle(self) -> None:
        """A turn that went on in spite of rejected calls while nothing was due counts as recovered."""
        self.recovered += self._idle_rejected > 0
        self._idle_rejected = 0


def _error(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(name=call.name, content=jsonio.dumps({"error": text}), error=True)


def _size(messages: Sequence[Message]) -> int:
    return sum(len(msgspec.json.encode(message)) for message in messages)
