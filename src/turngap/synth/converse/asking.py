"""Ask a model for one JSON object, and once more where its reply cannot be read.

Scenario writer, tool simulator and judges ask in this way; what an unreadable reply means is for each of them to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from turngap import jsonio, models
from turngap.config import ModelConfig
from turngap.data import Finish, Prediction, Usage, UserMessage
from turngap.judges import prompt
from turngap.judges.reply import Unreadable
from turngap.models import Model, ModelContext, Request, Seat

T = TypeVar("T")

_MOST_QUOTED = 80


class Answer(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A reply that could be read."""

    value: T
    asks: int
    usage: Usage
    """Of all times the model was asked."""


class UnreadableError(Exception):
    """Neither the reply nor the one to the second question could be read; `str()` says what was wrong with the last."""


class Asker:
    """Asks one model.

    Args:
        model: built without parsers of tool calls, since what it answers is JSON too.
        label: how tables name it; empty: the model's label.
    """

    def __init__(self, model: Model, label: str = "") -> None:
        self.model = model
        self.label = label or model.label

    def identity(self) -> dict[str, Any]:
        """The model's."""
        return self.model.identity()

    async def ask(self, key: str, messages: prompt.Messages, read: Callable[[str], T | Unreadable]) -> Answer[T]:
        """Ask, and once more with what was wrong.

        Args:
            key: of the unit that the question is about, so that equal questions about two units are two questions.
            messages: a system and a user message.
            read: reads the text of a reply.

        Raises:
            UnreadableError: no reply could be read. EndpointError: the server failed. ContextOverflow: it does not fit.
        """
        first = await self._ask(key, messages)
        value = _read(first, read)
        if not isinstance(value, Unreadable):
            return Answer(value=value, asks=1, usage=first.usage)
        again = prompt.again(messages, value.reason, briefly=first.finish is Finish.LENGTH)
        second = await self._ask(key, again)
        value = _read(second, read)
        if isinstance(value, Unreadable):
            quoted = " ".join(second.message.content.split())
            shown = f"{quoted[:_MOST_QUOTED]}…" if len(quoted) > _MOST_QUOTED else quoted
            raise UnreadableError(f"{self.label}, asked twice: {value.reason}: {shown!r}")
        return Answer(value=value, asks=2, usage=first.usage + second.usage)

    async def aclose(self) -> None:
        """Release the model."""
        await self.model.aclose()

    async def _ask(self, key: str, messages: prompt.Messages) -> Prediction:
        system, user = messages
        # Each question is a conversation of its own to whoever watches how prompts grow.
        seat = Seat(conversation=jsonio.digest([key, messages]), protocol="converse", decision=None)
        history = (UserMessage(content=user["content"]),)
        return await self.model.act(Request(policy=system["content"], tools=(), messages=history, seat=seat))


def open_asker(config: ModelConfig, context: ModelContext) -> Asker:
    """Build the model that a configuration names, to be asked for JSON.

    Raises:
        UsageError, MissingExtra, ConfigError: as `turngap.models.build`.
    """
    return Asker(models.build(msgspec.structs.replace(config, tool_parser="none"), context), config.spec)


def _read(prediction: Prediction, read: Callable[[str], T | Unreadable]) -> T | Unreadable:
    """Read a reply; one that a limit cut off has said nothing, however complete a part of it looks."""
    if prediction.finish is Finish.LENGTH:
        return Unreadable("it was cut off by the token limit")
    if prediction.finish is Finish.FILTER:
        return Unreadable("the provider withheld it")
    return read(prediction.message.content)
