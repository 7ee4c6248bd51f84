"""Models that run here, without a network or a key: packaged ones and `local/FILE.gguf`, served by llama.cpp.

The weights are served on loopback inside this process (package ``xllamacpp``) and asked through the same client as any
other server, so that what is measured is the same path. The server starts with the first request and stops in `aclose`.

`local/smollm2` and `local/gemma3-270m` are those of `turngap.models.packaged`. The chat template of the first drops
tools without a word and the second has none, hence they get ours (`turngap.models.turns`); any other file keeps its
own template unless that drops tools too.

At temperature 0 the same request gets the same answer, whatever stood in the server's prompt cache: one request runs
at a time, and the engine's fused attention, whose sums depend on how a prompt was cut into batches, is off.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import os
import threading
import urllib.request
from collections.abc import AsyncIterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import Prediction, ToolSpec, UserMessage
from turngap.errors import ConfigError, MissingExtra, UsageError
from turngap.models.base import ModelContext, Request, Seat
from turngap.models.chat import ChatModel
from turngap.models.client import ChatClient, Pace
from turngap.models.endpoint import resolve
from turngap.models.packaged import named, names
from turngap.models.preflight import Findings
from turngap.models.turns import CHATML, GEMMA, Turns, known_to
from turngap.models.wire import Wire

UNTUNED_TOKENS = 256
"""Most tokens of one answer of a packaged model; untuned they talk on until they are stopped."""

_CONTEXT = 8192
_CACHE_MIB = 1024
_SMALL = 512 << 20
"""Bytes of weights up to which several engines are worth their memory."""
_MOST_ENGINES, _MOST_HOMES = 8, 10_000
_LONGEST_START, _LONGEST_STOP = 120.0, 10.0
"""Seconds."""
_EDGE = 1 << 20
_PROBE = ToolSpec(name="probe_of_the_template", parameters={"type": "object", "properties": {}})


class _Engine(msgspec.Struct):
    """A running server and the model that asks it."""

    server: Any
    model: ChatModel
    under_way: int = 0
    """Requests."""


def build(config: ModelConfig, context: ModelContext) -> LocalModel:
    """Build a packaged model or `local/FILE.gguf`; nothing is loaded yet.

    Raises:
        MissingExtra: a package is missing; the message holds the command that installs it.
        UsageError: no such file, or options in the spec. ConfigError: weights cannot be put together in the cache.
    """
    if config.options():
        raise UsageError(f"model {config.spec!r}: local models take no options")
    if find_spec("xllamacpp") is None:
        raise MissingExtra(f"{config.spec} needs the package xllamacpp: pip install xllamacpp")
    packaged = named(config.spec)
    if packaged is not None:
        if config.max_tokens > UNTUNED_TOKENS:
            config = msgspec.structs.replace(config, max_tokens=UNTUNED_TOKENS)
        return LocalModel(config, context, packaged.file(), turns=packaged.turns)
    file = Path(config.name).expanduser()
    if file.suffix != ".gguf" or not file.is_file():
        raise UsageError(f"model {config.spec!r}: {file} is not a .gguf file; write {names()} or local/FILE.gguf")
    return LocalModel(config, context, file)


class LocalModel:
    """A GGUF file served on loopback. Safe for many tasks, several loops and threads, which share its servers.

    A small model leaves most of a processor idle when one thread after the other waits for the next token. So it is
    served by several engines of one thread each, up to one for each core and as many as requests are wanted under way;
    they start when there is work for them. A conversation stays with the engine whose prompt cache knows it, unless
    that is busy and another one is idle.

    Args:
        config: how it is asked; `context_length` is per request.
        context: cache and notes.
        file: the weights.
        turns: those whose template is used instead of the file's own; None: the file's own, unless that drops tools.
    """

    def __init__(self, config: ModelConfig, context: ModelContext, file: Path, *, turns: Turns | None = None) -> None:
        self.label = config.spec
        self._cores = os.cpu_count() or 2
        small = file.stat().st_size <= _SMALL
        self.concurrency = max(1, min(config.concurrency, self._cores, _MOST_ENGINES)) if small else 1
        """Requests worth having under way at once: one an engine. Two in one batch would change each other's rounding.
        """
        self._config, self._context = config, context
        self._file, self._turns = file, turns
        self._template = turns
        """What engines are started with: the same, or ours where the file's own turned out to drop tools."""
        self._engines: list[_Engine] = []
        self._homes: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._identity: dict[str, Any] | None = None

    def identity(self) -> dict[str, Any]:
        """The file (name, size, digest of both ends), the engine's version, the template and the settings."""
        if self._identity is None:
            config = self._config
            self._identity = {
                "kind": "local",
                "file": self._file.name,
                "weights": _fingerprint(self._file),
                "engine": f"xllamacpp {version('xllamacpp')}",
                "template": jsonio.digest("" if self._turns is None else self._turns.source()),
                "fallback_template": jsonio.digest(_known_to(self._file).source()),
                "context_length": self._window,
                "temperature": config.temperature,
                "max_tokens": config.max_tokens,
                "seed": config.seed,
                "extra_body": config.extra_body,
                "tool_parser": config.tool_parser,
                "fold_roles": config.fold_roles,
            }
        return self._identity

    async def act(self, request: Request) -> Prediction:
        """Answer one request; the first one starts the server.

        Raises:
            ConfigError: the weights cannot be loaded. Otherwise as `ChatModel.act`.
        """
        async with self._engine(request.seat) as model:
            return await model.act(request)

    async def preflight(self, request: Request) -> Findings:
        """As `ChatModel.preflight`."""
        async with self._engine(request.seat) as model:
            return await model.preflight(request)

    async def aclose(self) -> None:
        """Stop the servers and free their memory; a later request would start one again."""
        for engine in self._engines:
            await engine.model.aclose()
        if self._engines:
            await asyncio.to_thread(self._stop)

    @property
    def _window(self) -> int:
        return self._config.context_length or _CONTEXT

    @contextlib.asynccontextmanager
    async def _engine(self, seat: Seat) -> AsyncIterator[ChatModel]:
        """The model behind the engine of a conversation, which is started where need be."""
        engine = await asyncio.to_thread(self._take, (seat.conversation, seat.trial))
        try:
            yield engine.model
        finally:
            with self._lock:
                engine.under_way -= 1

    def _take(self, conversation: tuple[str, int]) -> _Engine:
        with self._lock:
            home = self._homes.pop(conversation, None)
            if home is None or self._engines[home].under_way:
                home = self._free(home)
            self._homes[conversation] = home
            while len(self._homes) > _MOST_HOMES:
                self._homes.pop(next(iter(self._homes)))
            engine = self._engines[home]
            engine.under_way += 1
            return engine

    def _free(self, home: int | None) -> int:
        """An engine with nothing to do, started where there may be more; where there is none, home or the least busy.

        So no request waits while an engine is idle. Two conversations that met at one engine part for good at their
        first meeting, at the price of one prompt that is read anew.
        """
        busy = [engine.under_way for engine in self._engines]
        if busy and (not min(busy) or len(busy) == self.concurrency):
            return busy.index(min(busy)) if not min(busy) or home is None else home
        new = [self._serve(self._template)]
        if not self._engines and self._template is None and asyncio.run(_drops_tools(new[0].model)):
            _let_go(new)
            self._context.notify(f"{self.label}: the file's chat template drops tools; turngap's own is used")
            self._template = _known_to(self._file)
            new.append(self._serve(self._template))
        self._engines += new
        return len(busy)

    def _stop(self) -> None:
        with self._lock:
            engines, self._engines = self._engines, []
            self._homes.clear()
            _let_go(engines)

    def _serve(self, turns: Turns | None) -> _Engine:
        import xllamacpp  # noqa: PLC0415 - loads 100 MB of engine, wanted only when a local model is asked

        params = xllamacpp.CommonParams()
        params.model.path = str(self._file)
        params.model_alias = {self.label}
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.n_parallel = 1
        params.n_ctx = self._window
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_ram_mib = _CACHE_MIB // self.concurrency
        params.use_jinja = True
        params.ui = False
        # An engine's threads spin while they wait for each other: with as many as cores, any other work slows them
        # tenfold. A thread alone waits for nobody.
        threads = 1 if self.concurrency > 1 else max(1, self._cores - 1)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.verbosity = -1
        if turns is not None:
            params.chat_template = turns.source()
            # Calls then come as the text that the template asked for, and our dialects read them.
            params.force_pure_content_parser = True
        try:
            server = xllamacpp.Server(params)
        except RuntimeError as error:
            said = " ".join(str(error).split())
            raise ConfigError(f"{self.label}: llama.cpp cannot load {self._file}: {said}") from None
        _wait_until_it_works(server.listening_address)
        return _Engine(server, self._ask(f"{server.listening_address}/v1", turns))

    def _ask(self, url: str, turns: Turns | None) -> ChatModel:
        config = self._config
        extra = config.extra_body if turns is None else {"stop": [turns.end, turns.begin], **config.extra_body}
        pace = Pace(concurrency=1, timeout=config.timeout, give_up_after=config.give_up_after)
        client = ChatClient(
            resolve(url), self.label, pace=pace, context=self._context, identity=jsonio.digest(self.identity())
        )
        settings = msgspec.structs.replace(config, extra_body=extra, context_length=self._window)
        return ChatModel(settings, client, self._context, wire=self._wire(config))

    def _wire(self, config: ModelConfig) -> Wire:
        # llama.cpp decodes the arguments of recorded calls itself and fails on malformed ones.
        return Wire(fold_roles=config.fold_roles, send_reasoning=config.send_reasoning, wrap_malformed=True)


def _let_go(engines: list[_Engine]) -> None:
    """End servers, in a thread that nobody has to wait for: an engine has no stop call and no time limit.

    A server ends when the last reference to it goes.
    """

    def clear() -> None:
        engines.clear()
        gc.collect()

    thread = threading.Thread(target=clear, name="turngap-local-stop", daemon=True)
    thread.start()
    thread.join(_LONGEST_STOP)


def _wait_until_it_works(address: str) -> None:
    """Have one token generated. A server that is told to stop before its main loop has begun never stops."""
    body = jsonio.encode({"prompt": ".", "n_predict": 1, "cache_prompt": False})
    request = urllib.request.Request(  # noqa: S310 - our own server on loopback
        f"{address}/completion", data=body, headers={"Content-Type": "application/json"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=_LONGEST_START) as response:
            response.read()
    except OSError as error:
        raise ConfigError(f"llama.cpp loaded the weights and does not answer: {error}") from None


async def _drops_tools(model: ChatModel) -> bool:
    probe = Request(
        policy="",
        tools=(_PROBE,),
        messages=(UserMessage(content="Hello."),),
        seat=Seat(conversation="", protocol="gold", decision=None),
    )
    return (await model.look(probe)).renders_tools is False


def _known_to(file: Path) -> Turns:
    """The turns that a model knows, seen from the head of its file, where the first tokens of its vocabulary stand."""
    with file.open("rb") as stream:
        head = stream.read(_EDGE)
    return known_to({mark for mark in (CHATML.begin, GEMMA.begin) if mark.encode() in head})


def _fingerprint(file: Path) -> str:
    """Digest of the size and of both ends of a file: enough to tell weights apart without reading gigabytes."""
    size = file.stat().st_size
    found = hashlib.sha256(str(size).encode())
    with file.open("rb") as stream:
        found.update(stream.read(_EDGE))
        if size > 2 * _EDGE:
            stream.seek(-_EDGE, os.SEEK_END)
            found.update(stream.read(_EDGE))
    return found.hexdigest()
