"""The user that a language model plays: the same intent as the scripted user's, as a prompt.

The model is any `Model`. It sees the conversation from its side: the agent's texts as what it is told, its own messages
as what it said, its opening always among them, behind neutral first words; never the agent's calls and their results.
Reasoning is removed from what it says. An empty reply is asked for once more, with other words; a second one is a
`UserFault`. A yes and a good-bye in one breath becomes a yes, as long as the reference has something left to be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turngap import jsonio, models
from turngap.config import ModelConfig
from turngap.data import (
    AssistantMessage,
    Message,
    Prediction,
    Spoken,
    Termination,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from turngap.errors import UsageError, UserFault
from turngap.models import Model, ModelContext, Request, Seat
from turngap.models.reasoning import split
from turngap.users import prompt
from turngap.users.faults import leaves_early
from turngap.users.hearing import last_words
from turngap.users.lapse import Lapse, LapseKind
from turngap.users.signals import parse
from turngap.users.simulator import Part

_MOST_USES = 10
"""Rounds of its own tools in one turn, before it has to speak."""


class LlmUser:
    """The user of one trial."""

    def __init__(self, model: Model, part: Part) -> None:
        self.left: Termination | None = None
        self.usage = Usage()
        self._model = model
        self._part = part
        self._policy = prompt.system_text(part.task, hands=part.hands is not None)
        self._tools = () if part.hands is None else part.hands.tools
        self._view: list[Message] = []
        self._lapses: list[Lapse] = []
        self._turns = 0

    @property
    def lapses(self) -> tuple[Lapse, ...]:
        """Good-byes that were held back."""
        return tuple(self._lapses)

    async def speak(self, history: Sequence[Message]) -> tuple[UserMessage | Spoken, ...] | None:
        """Say the next thing; None after the last words, nothing where the given history ends with the user's own.

        Raises:
            UserFault: nothing was said, also when asked again (kind ``empty_user``).
            EndpointError: the model's server failed.
        """
        if self.left is not None:
            return None
        agent = last_words(history)
        if not self._view:
            self._view = _from_its_side(history)
            if history and not isinstance(history[-1], AssistantMessage):
                return ()
            if self._part.task.intent is not None and not self._turns:
                return (self._say(self._part.task.intent.opening),)
        else:
            self._view.append(UserMessage(content=agent or "(silence)"))
        calls, results, text = await self._next()
        words, ending = parse(text)
        if (
            ending is Termination.USER_STOP
            and words
            and leaves_early(self._part.task, agent, words, _calls(history), self._part.writes)
        ):
            detail = f"agreed and left in one breath; the good-bye was held back: {' '.join(words.split())[:100]}"
            self._lapses.append(Lapse(kind=LapseKind.ENDS_EARLY, turn=self._turns + 1, detail=detail, mended=True))
            text, ending = words, None
        self.left = ending
        message = self._say(text)
        return (Spoken(message=message, calls=calls, results=results),) if calls else (message,)

    def _say(self, text: str) -> UserMessage:
        self._turns += 1
        self._view.append(AssistantMessage(content=text))
        return UserMessage(content=text)

    async def _next(self) -> tuple[tuple[ToolCall, ...], tuple[ToolMessage, ...], str]:
        """What it does with its own tools, and what it says then."""
        calls: list[ToolCall] = []
        results: list[ToolMessage] = []
        rounds = 0
        while True:
            spent = rounds >= _MOST_USES
            text, wanted = await self._ask(may_act=not spent)
            if not wanted:
                return tuple(calls), tuple(results), text
            rounds += 1
            given = [await self._part.hands.use(call) for call in wanted]
            calls += wanted
            results += given
            self._view += [AssistantMessage(calls=wanted), *given]

    async def _ask(self, *, may_act: bool) -> tuple[str, tuple[ToolCall, ...]]:
        text, calls = _read(await self._request((), may_act=may_act))
        calls = calls if self._tools and may_act else ()
        if not text and not calls:
            text, calls = _read(await self._request((UserMessage(content=prompt.ASK_AGAIN),), may_act=False))
            if not text:
                fault = UserFault(f"the user said nothing in turn {self._turns + 1}, also when asked again")
                fault.kind = LapseKind.EMPTY_USER
                raise fault
            calls = ()
        return text, calls

    async def _request(self, further: tuple[UserMessage, ...], *, may_act: bool) -> Prediction:
        task = self._part.task
        view = [*self._view, *further]
        if further and isinstance(view[-2], UserMessage):
            view[-2:] = [UserMessage(content=f"{view[-2].content}\n\n{further[0].content}")]
        request = Request(
            policy=self._policy,
            tools=self._tools if may_act else (),
            messages=tuple(view),
            seat=Seat(conversation=task.id, protocol="user", decision=None, trial=self._part.trial),
        )
        prediction = await self._model.act(request)
        self.usage += prediction.usage
        return prediction


class LlmSimulator:
    """Makes users that one model plays."""

    def __init__(self, model: Model, *, label: str = "") -> None:
        self.label = label or f"llm/{model.label}"
        self._model = model

    def identity(self) -> dict[str, Any]:
        """The prompt by its digest, and the model."""
        wording = jsonio.digest([prompt.VERSION, prompt.NEUTRAL, prompt.ASK_AGAIN])[:16]
        return {"user": "llm", "prompt": wording, "model": self._model.identity()}

    def user(self, part: Part) -> LlmUser:
        """The user of one trial."""
        return LlmUser(self._model, part)

    async def aclose(self) -> None:
        """Release the model."""
        await self._model.aclose()


def build(config: ModelConfig, context: ModelContext) -> LlmSimulator:
    """Build ``llm/SPEC``, where SPEC names a model: ``llm/openai/NAME``, ``llm/local/smollm2``.

    Raises:
        UsageError: no model is named, or the model cannot be built (see `turngap.models.build`).
    """
    spec = config.spec.partition("/")[2]
    if not spec:
        raise UsageError(f"user {config.spec!r} names no model; write llm/openai/NAME or llm/local/smollm2")
    return LlmSimulator(models.build(msgspec.structs.replace(config, spec=spec), context), label=config.spec)


def _read(prediction: Prediction) -> tuple[str, tuple[ToolCall, ...]]:
    """What is said, without reasoning, and the calls whose arguments could be read."""
    words, _ = split(prediction.message.content)
    return words.strip(), tuple(call for call in prediction.message.calls if call.arguments is not None)


def _calls(history: Sequence[Message]) -> list[ToolCall]:
    return [call for message in history if isinstance(message, AssistantMessage) for call in message.calls]


def _from_its_side(history: Sequence[Message]) -> list[Message]:
    """A given history with the sides changed: texts only, beginning with words of the agent, the sides taking turns."""
    view: list[Message] = []
    for message in history:
        mine = isinstance(message, UserMessage)
        if not mine and not (isinstance(message, AssistantMessage) and message.content and not message.calls):
            continue
        if mine and not view:
            view.append(UserMessage(content=prompt.NEUTRAL))
        side = AssistantMessage if mine else UserMessage
        before = view[-1] if view else None
        if isinstance(before, side):
            view[-1] = side(content=f"{before.content}\n{message.content}")
        else:
            view.append(side(content=message.content))
    return view or [UserMessage(content=prompt.NEUTRAL)]
