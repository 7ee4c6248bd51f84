"""A language model as judge, over any chat-completions server.

One request a verdict, at temperature 0, with one of the two prompts of `turngap.judges.prompt`. A reply that cannot be
read is asked for once more with a changed request: larger limit and fewer words where the limit cut it off, else a note
of what was wrong. After that there is no verdict (`JudgeError`): a judge's failure is never the model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from turngap.config import JudgeConfig, MatchConfig, ModelConfig, Prices
from turngap.data import Usage, Verdict
from turngap.errors import ConfigError, ContextOverflow, JudgeError, UsageError
from turngap.judges import prompt, reply, suspicion
from turngap.judges.base import TurnCase, WorkflowCase
from turngap.models.base import ModelContext
from turngap.models.chat import priced
from turngap.models.client import ChatClient, Completion

_LARGER = 4
"""Times the token limit of a reply that the first limit cut off."""
_MOST_QUOTED = 80

SavePrompt = Callable[[dict[str, Any]], None]


class Chat(Protocol):
    """What a judge needs of a server: `turngap.models.client.ChatClient`, or whatever stands in for it."""

    async def complete(
        self, messages: Sequence[dict[str, Any]], *, max_tokens: int | None, temperature: float | None
    ) -> Completion:
        """Ask for one completion.

        Raises:
            EndpointError: no answer after all retries. ContextOverflow: the prompt does not fit.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


T = TypeVar("T")


class Place(msgspec.Struct, frozen=True):
    """Which unit is judged."""

    protocol: str
    conversation: str
    decision: int | None


class Answered(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A reply that could be read."""

    answer: T
    text: str
    """The reply, verbatim."""
    asks: int
    usage: Usage
    """Of all times the model was asked."""


class LlmJudge:
    """Asks a model for verdicts.

    Args:
        label: how tables name it.
        chat: the server.
        server: what identifies the server and the model, for `identity`.
        max_tokens: most tokens of a reply.
        prices: for the cost in `Verdict.usage`.
        save_prompt: receives ``{"judge", "protocol", "conversation", "decision", "ask", "messages"}`` before each
            request; `messages` is exactly what is sent.
    """

    def __init__(
        self,
        label: str,
        chat: Chat,
        *,
        server: dict[str, Any],
        max_tokens: int,
        prices: Prices | None = None,
        save_prompt: SavePrompt | None = None,
    ) -> None:
        self.label = label
        self._chat, self._server = chat, server
        self._max_tokens = max_tokens
        self._prices = prices
        self._save_prompt = save_prompt

    def identity(self) -> dict[str, Any]:
        """Server, model, settings, and the version of the prompts; no secrets."""
        return {
            "judge": "llm",
            **self._server,
            "temperature": 0,
            "max_tokens": self._max_tokens,
            "prompts": prompt.VERSION,
        }

    async def turn(self, case: TurnCase) -> Verdict:
        """Judge one decision.

        Raises:
            JudgeError: no verdict could be read, also after one re-ask, or the case does not fit the judge's context.
            EndpointError: the judge's server failed.
        """
        place = Place("turn", case.conversation.id, case.decision.index)
        return await self._judge(place, prompt.turn(case), suspicion.of_turn(case))

    async def workflow(self, case: WorkflowCase) -> Verdict:
        """Judge one closed loop; raises as `turn`."""
        place = Place("workflow", case.conversation.id, None)
        return await self._judge(place, prompt.workflow(case), suspicion.of_workflow(case))

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._chat.aclose()

    async def ask(
        self, place: Place, messages: prompt.Messages, read: Callable[[str], T | reply.Unreadable]
    ) -> Answered[T]:
        """Ask the model, and once more when the reply cannot be read.

        Args:
            place: the unit, for `save_prompt`.
            messages: the request, of a system and a user message.
            read: reads the text of a reply.

        Raises:
            JudgeError, EndpointError: as `turn`.
        """
        completion = await self._ask(place, messages, 1, self._max_tokens)
        answer, asks = _read(completion, read), 1
        usage = priced(completion.usage, self._prices)
        if isinstance(answer, reply.Unreadable):
            cut = completion.finish_reason == "length"
            messages = prompt.again(messages, answer.reason, briefly=cut)
            completion = await self._ask(place, messages, 2, self._max_tokens * (_LARGER if cut else 1))
            answer, asks = _read(completion, read), 2
            usage += priced(completion.usage, self._prices)
        text = _text(completion)
        if isinstance(answer, reply.Unreadable):
            quoted = " ".join(text.split())
            shown = f"{quoted[:_MOST_QUOTED]}…" if len(quoted) > _MOST_QUOTED else quoted
            raise JudgeError(
                f"{self.label} gave no verdict in {asks} replies; of the last one, {answer.reason}: {shown!r}"
            )
        return Answered(answer=answer, text=text, asks=asks, usage=usage)

    async def _judge(self, place: Place, messages: prompt.Messages, flags: tuple[str, ...]) -> Verdict:
        said = await self.ask(place, messages, reply.read)
        return Verdict(
            success=said.answer.success,
            category=said.answer.category,
            rationale=said.answer.rationale,
            raw=said.text,
            asks=said.asks,
            usage=said.usage,
            flags=flags,
        )

    async def _ask(self, place: Place, messages: prompt.Messages, ask: int, max_tokens: int) -> Completion:
        if self._save_prompt is not None:
            unit = msgspec.structs.asdict(place)
            self._save_prompt({"judge": self.label, **unit, "ask": ask, "messages": messages})
        try:
            return await self._chat.complete(messages, max_tokens=max_tokens, temperature=0.0)
        except ConfigError as error:
            raise _about_judge(self.label, error) from None
        except ContextOverflow as error:
            # Whose talk was too long is nobody's fault here: the judge is too small for this case.
            raise JudgeError(f"{self.label}: the case does not fit the judge's context: {error}") from None


def build(
    spec: str,
    config: JudgeConfig,
    _match: MatchConfig,
    context: ModelContext,
    save_prompt: SavePrompt | None = None,
) -> LlmJudge:
    """Build the judge ``openai/NAME``; `base_url` and key as for models.

    Raises:
        UsageError: see `model_config`. ConfigError: see `ChatClient.open`.
    """
    model = model_config(spec, config)
    try:
        client = ChatClient.open(model, context)
    except ConfigError as error:
        raise _about_judge(spec, error) from None
    server = {"endpoint": client.identity, "model": client.model}
    return LlmJudge(
        spec, client, server=server, max_tokens=config.max_tokens, prices=config.prices, save_prompt=save_prompt
    )


def model_config(spec: str, config: JudgeConfig) -> ModelConfig:
    """How a judge's model is asked, at temperature 0.

    Raises:
        UsageError: no name, or options in the spec.
    """
    model = ModelConfig(
        spec=spec,
        base_url=config.base_url,
        api_key_env=config.api_key_env,
        max_tokens=config.max_tokens,
        timeout=config.timeout,
        give_up_after=config.give_up_after,
        concurrency=config.concurrency,
        prices=config.prices,
    )
    if not model.name or model.options():
        raise UsageError(f"judge {spec!r} should be PROVIDER/NAME without options, e.g. openai/NAME or local/FILE.gguf")
    return model


def _about_judge(label: str, error: ConfigError) -> ConfigError:
    """What is wrong with a server, with the options that set the judge's server in place of the model's."""
    said = str(error).replace("OPENAI_BASE_URL", "TURNGAP_JUDGE_BASE_URL")
    said = re.sub(r"(?<![\w-])--(?=base-url|api-key-env)", "--judge-", said)
    if said.startswith("no key"):
        said += " (--judge-api-key-env names the variable of the judge's key)"
    return ConfigError(f"judge {label}: {said}")


def _read(completion: Completion, read: Callable[[str], T | reply.Unreadable]) -> T | reply.Unreadable:
    """Read a reply; one that a limit cut off has said nothing, however complete a part of it looks."""
    if completion.finish_reason == "length":
        return reply.Unreadable("it was cut off by the token limit")
    if completion.finish_reason == "content_filter":
        return reply.Unreadable("the provider withheld it")
    return read(_text(completion))


def _text(completion: Completion) -> str:
    """What the judge said; its reasoning, where the server delivers it apart, is never read."""
    content = completion.message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
