"""A local model as judge: ``local/FILE.gguf`` or a packaged one, served and asked as `turngap.models.local` does.

Such a model is asked through the `Model` seam, which has one token limit for all its answers, so a reply that the limit
cut off is asked for again in fewer words only. Text is never looked at for tool calls here: a verdict is JSON too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turngap import jsonio
from turngap.config import JudgeConfig, MatchConfig
from turngap.data import Finish, UserMessage
from turngap.judges.llm import LlmJudge, SavePrompt, model_config
from turngap.models import Model, ModelContext, Request, Seat
from turngap.models import build as build_model
from turngap.models.client import Completion

_REASONS = {Finish.STOP: "stop", Finish.LENGTH: "length", Finish.FILTER: "content_filter"}


class ModelChat:
    """Asks a `Model` where a judge wants a chat server.

    Args:
        model: has to be asked at temperature 0 and without tool parsers.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    async def complete(
        self, messages: Sequence[dict[str, Any]], *, max_tokens: int | None, temperature: float | None
    ) -> Completion:
        """Ask once; limit and temperature are the model's own.

        Raises:
            EndpointError, ContextOverflow: as `Model.act`.
        """
        del max_tokens, temperature
        system, user = messages
        # Each case is a conversation of its own to whoever watches how prompts grow.
        seat = Seat(conversation=jsonio.digest(messages), protocol="judge", decision=None)
        history = (UserMessage(content=user["content"]),)
        prediction = await self._model.act(Request(policy=system["content"], tools=(), messages=history, seat=seat))
        message = {"role": "assistant", "content": prediction.message.content}
        return Completion(
            message=message,
            raw=jsonio.encode(message),
            finish_reason=_REASONS[prediction.finish],
            usage=prediction.usage,
            seconds=prediction.seconds,
            cached=prediction.cached,
        )

    async def aclose(self) -> None:
        """Stop the model."""
        await self._model.aclose()


def build(
    spec: str,
    config: JudgeConfig,
    _match: MatchConfig,
    context: ModelContext,
    save_prompt: SavePrompt | None = None,
) -> LlmJudge:
    """Build the judge ``local/FILE.gguf`` or ``local/NAME``; nothing is loaded yet.

    Raises:
        MissingExtra: a package is missing. UsageError: no such file, or options in the spec.
    """
    model = build_model(msgspec.structs.replace(model_config(spec, config), tool_parser="none"), context)
    server = {"model": model.identity()}
    return LlmJudge(
        spec,
        ModelChat(model),
        server=server,
        max_tokens=config.max_tokens,
        prices=config.prices,
        save_prompt=save_prompt,
    )
