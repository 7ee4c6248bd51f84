"""Ask a chat-completions server: one request in, one answer out, whatever the network does in between.

The client owns everything that is not about meaning: connections (one session per running event loop, opened lazily and
closed with the loop), the number of requests under way, time-outs, retries, the shared slow-down (`gate`), the call
cache, and keeping secrets out of every text. There is one retry layer, this one.

An answer is committed to the cache before it is returned. The key is a digest of the endpoint, the whole body and, for
sampled calls, the sample's name. What an answer means (calls, text, dialects) is not decided here.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import random
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
import msgspec
import stamina
from yarl import URL

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.errors import ConfigError, EndpointError
from turngap.models import reply
from turngap.models.base import ModelContext
from turngap.models.endpoint import DEFAULT_BASE_URL, Endpoint, read_key, resolve
from turngap.models.fault import Transient, Withheld, refusal
from turngap.models.gate import Gate
from turngap.models.limits import check_open_files
from turngap.models.reply import Completion

__all__ = ["ChatClient", "Completion", "Pace"]

_LONGEST_BACKOFF = 30.0
_LEAST_BACKOFF = 0.05
"""Seconds before the first repetition, whatever the server asks for; doubles with each."""
_MOST_DOUBLINGS = 16
_LEAST_TRY = 1.0
"""Seconds below which a repeated request is not worth sending, where patience and time-out are not short themselves."""
_LONGEST_REASON = 160


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How hard a server is asked. Never changes an answer."""

    concurrency: int = 8
    """Requests under way at once, exactly; the HTTP client's own cap is off."""
    timeout: float = 120.0
    """Seconds for one request."""
    give_up_after: float = 600.0
    """Seconds from the first request until its unit is given up; with 0 it is asked once, and `timeout` holds."""
    first_backoff: float = 0.25
    """Seconds before the first repetition, about; doubles with each."""

    @property
    def least_try(self) -> float:
        """Seconds that have to be left for one more request."""
        return min(_LEAST_TRY, self.timeout, self.give_up_after / 10)


class _Here(msgspec.Struct):
    """What belongs to one event loop."""

    session: aiohttp.ClientSession
    slots: asyncio.Semaphore
    gate: Gate
    lifetime: AsyncGenerator[None, None]


class _Ask:
    """One request through all its attempts."""

    __slots__ = ("attempts", "deadline", "payload", "reason")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.attempts = 0
        self.deadline = float("inf")
        self.reason = ""
        """What the server did wrong last; that our own patience ended is no reason."""


class _NoAnswer(Transient):
    """The time-out passed."""


class _TooLate(Transient):
    """There is no time left for a request."""


class ChatClient:
    """A chat-completions server and the way it is asked. Safe for many tasks, several event loops and threads.

    Args:
        endpoint: where requests go.
        model: the model's name in the request body.
        pace: concurrency and time limits.
        context: cache, and where notes and waits are told.
        identity: what stands for the endpoint in the cache key; the URL without secrets when not given.

    Raises:
        ConfigError: more connections than this process may open files.
    """

    def __init__(
        self, endpoint: Endpoint, model: str, *, pace: Pace, context: ModelContext, identity: str | None = None
    ) -> None:
        check_open_files(pace.concurrency)
        self.endpoint = endpoint
        self.model = model
        self.identity = identity or endpoint.shown
        self._pace, self._context = pace, context
        self._url = URL(endpoint.at("/chat/completions"), encoded=True)
        self._random = random.Random()
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Here] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._answered = False
        # stamina reports each retry to this logger; the progress line tells it better, and once.
        logging.getLogger("stamina").addHandler(logging.NullHandler())

    @classmethod
    def open(cls, config: ModelConfig, context: ModelContext, environ: Mapping[str, str] | None = None) -> ChatClient:
        """Build a client from a configuration and the environment; nothing is sent yet.

        Raises:
            ConfigError: a bad URL, a missing or unusable key, too few open files, or `stream` in the extra body.
        """
        environ = os.environ if environ is None else environ
        if config.extra_body.get("stream"):
            raise ConfigError("--extra-body: stream cannot be used; answers are read whole")
        base_url = config.base_url or environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
        key = read_key(config.api_key_env, environ, context.notify)
        if not key and base_url == DEFAULT_BASE_URL:
            raise ConfigError(
                f"no key in {config.api_key_env}, and no server named: export the key, "
                "or name a server with --base-url or OPENAI_BASE_URL"
            )
        pace = Pace(concurrency=config.concurrency, timeout=config.timeout, give_up_after=config.give_up_after)
        return cls(resolve(base_url, key), config.name, pace=pace, context=context)

    async def complete(
        self,
        messages: Sequence[dict[str, Any] | msgspec.Raw],
        *,
        tools: Sequence[dict[str, Any]] | msgspec.Raw | None = None,
        max_tokens: int | None,
        temperature: float | None,
        seed: int | None = None,
        extra: Mapping[str, Any] | None = None,
        sample: str = "",
    ) -> Completion:
        """Ask for one completion.

        Args:
            messages: chat messages as the API wants them, plain or encoded.
            tools: tool definitions, plain or encoded; left out when None.
            max_tokens: most tokens of the answer; None leaves it to the server.
            temperature: None leaves it to the server.
            seed: left out when None.
            extra: further fields of the body; they win over the others, and a None removes the field.
            sample: names one of several answers to the same sampled request (trial, attempt); part of the cache key
                where temperature is not 0.

        Raises:
            EndpointError: no answer after all retries, or the request was refused for a reason of its own.
            ContextOverflow: the prompt does not fit.
            ConfigError: no request to this server can succeed as configured, or nothing listens there.
        """
        body = {
            "model": self.model,
            "messages": messages,
            "tools": tools,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
            **(extra or {}),
        }
        payload = jsonio.encode({key: value for key, value in body.items() if value is not None})
        cache = self._context.cache
        if cache is None:
            return await self._ask(_Ask(payload))
        digest = hashlib.sha256(self.identity.encode() + b"\0" + payload)
        if body["temperature"] != 0:
            digest.update(b"\0" + sample.encode())
        key = digest.hexdigest()
        if (stored := cache.get(key)) is not None:
            return reply.restore(stored)
        completion = await self._ask(_Ask(payload))
        cache.put(key, reply.store(completion))
        return completion

    async def get(self, path: str, *, timeout: float = 5.0) -> Any:  # noqa: ASYNC109 - one request, not a scope
        """Read a small JSON document of the server, e.g. ``/models``; None when there is none or it cannot be read."""
        return await self._side_request("GET", path, None, timeout)

    async def post(self, path: str, body: Any, *, timeout: float = 5.0) -> Any:  # noqa: ASYNC109 - as above
        """Like `get`, with a JSON body."""
        return await self._side_request("POST", path, jsonio.encode(body), timeout)

    async def aclose(self) -> None:
        """Close the connections of the running loop. Those of other loops close with their loops."""
        here = self._loops.pop(asyncio.get_running_loop(), None)
        if here is not None:
            await here.lifetime.aclose()

    async def _side_request(self, method: str, path: str, data: bytes | None, seconds: float) -> Any:
        # Paths from the server's root ("//props") lie beside the API, those with one slash below the base URL.
        base = self.endpoint.at(path) if not path.startswith("//") else str(URL(self.endpoint.url).with_path(path[1:]))
        here = await self._here()
        limit = aiohttp.ClientTimeout(total=seconds)
        options: dict[str, Any] = {"headers": self.endpoint.headers, "proxy": self.endpoint.proxy, "timeout": limit}
        try:
            async with here.session.request(method, base, data=data, allow_redirects=False, **options) as response:
                data = self.endpoint.scrub_bytes(await response.read())
                return jsonio.loads(data) if response.status == 200 else None
        except (aiohttp.ClientError, OSError, TimeoutError, jsonio.JsonError):
            return None

    async def _here(self) -> _Here:
        loop = asyncio.get_running_loop()
        here = self._loops.get(loop)
        if here is None:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "turngap"},
            )
            lifetime = _close_with_the_loop(session)
            gate = Gate(loop.time, self._context.waiting, self._random)
            here = _Here(session, asyncio.Semaphore(self._pace.concurrency), gate, lifetime)
            with self._lock:
                self._loops[loop] = here
            # Only a generator that has begun is closed by the loop.
            await anext(lifetime)
        return here

    async def _ask(self, ask: _Ask) -> Completion:
        here = await self._here()
        try:
            return await self._attempt(here, ask)
        except Transient as first:
            failure = first
        except Withheld as withheld:
            return _withheld(withheld, ask)
        try:
            return await self._persist(here, ask, failure)
        except Withheld as withheld:
            return _withheld(withheld, ask)
        except Transient as last:
            # No count of requests in the text: one cause should read the same for every unit.
            error = EndpointError(
                f"{self.endpoint.shown}: {ask.reason or last.reason}; "
                f"given up (at most {self._pace.give_up_after:g} s of trying)"
            )
        error.attempts = ask.attempts
        raise error

    async def _persist(self, here: _Here, ask: _Ask, first: Transient) -> Completion:
        loop = asyncio.get_running_loop()

        def backoff(error: Exception) -> bool | float:
            if not isinstance(error, Transient) or isinstance(error, _TooLate):
                return False
            now = loop.time()
            if error.crowded:
                # The gate does the waiting, for everybody.
                return 0.0 if self._has_time(ask, max(now, here.gate.opens_at)) else False
            factor = 2.0 ** min(ask.attempts - 1, _MOST_DOUBLINGS)
            if error.retry_after is None:
                wait = min(_LONGEST_BACKOFF, self._pace.first_backoff * factor) * self._random.uniform(0.5, 1.5)
            else:
                wait = max(error.retry_after, min(_LONGEST_BACKOFF, _LEAST_BACKOFF * factor))
            if not self._has_time(ask, now + wait):
                return False
            self._context.waiting(wait, error.reason)
            return wait

        async for attempt in stamina.retry_context(on=backoff, attempts=None, timeout=None):
            with attempt:
                # The first failure has happened already, on the path that costs nothing.
                if attempt.num == 1:
                    raise first
                return await self._attempt(here, ask)
        raise AssertionError  # pragma: no cover - the loop above returns or raises

    def _has_time(self, ask: _Ask, at: float) -> bool:
        """Whether a request that goes out at clock time `at` is worth sending."""
        return ask.deadline - at > self._pace.least_try

    async def _attempt(self, here: _Here, ask: _Ask) -> Completion:
        loop, pace = asyncio.get_running_loop(), self._pace
        async with here.slots:
            if ask.deadline == float("inf"):
                ask.deadline = loop.time() + pace.give_up_after
            while (delay := here.gate.delay()) > 0:
                if not self._has_time(ask, here.gate.opens_at):
                    raise _TooLate(here.gate.reason)
                await asyncio.sleep(delay)
            asked_at = loop.time()
            once = pace.give_up_after == 0
            if not once and not self._has_time(ask, asked_at):
                raise _TooLate(here.gate.reason)
            ask.attempts += 1
            seconds = pace.timeout if once else min(pace.timeout, ask.deadline - asked_at)
            try:
                completion = await self._send(here.session, ask, seconds)
            except Transient as fault:
                in_vain = pace.give_up_after - (fault.retry_after or 0.0) <= pace.least_try
                if fault.retry_after and in_vain:
                    fault.reason += f"; the server asks to wait {fault.retry_after:g} s, which is too long"
                if fault.crowded:
                    here.gate.close(
                        asked_at=asked_at, retry_after=fault.retry_after, reason=fault.reason, in_vain=in_vain
                    )
                # That the rest of the patience was too short for an answer hides nothing that was learned before.
                if not ask.reason or not isinstance(fault, _NoAnswer) or seconds == pace.timeout:
                    ask.reason = fault.reason
                raise
            here.gate.passed(asked_at=asked_at)
            return completion

    async def _send(self, session: aiohttp.ClientSession, ask: _Ask, seconds: float) -> Completion:
        endpoint = self.endpoint
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with session.post(
                self._url,
                data=ask.payload,
                headers=endpoint.headers,
                proxy=endpoint.proxy,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                data = await response.read()
        except TimeoutError:
            raise _NoAnswer(f"no answer within {round(seconds, 3):g} s") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise ConfigError(
                f"{endpoint.shown}: no secure connection: {endpoint.scrub(str(error))}; "
                "check the certificate or --base-url"
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            reason = endpoint.scrub(" ".join(f"{type(error).__name__}: {error}".split()))
            # A server that was never there is a mistake to be told at once; one that went away may come back.
            if isinstance(error, aiohttp.ClientConnectorError) and not self._answered:
                raise ConfigError(
                    f"{endpoint.shown}: cannot connect: {error.strerror}; start the server, or correct --base-url"
                ) from None
            raise Transient(reason[:_LONGEST_REASON]) from None
        took = loop.time() - started
        self._answered = True
        data = endpoint.scrub_bytes(data)
        if response.status != 200:
            failure = refusal(response.status, data.decode("utf-8", "replace"), response.headers, endpoint.shown)
            if isinstance(failure, EndpointError):
                failure.attempts = ask.attempts
            raise failure
        return reply.completion(data, took, ask.attempts, endpoint.shown)


async def _close_with_the_loop(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    # asyncio.run finalises the generators of its loop, which closes the sockets while that is still possible. Without
    # this a second asyncio.run in the same process would inherit connections of a dead loop.
    try:
        yield
    finally:
        await session.close()


def _withheld(withheld: Withheld, ask: _Ask) -> Completion:
    message = {"role": "assistant", "content": "", "refusal": str(withheld)}
    return Completion(
        message=message, raw=jsonio.encode(message), finish_reason="content_filter", attempts=ask.attempts
    )
