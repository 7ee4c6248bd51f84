"""Models of transformers in this process: `hf/FOLDER`, on an accelerator or a processor.

FOLDER holds weights and tokenizer; where ``turngap train`` wrote it, also how the model was trained to be asked.
Requests that are under way at once are generated together, and what a prompt shares with an earlier one is not computed
again (`turngap.models.generation`). The model is loaded with the first request and let go in `aclose`.

An option sets the type of numbers: ``hf/FOLDER?numbers=bfloat16``; without it float32 on a processor, what is stored on
an accelerator. At temperature 0 answers hang on the request alone, up to the rounding of sums in batches of different
sizes; `--concurrency 1` takes that out too. At other temperatures each request has dice of its own, seeded by the seed
of the model and the place of the request, so a repeated run says the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from concurrent.futures import Future, InvalidStateError
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import Prediction, Usage
from turngap.errors import ConfigError, ContextOverflow, EndpointError, TurngapError, UsageError
from turngap.models import dialects, hub, reply
from turngap.models.asking import Answer, Ask, Generates
from turngap.models.base import ModelContext, Request
from turngap.models.chat import priced
from turngap.models.fingerprint import of_folder
from turngap.models.reading import VERSION, ToolView, finish_of, read
from turngap.models.templating import MANNER, Manner, Templated, fitted

_NUMBERS = ("auto", "float32", "bfloat16", "float16")
_UNLIMITED = 1 << 20
_LONGEST_STOP = 10.0
"""Seconds."""


def build(config: ModelConfig, context: ModelContext) -> HfModel:
    """Build `hf/FOLDER`; nothing is loaded yet.

    Raises:
        MissingExtra: torch or transformers is missing. UsageError: no such folder, or unknown options.
    """
    hub.prepare("torch", "transformers", purpose=config.spec)
    options = config.options()
    numbers = options.pop("numbers", "auto")
    if options or numbers not in _NUMBERS:
        raise UsageError(f"model {config.spec!r}: the only option is numbers={'|'.join(_NUMBERS)}")
    if config.extra_body:
        raise UsageError(f"model {config.spec!r} has no request body; --extra-body is for servers")
    folder = Path(config.name).expanduser()
    if not (folder / "config.json").is_file():
        raise UsageError(
            f"model {config.spec!r}: {folder} holds no model of transformers (no config.json); turngap train writes one"
        )
    return HfModel(config, context, folder, numbers)


class _Job(msgspec.Struct):
    """A request under way."""

    ask: Ask
    done: Future[Answer]
    seconds: float = 0.0
    """Wall time, without waiting for a free row."""
    began: float = 0.0


class HfModel:
    """A model of transformers. Safe for many tasks, several loops and threads; one copy of the weights for all."""

    def __init__(self, config: ModelConfig, context: ModelContext, folder: Path, numbers: str) -> None:
        self.label = config.spec
        self._config, self._context, self._folder, self._numbers = config, context, folder, numbers
        self._parsers = dialects.chosen(config.tool_parser)
        self._lock = threading.Lock()
        self._templated: Templated | None = None
        self._window = _UNLIMITED
        self._server: _Server | None = None
        self._identity: dict[str, Any] | None = None

    def identity(self) -> dict[str, Any]:
        """Weights, template, libraries, kind of device and settings."""
        if self._identity is None:
            import torch  # noqa: PLC0415 - seconds to import, wanted only when such a model is used

            config, templated = self._config, self._template()
            self._identity = {
                "kind": "hf",
                "folder": self._folder.name,
                "weights": of_folder(self._folder),
                "engine": f"transformers {version('transformers')}, torch {torch.__version__}",
                "device": "cuda" if torch.cuda.is_available() else "cpu",
                "numbers": self._numbers,
                "template": jsonio.digest(templated.template),
                "manner": templated.manner.digest(),
                "context_length": self._window,
                "temperature": config.temperature,
                "max_tokens": config.max_tokens,
                "seed": config.seed,
                "tool_parser": config.tool_parser,
                "parser_version": VERSION,
            }
        return self._identity

    async def act(self, request: Request) -> Prediction:
        """Answer one request; the first one loads the model.

        Raises:
            ContextOverflow: the prompt leaves no room for an answer. DataFault: the chat template refuses the history.
                EndpointError: generation failed (out of memory, say). ConfigError: the model cannot be loaded.
        """
        templated = await asyncio.to_thread(self._template)
        prompt = tuple(templated.tokens(templated.prompt(request.policy, request.tools, request.messages)))
        room = self._window - len(prompt)
        if room < 1:
            raise ContextOverflow(f"a prompt of {len(prompt)} tokens, for a context of {self._window}")
        config = self._config
        ask = Ask(
            prompt=prompt,
            most=min(config.max_tokens, room),
            temperature=config.temperature,
            seed=_seed(config.seed or 0, request),
        )
        completion = await self._complete(ask, templated)
        reading = read(completion.message, ToolView(request.tools), self._parsers)
        return Prediction(
            message=reading.message,
            raw=completion.raw.decode("utf-8", "replace"),
            finish=finish_of(completion.finish_reason),
            dialect=reading.dialect,
            notes=reading.notes,
            usage=priced(completion.usage, config.prices),
            seconds=completion.seconds,
            cached=completion.cached,
        )

    async def aclose(self) -> None:
        """Give up what is under way and free the memory; a later request would load the model again."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.stop)

    async def _complete(self, ask: Ask, templated: Templated) -> reply.Completion:
        cache = self._context.cache
        key = "" if cache is None else jsonio.digest([await asyncio.to_thread(self.identity), ask])
        stored = None if cache is None else cache.get(key)
        if stored is not None:
            return reply.restore(stored)
        job = _Job(ask=ask, done=Future())
        self._submit(job, templated)
        answer = await asyncio.wrap_future(job.done)
        message = {"role": "assistant", "content": templated.text(answer.tokens)}
        completion = reply.Completion(
            message=message,
            raw=jsonio.encode(message),
            finish_reason="stop" if answer.ended else "length",
            usage=Usage(prompt_tokens=len(ask.prompt), completion_tokens=answer.generated, cached_tokens=answer.reused),
            seconds=job.seconds,
            attempts=1,
        )
        if cache is not None:
            cache.put(key, reply.store(completion))
        return completion

    def _template(self) -> Templated:
        """The tokenizer and how it is used, loaded once."""
        with self._lock:
            if self._templated is None:
                self._templated = self._load_tokenizer()
                self._window = self._config.context_length or self._longest()
            return self._templated

    def _load_tokenizer(self) -> Templated:
        library = hub.library(self.label)
        try:
            tokenizer = library.AutoTokenizer.from_pretrained(str(self._folder))
        except (OSError, ValueError, KeyError) as error:
            said = " ".join(str(error).split())[:300]
            raise ConfigError(f"{self.label}: transformers cannot read the tokenizer: {said}") from None
        file = self._folder / MANNER
        if not file.is_file():
            found, said = fitted(tokenizer, Manner(fold_roles=self._config.fold_roles))
            if said:
                self._context.notify(f"{self.label}: {said}")
            return found
        try:
            manner = msgspec.json.decode(file.read_bytes(), type=dict[str, Manner])["manner"]
        except (OSError, msgspec.MsgspecError, KeyError) as error:
            raise ConfigError(f"{file}: does not say how the model is asked: {error}") from None
        return Templated(tokenizer, manner)

    def _longest(self) -> int:
        settings = jsonio.loads((self._folder / "config.json").read_bytes())
        found = settings.get("max_position_embeddings") or settings.get("text_config", {}).get(
            "max_position_embeddings"
        )
        return found if isinstance(found, int) else _UNLIMITED

    def _submit(self, job: _Job, templated: Templated) -> None:
        with self._lock:
            if self._server is None:
                self._server = _Server(self._folder, self._config.concurrency, templated.stops(), self._numbers)
            self._server.waiting.put(job)


class _Server:
    """The one thread that touches the model, from its loading to its end."""

    def __init__(self, folder: Path, rows: int, stops: frozenset[int], numbers: str) -> None:
        self.waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._settings = (folder, max(1, rows), sorted(stops), numbers)
        self._under_way: dict[int, _Job] = {}
        self._thread = threading.Thread(target=self._run, name="turngap-hf", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give up what is under way, and wait for the end."""
        self.waiting.put(None)
        self._thread.join(_LONGEST_STOP)

    def _run(self) -> None:
        from turngap.models.generation import Generator  # noqa: PLC0415 - imports torch, which takes seconds

        folder, rows, stops, numbers = self._settings
        try:
            generator = Generator(folder, rows=rows, stops=stops, numbers=numbers)
            while self._admit(generator):
                self._step(generator)
        except TurngapError as error:
            # The model cannot be loaded: whoever asks gets to know why.
            while (job := self.waiting.get()) is not None:
                _settle(job, error)
        finally:
            self._give_up()

    def _give_up(self) -> None:
        """Leave nobody waiting."""
        error = EndpointError("generation ended before the answer was complete")
        for job in self._under_way.values():
            _settle(job, error)
        while not self.waiting.empty():
            if (late := self.waiting.get()) is not None:
                _settle(late, error)

    def _admit(self, generator: Generates) -> bool:
        """Begin what waits, as far as there are rows; False when all is to end."""
        while generator.free:
            try:
                job = self.waiting.get(block=not generator.busy)
            except queue.Empty:
                break
            if job is None:
                return False
            if job.done.cancelled():
                continue
            job.began = time.monotonic()
            try:
                self._under_way[generator.begin(job.ask)] = job
            except (RuntimeError, MemoryError) as error:
                _settle(job, _failed(error))
        return True

    def _step(self, generator: Generates) -> None:
        try:
            done = generator.step()
        except (RuntimeError, MemoryError) as error:
            for number in list(self._under_way):
                generator.drop(number)
                _settle(self._under_way.pop(number), _failed(error))
            return
        for number, answer in done:
            _settle(self._under_way.pop(number), answer)
        for number in [number for number, job in self._under_way.items() if job.done.cancelled()]:
            generator.drop(number)
            del self._under_way[number]


def _settle(job: _Job, found: Answer | Exception) -> None:
    job.seconds = time.monotonic() - job.began
    with contextlib.suppress(InvalidStateError):  # nobody waits any more
        if isinstance(found, Exception):
            job.done.set_exception(found)
        else:
            job.done.set_result(found)


def _failed(error: Exception) -> EndpointError:
    return EndpointError(f"generation failed: {' '.join(str(error).split())[:300]}")


def _seed(base: int, request: Request) -> int:
    seat = request.seat
    place = [base, seat.conversation, seat.protocol, seat.decision, seat.attempt, seat.trial, len(request.messages)]
    return int(jsonio.digest(place)[:15], 16)
