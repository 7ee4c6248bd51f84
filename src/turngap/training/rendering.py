"""From examples and conversations to tokens, with how often each of them is learnt.

What is learnt is exactly the decision and the token that ends it: no policy, no user, no result, nothing that the
template puts around them. This is checked on every single sequence, not assumed of the template: the prompt has to be a
prefix of the whole on token ids, and the learnt tokens, decoded and read as an answer would be read, have to give the
decision back. What fails is refused with the reason (`Refused`), never rendered some other way.

A prompt that is too long loses its oldest turns, one after the other, and what was cut is counted. Policy, tools, the
turn that the decision belongs to and the decision itself are never cut; where they alone are too long, the example is
refused.

Where the template writes every message by itself, whatever follows, a conversation is one sequence in which its
decisions are learnt at once (`conversation`): as many examples for the price of one. Each counts as often as a set of
examples holds it: never (context), once, or several times, which teaches what as many single sequences would. Templates
that rewrite earlier turns (reasoning that is shown in the last turn only) are found out and refused for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, Decision, Message, ToolSpec, UserMessage, decisions
from turngap.errors import DataFault
from turngap.models import dialects
from turngap.models.reading import ToolView, read
from turngap.models.templating import Templated
from turngap.training.example import Example

Why = Literal[
    "too long",
    "rewritten",
    "not read back",
    "no end",
    "no reasoning",
    "refused by the template",
    "malformed call",
    "nothing to learn",
]
"""The kinds of reasons for which an example is not rendered."""

_PLAIN = "plain"
_THOUGHT = "</think>"


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """One sequence to train on."""

    id: str
    """Of the example, or of the conversation."""
    tokens: tuple[int, ...]
    learnt: tuple[int, ...]
    """One per token: how often it is a target; 0 where it is context."""
    cut: int = 0
    """Messages of the context that were left out for length."""
    decisions: int = 1
    """How many decisions are learnt, each counted as often as it is."""

    @property
    def targets(self) -> int:
        """Learnt tokens, each counted as often as it is: what a mean loss is divided by."""
        return sum(self.learnt)


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """What is not trained on."""

    id: str
    why: Why
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.id}: {self.why}{f': {self.detail}' if self.detail else ''}"


class _RefusedError(Exception):
    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(why)
        self.why: Why = why
        self.detail = detail


class Renderer:
    """Renders for one model.

    Args:
        templated: its tokenizer and template.
        limit: most tokens of a sequence; None for any number.
    """

    def __init__(self, templated: Templated, limit: int | None = None) -> None:
        self.templated = templated
        self.limit = limit
        self._marks: frozenset[int] | None = None

    def example(self, example: Example) -> Rendered | Refused:
        """Render one next-action example."""
        try:
            return self._example(example)
        except _RefusedError as refusal:
            return Refused(id=example.id, why=refusal.why, detail=refusal.detail)
        except DataFault as error:
            return Refused(id=example.id, why="refused by the template", detail=str(error))

    def conversation(self, conversation: Conversation, counts: Mapping[int, int] | None = None) -> Rendered | Refused:
        """Render a conversation as one sequence in which many decisions are learnt; nothing of it is ever cut.

        Args:
            conversation: the recording.
            counts: index of a decision -> how often it is learnt, such as how often a set of examples holds it; the
                others are context, and `Conversation.start` says nothing. None: from the start on, once each that can
                be (malformed calls and empty answers cannot).
        """
        try:
            return self._conversation(conversation, counts)
        except _RefusedError as refusal:
            return Refused(id=conversation.id, why=refusal.why, detail=refusal.detail)
        except DataFault as error:
            return Refused(id=conversation.id, why="refused by the template", detail=str(error))

    def _example(self, example: Example) -> Rendered:
        problem = _problem(example.target)
        if problem is not None:
            raise problem
        policy, tools = example.setting.policy, example.setting.tools
        context: Sequence[Message] = example.context
        self._require_opening(policy, tools, context)
        while True:
            prompt = self._prompt(policy, tools, context)
            target = self._target(policy, tools, context, example.target)
            size = len(prompt) + len(target)
            if self.limit is None or size <= self.limit:
                break
            shorter = _without_oldest_turn(context)
            if shorter is None:
                raise _RefusedError("too long", f"{size} tokens without anything that may be cut, limit {self.limit}")
            context = shorter
        self._check(example.target, target, ToolView(tools))
        return Rendered(
            id=example.id,
            tokens=(*prompt, *target),
            learnt=(*[0] * len(prompt), *[1] * len(target)),
            cut=len(example.context) - len(context),
        )

    def _conversation(self, conversation: Conversation, counts: Mapping[int, int] | None) -> Rendered:
        policy, tools, view = conversation.policy, conversation.tools, ToolView(conversation.tools)
        self._require_opening(policy, tools, conversation.messages)
        chosen = _chosen(conversation, counts)
        if not chosen:
            raise _RefusedError("nothing to learn", "there is no decision in it that can be learnt")
        last = chosen[-1][0].position
        whole = self._tokens(self.templated.whole(policy, tools, conversation.messages[: last + 1]))
        learnt = [0] * len(whole)
        end = 0
        for decision, count in chosen:
            prompt = self._prompt(policy, tools, conversation.messages[: decision.position])
            if whole[: len(prompt)] != prompt:
                raise _RefusedError("rewritten", f"what stands before decision {decision.index} changes later on")
            target = self._to_its_end(whole[len(prompt) :])
            try:
                self._check(decision.reference, target, view)
            except _RefusedError:
                if (
                    self._target(policy, tools, conversation.messages[: decision.position], decision.reference)
                    == target
                ):
                    raise
                raise _RefusedError("rewritten", f"decision {decision.index} itself changes later on") from None
            end = len(prompt) + len(target)
            learnt[len(prompt) : end] = [count] * len(target)
        if self.limit is not None and end > self.limit:
            raise _RefusedError("too long", f"{end} tokens, limit {self.limit}")
        return Rendered(
            id=conversation.id,
            tokens=tuple(whole[:end]),
            learnt=tuple(learnt[:end]),
            decisions=sum(count for _, count in chosen),
        )

    def _prompt(self, policy: str, tools: tuple[ToolSpec, ...], messages: Sequence[Message]) -> list[int]:
        return self._tokens(self.templated.prompt(policy, tools, messages))

    def _tokens(self, text: str) -> list[int]:
        return self.templated.tokens(text)

    def _target(
        self,
        policy: str,
        tools: tuple[ToolSpec, ...],
        context: Sequence[Message],
        target: AssistantMessage,
    ) -> list[int]:
        answer = self.templated.answer(policy, tools, context, target)
        if answer is None:
            raise _RefusedError("rewritten", "what stands before the decision changes with it")
        # On its own, as a model generates it behind a prompt: no token reaches from one into the other.
        return self._to_its_end(self._tokens(answer))

    def _to_its_end(self, rest: list[int]) -> list[int]:
        """The tokens of a decision up to the first mark that ends a turn, where whoever generates it stops."""
        marks = self._turn_marks()
        end = next((at for at, token in enumerate(rest) if token in marks), None)
        if end is None:
            raise _RefusedError("no end", "the template writes no mark where a decision ends, so nothing would stop")
        return rest[: end + 1]

    def _turn_marks(self) -> frozenset[int]:
        """The marks that stand behind an answer."""
        if self._marks is None:
            self._marks = self.templated.turn_marks()
        return self._marks

    def _require_opening(self, policy: str, tools: tuple[ToolSpec, ...], messages: Sequence[Message]) -> None:
        """Refuse what begins with the agent where the template takes whatever is first for the user's."""
        if not messages or not isinstance(messages[0], AssistantMessage):
            return
        if self.templated.answer(policy, tools, (), messages[0]) is None:
            raise _RefusedError("rewritten", "the template has no place for an agent that speaks first")

    def _check(self, wanted: AssistantMessage, target: list[int], view: ToolView) -> None:
        """Read the learnt tokens as an answer would be read; they have to give the decision back."""
        text = self.templated.text(target[:-1])
        if self.templated.manner.thinking and not wanted.reasoning:
            raise _RefusedError("no reasoning", "the model is to reason first, and the decision holds none")
        if not self.templated.manner.thinking and _THOUGHT in text and _THOUGHT not in wanted.content:
            raise _RefusedError("no reasoning", "the template writes thoughts before every answer (--thinking)")
        found = read({"content": text}, view, dialects.ALL).message
        if found.content.strip() != wanted.content.strip():
            raise _RefusedError("not read back", f"text {_cut(wanted.content)} came back as {_cut(found.content)}")
        ours = [(call.name, jsonio.canonical(call.arguments)) for call in wanted.calls]
        theirs = [(call.name, jsonio.canonical(call.arguments)) for call in found.calls]
        if ours != theirs:
            raise _RefusedError("not read back", f"calls {_cut(str(ours))} came back as {_cut(str(theirs))}")
        if self.templated.manner.thinking and wanted.reasoning and (found.reasoning or "") != wanted.reasoning.strip():
            raise _RefusedError("not read back", "the reasoning is lost in the template")


def _chosen(conversation: Conversation, counts: Mapping[int, int] | None) -> list[tuple[Decision, int]]:
    """The decisions that are learnt, in order, and how often each is."""
    if counts is None:
        return [(one, 1) for one in decisions(conversation) if _problem(one.reference) is None]
    everything = decisions(msgspec.structs.replace(conversation, start=0))
    chosen = [(one, counts[one.index]) for one in everything if counts.get(one.index, 0) > 0]
    problem = next((found for one, _ in chosen if (found := _problem(one.reference)) is not None), None)
    if problem is not None:
        raise problem
    return chosen


def _problem(message: AssistantMessage) -> _RefusedError | None:
    """Why a decision is not to be learnt, whatever the template."""
    broken = next((call for call in message.calls if call.arguments is None), None)
    if broken is not None:
        return _RefusedError("malformed call", f"{broken.name}: {broken.error}")
    if not message.calls and not message.content.strip():
        return _RefusedError("nothing to learn", "the answer is empty")
    return None


def _without_oldest_turn(messages: Sequence[Message]) -> Sequence[Message] | None:
    """The messages from the second thing that a user said on; None where that is the turn at hand."""
    spoken = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
    later = [at for at in spoken if at > 0]
    return messages[later[0] :] if later else None


def _cut(text: str, most: int = 80) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= most else f"{flat[:most]}…")
