"""A model behind a chat-completions server: `openai/NAME`, and what `local/...` is served as.

`ChatModel` joins the parts: `wire` writes the request, `client` carries it, `reading` reads the answer. It also notices
what servers do in silence: a prompt that was cut, parallel calls that were forbidden, tools that a template drops.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap import jsonio
from turngap.config import ModelConfig, Prices
from turngap.data import AssistantMessage, Prediction, Usage
from turngap.errors import ContextOverflow, EndpointError, UsageError
from turngap.models import dialects
from turngap.models.base import ModelContext, Request
from turngap.models.client import ChatClient, Completion
from turngap.models.fault import ArgumentsRefused
from turngap.models.limits import PromptWatch, least_tokens, prompt_words
from turngap.models.preflight import Findings, examine
from turngap.models.reading import VERSION, finish_of, read
from turngap.models.wire import Wire


def build(config: ModelConfig, context: ModelContext) -> ChatModel:
    """Build `openai/NAME`.

    Raises:
        UsageError: no name, options in the spec, or an unknown tool parser. ConfigError: see `ChatClient.open`.
    """
    if not config.name:
        raise UsageError(f"model {config.spec!r} names no model; write openai/NAME, as the server calls it")
    if config.options():
        raise UsageError(f"model {config.spec!r}: openai/NAME takes no options; use --extra-body")
    return ChatModel(config, ChatClient.open(config, context), context)


class ChatModel:
    """Asks a chat-completions server for the next action. Safe for many tasks; see `ChatClient` for loops and threads.

    Raises:
        UsageError: unknown `tool_parser`.
    """

    def __init__(
        self, config: ModelConfig, client: ChatClient, context: ModelContext, *, wire: Wire | None = None
    ) -> None:
        self.label = config.spec
        self._config, self._client, self._context = config, client, context
        self._parsers = dialects.chosen(config.tool_parser)
        self._wire = wire or Wire(fold_roles=config.fold_roles, send_reasoning=config.send_reasoning)
        self._watch = PromptWatch()
        self._context_length = config.context_length
        self._told: set[str] = set()

    def identity(self) -> dict[str, Any]:
        """Endpoint and every setting that can change an answer; no secrets."""
        config = self._config
        return {
            "kind": "chat",
            "endpoint": self._client.identity,
            "model": self._client.model,
            "temperature": config.temperature,
            "max_tokens": config.max_tokens,
            "seed": config.seed,
            "extra_body": config.extra_body,
            "tool_parser": config.tool_parser,
            "parser_version": VERSION,
            "fold_roles": config.fold_roles,
            "send_reasoning": config.send_reasoning,
        }

    async def act(self, request: Request) -> Prediction:
        """Ask for the next action.

        Raises:
            EndpointError: no answer could be had; with kind ``context_truncated_by_server`` when the server cut the
                prompt. ContextOverflow: the request does not fit. ConfigError: no request can succeed as configured.
        """
        sent = prompt_words(request)
        least = least_tokens(sent)
        if self._context_length is not None and least > self._context_length:
            raise ContextOverflow(
                f"a prompt of at least {least} tokens, for a context of {self._context_length}; it was not sent"
            )
        try:
            completion = await self._complete(request)
        except ArgumentsRefused:
            if self._wire.wrap_malformed or not _has_malformed(request):
                raise
            self._wire.wrap_malformed = True
            self._tell("the server fails on malformed calls in the history; they are sent wrapped in valid JSON")
            completion = await self._complete(request)
        self._check_prompt(request, sent, completion)
        return self._prediction(request, completion)

    async def _complete(self, request: Request) -> Completion:
        config = self._config
        messages, tools = self._wire.encode(request)
        return await self._client.complete(
            messages,
            tools=tools,
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            # Trials of a task have seeds of their own, or they would all be one answer.
            seed=None if config.seed is None else config.seed + request.seat.trial,
            extra=config.extra_body,
            sample=_sample(request),
        )

    async def look(self, request: Request) -> Findings:
        """What the server tells about itself and one typical request; tells nobody."""
        messages, tools = self._wire.encode(request)
        names = self._wire.view(request.tools).names
        return await examine(self._client, messages, tools, [names.outward(tool.name) for tool in request.tools])

    async def preflight(self, request: Request) -> Findings:
        """Look at the server before a run, with one typical request: context length, templates that drop tools.

        Never raises for a server that does not answer such questions. Each finding is told once by `notify`.
        """
        findings = await self.look(request)
        if self._context_length is None:
            self._context_length = findings.context_length
        for warning in findings.warnings:
            self._tell(warning)
        renamed = self._wire.view(request.tools).names.renamed
        if renamed and not self._config.fold_roles:
            self._tell(f"tool names that the API refuses go out under others: {jsonio.dumps(renamed)}")
        return findings

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._client.aclose()

    def _check_prompt(self, request: Request, sent: int, completion: Completion) -> None:
        try:
            self._watch.check(request.seat, sent, completion.usage.prompt_tokens)
        except EndpointError as error:
            self._tell(str(error), key=error.kind)
            error.attempts = completion.attempts
            raise

    def _prediction(self, request: Request, completion: Completion) -> Prediction:
        reading = read(completion.message, self._wire.view(request.tools), self._parsers)
        if len(reading.message.calls) > 1 and self._config.extra_body.get("parallel_tool_calls") is False:
            self._tell("the server answers with several calls although parallel_tool_calls is false; all are kept")
        return Prediction(
            message=reading.message,
            raw=completion.raw.decode("utf-8", "replace"),
            finish=finish_of(completion.finish_reason),
            dialect=reading.dialect,
            notes=reading.notes,
            usage=priced(completion.usage, self._config.prices),
            seconds=completion.seconds,
            cached=completion.cached,
        )

    def _tell(self, text: str, key: str | None = None) -> None:
        if (key or text) not in self._told:
            self._told.add(key or text)
            self._context.notify(text)


def _has_malformed(request: Request) -> bool:
    return any(
        call.arguments is None
        for message in request.messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
    )


def _sample(request: Request) -> str:
    seat = request.seat
    return f"{seat.conversation}\n{seat.protocol} {seat.decision} {seat.attempt} {seat.trial}"


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Add the cost by the configured prices.

    An answer from turngap's own cache counts as if asked for, so that a resumed run costs what it cost.
    """
    if prices is None:
        return usage
    fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
    per_cached = prices.prompt if prices.cached is None else prices.cached
    cost = (
        fresh * prices.prompt + usage.cached_tokens * per_cached + usage.completion_tokens * prices.completion
    ) / 1e6
    return msgspec.structs.replace(usage, cost=cost)
