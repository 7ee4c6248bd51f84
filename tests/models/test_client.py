"""The chat-completions client against a server that misbehaves."""

from __future__ import annotations

import asyncio
import gc
import json
import pickle
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from chatserver import Body, ChatServer, Reset, Say, Stall, Status, Step, call, text

from turngap.config import ModelConfig
from turngap.errors import ConfigError, ContextOverflow, EndpointError
from turngap.models.base import ModelContext
from turngap.models.client import ChatClient, Completion, Pace
from turngap.models.endpoint import resolve

Start = Callable[..., ChatServer]
_HELLO = [{"role": "user", "content": "Hello."}]


class Memory:
    """A call cache that counts."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.hits = 0

    def get(self, key: str) -> bytes | None:
        found = self.stored.get(key)
        self.hits += found is not None
        return found

    def put(self, key: str, response: bytes) -> None:
        self.stored[key] = response


def _client(server: ChatServer, context: ModelContext | None = None, **pace: Any) -> ChatClient:
    settings = {"timeout": 5.0, "give_up_after": 10.0, "first_backoff": 0.01, **pace}
    return ChatClient(
        resolve(server.url, "SENTINEL-KEY"), "m", pace=Pace(**settings), context=context or ModelContext()
    )


async def _ask(client: ChatClient, **options: Any) -> Completion:
    return await client.complete(_HELLO, **{"max_tokens": 8, "temperature": 0.0, **options})


async def test_a_request_carries_what_was_asked_and_nothing_else(chat_server: Start) -> None:
    """Settings that are None are left out; extra fields win, and a None among them removes a field."""
    server = chat_server([text("Hi.")])
    client = _client(server)
    await _ask(
        client, seed=5, tools=[{"type": "function"}], extra={"top_k": 3, "max_tokens": None, "max_completion_tokens": 9}
    )
    await _ask(client, temperature=None)
    await client.aclose()
    assert server.requests[0] == {
        "model": "m",
        "messages": _HELLO,
        "tools": [{"type": "function"}],
        "temperature": 0.0,
        "seed": 5,
        "top_k": 3,
        "max_completion_tokens": 9,
    }
    assert server.requests[1] == {"model": "m", "messages": _HELLO, "max_tokens": 8}
    assert server.headers[0]["Authorization"] == "Bearer SENTINEL-KEY"


async def test_an_answer_is_kept_byte_for_byte(chat_server: Start) -> None:
    """The raw message is what the server wrote, white space and key order included; usage is read."""
    raw = b'{"role":  "assistant", "content": "H\\u00e9", "x": [1 , 2]}'
    body = b'{"choices": [{"message": ' + raw + b', "finish_reason": "length"}], "usage": {"prompt_tokens": 11, '
    body += b'"completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}}'
    client = _client(chat_server([Body(body)]))
    answer = await _ask(client)
    await client.aclose()
    assert answer.raw == raw
    assert answer.message == {"role": "assistant", "content": "Hé", "x": [1, 2]}
    assert answer.finish_reason == "length"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.cached_tokens) == (11, 3, 4)


@pytest.mark.parametrize(
    "fault",
    [
        Status(500, "boom"),
        Status(502),
        Status(504),
        Status(408),
        Reset(),
        Reset(b'{"choices": [{"mess'),
        Body(b'{"choices": [{"message": {"role": "assis'),
        Body(b"<html>proxy</html>"),
        Body(b'{"choices": []}'),
        Body(b'{"error": {"code": 502, "message": "upstream"}}'),
        Body(b""),
        Status(429, "slow", {"Retry-After": "0"}),
        Status(503, "busy", {"Retry-After": "0.05"}),
    ],
)
async def test_what_may_pass_is_asked_again(chat_server: Start, fault: Step) -> None:
    """5xx, resets, truncated or unreadable bodies and 429 end in the answer, after exactly one more request each."""
    server = chat_server([fault, fault, text("Hi.")])
    client = _client(server)
    answer = await _ask(client)
    await client.aclose()
    assert answer.message["content"] == "Hi."
    assert answer.attempts == len(server.requests) == 3


async def test_a_stall_is_a_time_out_and_asked_again(chat_server: Start) -> None:
    """Silence longer than the time-out counts as a failed request."""
    server = chat_server([Stall(30), text("Hi.")])
    client = _client(server, timeout=0.2)
    started = time.monotonic()
    assert (await _ask(client)).attempts == 2
    assert time.monotonic() - started < 3
    await client.aclose()


async def test_it_gives_up_after_the_stated_time(chat_server: Start) -> None:
    """A server that only fails ends in one endpoint error, within the time; requests are counted and waits told."""
    server = chat_server([Status(500, "boom")])
    waits: list[tuple[float, str]] = []
    client = _client(
        server, ModelContext(waiting=lambda *wait: waits.append(wait)), give_up_after=1.0, first_backoff=0.05
    )
    started = time.monotonic()
    with pytest.raises(EndpointError, match=r"HTTP 500: boom; given up \(at most 1 s of trying\)$") as caught:
        await _ask(client)
    assert time.monotonic() - started < 2
    assert caught.value.attempts == len(server.requests)
    assert 2 <= len(server.requests) <= 12
    assert waits[0][1] == "HTTP 500: boom"
    await client.aclose()


async def test_a_stalled_server_cannot_hold_longer_than_the_stated_time(chat_server: Start) -> None:
    """The last request's time-out is cut to what is left."""
    client = _client(chat_server([Stall(30)]), timeout=20, give_up_after=0.5)
    started = time.monotonic()
    with pytest.raises(EndpointError, match="no answer within"):
        await _ask(client)
    assert time.monotonic() - started < 3
    await client.aclose()


@pytest.mark.parametrize("fault", [Status(500, "boom"), Status(503, "busy", {"Retry-After": "0.01"})])
async def test_the_end_of_patience_does_not_hide_the_reason(chat_server: Start, fault: Step) -> None:
    """When the last request only had the rest of the time, what the server said before stays the reason."""
    server = chat_server([fault, Stall(30)])
    client = _client(server, timeout=20, give_up_after=0.6)
    with pytest.raises(EndpointError, match=r"HTTP 50\d: \w+; given up \(at most 0\.6 s of trying\)$") as caught:
        await _ask(client)
    await client.aclose()
    assert caught.value.attempts == len(server.requests) == 2


async def test_a_time_out_that_was_not_cut_short_is_a_reason(chat_server: Start) -> None:
    """A server that fails first and then is silent for the whole time-out is one that is silent."""
    client = _client(chat_server([Status(500, "boom"), Stall(30)]), timeout=0.2, give_up_after=0.7)
    with pytest.raises(EndpointError, match=r"no answer within 0\.2 s; given up"):
        await _ask(client)
    await client.aclose()


async def test_without_patience_a_request_is_sent_once_with_its_whole_time(chat_server: Start) -> None:
    """give_up_after 0 means no repetition, not no time to answer; all that fail alike say the same."""
    client = _client(chat_server([Say({"content": "Hi."}, delay=0.3)]), give_up_after=0.0)
    assert (await _ask(client)).attempts == 1
    await client.aclose()
    failing = chat_server([Status(500, "boom")])
    client = _client(failing, give_up_after=0.0, concurrency=4)
    faults = await asyncio.gather(*(_ask(client) for _ in range(12)), return_exceptions=True)
    await client.aclose()
    assert len({str(fault) for fault in faults}) == 1
    assert len(failing.requests) == 12


async def test_no_request_is_sent_that_has_no_time_to_be_answered(chat_server: Start) -> None:
    """What is left after a failure is too little for another request: it is given up instead, for the real reason."""
    server = chat_server([Status(502, "gone", {"Retry-After": "0.95"}), text("Hi.")])
    client = _client(server, timeout=20, give_up_after=1.0)
    with pytest.raises(EndpointError, match="HTTP 502: gone"):
        await _ask(client)
    await client.aclose()
    assert len(server.requests) == 1


async def test_those_who_never_got_through_name_the_servers_reason(chat_server: Start) -> None:
    """A unit that the shared slow-down kept from asking at all fails for what the server said to the others."""
    server = chat_server([Status(429, "slow", {"Retry-After": "3600"})])
    client = _client(server, give_up_after=2.0, concurrency=1)
    faults = await asyncio.gather(*(_ask(client) for _ in range(5)), return_exceptions=True)
    await client.aclose()
    (reason,) = {str(fault) for fault in faults}
    assert "HTTP 429: slow; the server asks to wait 3600 s, which is too long; given up (at most 2 s" in reason
    assert len(server.requests) == 1


async def test_a_server_that_was_never_there_is_told_at_once() -> None:
    """A refused first connection is a mistake in the command or a server not started: no ten minutes of retrying."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    client = ChatClient(resolve(f"http://127.0.0.1:{port}/v1"), "m", pace=Pace(), context=ModelContext())
    with pytest.raises(ConfigError, match="cannot connect"):
        await _ask(client)
    await client.aclose()


async def test_a_server_that_went_away_is_an_endpoint_error() -> None:
    """Once it has answered, a refused connection is retried, then given up."""
    server = await asyncio.start_server(_answer_once, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pace = Pace(give_up_after=0.3, first_backoff=0.01)
    client = ChatClient(resolve(f"http://127.0.0.1:{port}/v1"), "m", pace=pace, context=ModelContext())
    await _ask(client)
    server.close()
    await server.wait_closed()
    with pytest.raises(EndpointError, match="given up"):
        await _ask(client)
    await client.aclose()


async def _answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(65536)
    body = b'{"choices": [{"message": {"role": "assistant", "content": "ok"}}]}'
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Status(400, "maximum context length is 4096 tokens"), ContextOverflow),
        (Status(400, "max_tokens must be at least 1, got -5"), ContextOverflow),
        (Status(500, "exceed_context_size"), ContextOverflow),
        (Status(413), ContextOverflow),
        (Status(401, "bad key SENTINEL-KEY"), ConfigError),
        (Status(404, "no such model"), ConfigError),
        (Status(400, "Conversation roles must alternate"), ConfigError),
        (Status(400, "odd"), EndpointError),
        (Status(307, "", {"Location": "http://127.0.0.1:1/?key=SENTINEL-KEY"}), ConfigError),
        (Body(b'{"error": {"code": 401, "message": "no"}}'), ConfigError),
    ],
)
async def test_prv_04_what_cannot_pass_is_never_asked_again(
    chat_server: Start, fault: Step, kind: type[Exception]
) -> None:
    """PRV-04: overflow, configuration faults and odd refusals cost one request, and hold no secret."""
    server = chat_server([fault])
    client = _client(server)
    with pytest.raises(kind) as caught:
        await _ask(client)
    await client.aclose()
    assert type(caught.value) is kind
    assert len(server.requests) == 1
    assert "SENTINEL" not in str(caught.value) + repr(caught.value) + str(pickle.dumps(caught.value))


async def test_prv_05_a_rate_limit_slows_everybody_down_together(chat_server: Start) -> None:
    """PRV-05: 20 refusals with Retry-After at concurrency 16 cost few further requests, and waits are told."""
    server = chat_server(
        lambda _body, count: Status(429, "slow", {"Retry-After": "0.4"}) if count < 20 else text("Hi.")
    )
    waits: list[tuple[float, str]] = []
    client = _client(server, ModelContext(waiting=lambda *wait: waits.append(wait)), concurrency=16)
    started = time.monotonic()
    answers = await asyncio.gather(*(_ask(client) for _ in range(16)))
    elapsed = time.monotonic() - started
    await client.aclose()
    assert all(answer.message["content"] == "Hi." for answer in answers)
    assert len(server.requests) == 20 + 16
    assert elapsed < 5
    assert (0.4, "HTTP 429: slow") in waits
    assert len(waits) <= 6
    first_back = server.times[16] - server.times[15]
    assert first_back >= 0.39


async def test_prv_05_a_long_refusal_is_not_hammered(chat_server: Start) -> None:
    """PRV-05: while a server refuses for a while, few of the waiting try it out: requests stay far below one each."""
    begun = time.monotonic()

    def script(_body: dict[str, Any], _count: int) -> Step:
        refuse = time.monotonic() - begun < 1.5
        return Status(429, "slow", {"Retry-After": "0.5"}) if refuse else text("Hi.")

    server = chat_server(script)
    client = _client(server, concurrency=32)
    await asyncio.gather(*(_ask(client) for _ in range(32)))
    await client.aclose()
    # 32 refused at first, 32 answered at last; in between, each of some three rounds stops after the first refusals.
    assert len(server.requests) < 32 + 32 + 32


async def test_prv_05_those_who_have_not_asked_yet_wait_too(chat_server: Start) -> None:
    """PRV-05: a new request passes the same gate."""
    server = chat_server([Status(429, "slow", {"Retry-After": "0.5"}), text("Hi.")])
    client = _client(server, concurrency=2)
    first = asyncio.create_task(_ask(client))
    while not server.requests:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    await _ask(client)
    await first
    await client.aclose()
    assert min(server.times[1:]) - server.times[0] >= 0.49


async def test_prv_05_a_wait_longer_than_the_patience_gives_up_at_once(chat_server: Start) -> None:
    """PRV-05: when the server asks for more time than there is, nobody sits silent; one request was made."""
    server = chat_server([Status(429, "slow", {"Retry-After": "3600"})])
    waits: list[tuple[float, str]] = []
    client = _client(server, ModelContext(waiting=lambda *wait: waits.append(wait)), give_up_after=2.0)
    started = time.monotonic()
    with pytest.raises(EndpointError, match="HTTP 429: slow; the server asks to wait 3600 s, which is too long"):
        await _ask(client)
    assert time.monotonic() - started < 1
    assert len(server.requests) == 1
    assert waits == []
    await client.aclose()


@pytest.mark.parametrize("status", [429, 500])
async def test_a_server_that_always_says_at_once_is_not_asked_in_a_tight_loop(chat_server: Start, status: int) -> None:
    """Retry-After: 0 on every answer costs each unit a few requests and not thousands."""
    server = chat_server([Status(status, "slow", {"Retry-After": "0"})])
    client = _client(server, give_up_after=2.0, concurrency=4)
    faults = await asyncio.gather(*(_ask(client) for _ in range(4)), return_exceptions=True)
    await client.aclose()
    assert all(isinstance(fault, EndpointError) for fault in faults)
    assert len(server.requests) <= 4 * 8


async def test_prv_14_concurrency_is_what_was_asked_for(chat_server: Start) -> None:
    """PRV-14: 300 requests are open at once, and never more."""
    server = chat_server([Say({"content": "Hi."}, delay=1.0)])
    client = _client(server, concurrency=300)
    await asyncio.gather(*(_ask(client) for _ in range(310)))
    await client.aclose()
    assert server.most_open == 300


async def test_a_full_house_does_not_count_against_the_time_out(chat_server: Start) -> None:
    """Waiting for a free slot is not waiting for the server: neither a time-out nor part of the measured seconds."""
    client = _client(chat_server([Say({"content": "Hi."}, delay=0.2)]), concurrency=1, timeout=0.5)
    answers = await asyncio.gather(*(_ask(client) for _ in range(5)))
    await client.aclose()
    assert all(answer.attempts == 1 and answer.seconds < 0.5 for answer in answers)


async def test_the_cache_answers_equal_requests_once(chat_server: Start) -> None:
    """At temperature 0 an equal request is never sent again; any difference is another request."""
    server, memory = chat_server([text("Hi.")]), Memory()
    client = _client(server, ModelContext(cache=memory))
    first, again = await _ask(client, sample="a"), await _ask(client, sample="b")
    assert again == Completion(
        message=first.message, raw=first.raw, finish_reason="stop", usage=first.usage, seconds=first.seconds,
        attempts=0, cached=True,
    )  # fmt: skip
    await _ask(client, max_tokens=9)
    await _ask(client, extra={"top_k": 1})
    await client.aclose()
    assert len(server.requests) == 3


async def test_run_06_sampled_answers_are_cached_by_sample(chat_server: Start) -> None:
    """RUN-06: at temperature 1 each trial has its own answer, and the same trial gets it back."""
    server = chat_server(lambda _body, count: text(f"answer {count}"))
    client = _client(server, ModelContext(cache=Memory()))
    found = [(await _ask(client, temperature=1.0, sample=str(trial))).message["content"] for trial in (0, 1, 0, 1)]
    await client.aclose()
    assert found == ["answer 0", "answer 1", "answer 0", "answer 1"]


async def test_the_cache_outlives_the_client_and_its_port(chat_server: Start) -> None:
    """The identity stands for the endpoint in the key, so a local server on another port finds its answers."""
    memory = Memory()
    for server in (chat_server([text("Hi.")]), chat_server([Status(500)])):
        pace = Pace(give_up_after=0.1)
        client = ChatClient(resolve(server.url), "m", pace=pace, context=ModelContext(cache=memory), identity="same")
        assert (await _ask(client)).message["content"] == "Hi."
        await client.aclose()
    assert memory.hits == 1


async def test_failures_are_not_cached(chat_server: Start) -> None:
    """Only answers are kept."""
    memory = Memory()
    client = _client(chat_server([Status(400, "odd"), text("Hi.")]), ModelContext(cache=memory))
    with pytest.raises(EndpointError):
        await _ask(client)
    assert memory.stored == {}
    await _ask(client)
    assert len(memory.stored) == 1
    await client.aclose()


async def test_sec_01_an_answer_that_echoes_the_key_is_scrubbed(chat_server: Start) -> None:
    """SEC-01: the key does not get into stored answers either."""
    memory = Memory()
    client = _client(chat_server([text("Your key is SENTINEL-KEY.")]), ModelContext(cache=memory))
    assert (await _ask(client)).message["content"] == "Your key is ***."
    assert b"SENTINEL" not in b"".join(memory.stored.values())
    await client.aclose()


_ESCAPED = "".join(f"\\u{ord(character):04X}" for character in "SENTINEL-KEY")


@pytest.mark.parametrize(
    "step",
    [
        Body(f'{{"choices": [{{"message": {{"content": "{_ESCAPED}", "reasoning": "{_ESCAPED}"}}}}]}}'.encode()),
        text(f"{_ESCAPED} SENTINEL%2DKEY"),
        call("f", {"key": "SENTINEL-KEY"}),
        call("f", f'{{"key": "{_ESCAPED}"}}'),
        Status(400, f'{{"error": {{"message": "odd {_ESCAPED}"}}}}'),
        Status(400, f'{{"error": {{"code": "content_filter", "message": "content_filter {_ESCAPED}"}}}}'),
        Status(500, f"<html>{_ESCAPED} SENTINEL&#45;KEY</html>"),
        Body(f'{{"error": "{_ESCAPED}"}}'.encode()),
        Body(f'{{"error": "{_ESCAPED}'.encode()),
    ],
)
async def test_sec_01_an_escaped_echo_is_scrubbed_too(chat_server: Start, step: Step) -> None:
    """SEC-01: messages, calls, refusals, errors and what is told: nothing that leaves the client decodes to the key."""
    memory = Memory()
    waits: list[tuple[float, str]] = []
    context = ModelContext(cache=memory, waiting=lambda *wait: waits.append(wait))
    client = _client(chat_server([step]), context, give_up_after=0.5)
    left: list[object] = [waits]
    try:
        answer = await _ask(client)
        left += [answer.message, answer.raw, json.dumps(answer.message)]
    except EndpointError as error:
        left.append(str(error))
    await client.aclose()
    told = repr(left) + repr(memory.stored)
    assert "***" in told
    assert "SENT" not in told
    assert "0053" not in told


async def test_sec_01_pages_beside_the_api_are_scrubbed(chat_server: Start) -> None:
    """SEC-01: what a server tells about itself may hold the key as well."""
    server = chat_server([text("Hi.")])
    server.pages["/v1/models"] = {"data": ["SENTINEL-KEY"]}
    client = _client(server)
    assert await client.get("/models") == {"data": ["***"]}
    await client.aclose()


async def test_a_lone_surrogate_in_an_answer_is_replaced(chat_server: Start) -> None:
    """Half an emoji, which no file can hold, does not make the answer unreadable."""
    client = _client(
        chat_server([Body(b'{"choices": [{"message": {"content": "a\\ud83d"}, "finish_reason": "length"}]}')])
    )
    answer = await _ask(client)
    await client.aclose()
    assert answer.message == {"content": "a\ufffd"}
    assert json.loads(answer.raw) == answer.message


async def test_a_prompt_that_the_provider_filtered_is_a_withheld_answer(chat_server: Start) -> None:
    """The filter's 400 is an empty answer with its finish reason, not a failed endpoint."""
    client = _client(
        chat_server([Status(400, '{"error": {"code": "content_filter", "message": "no: content_filter"}}')])
    )
    answer = await _ask(client)
    await client.aclose()
    assert (answer.message["content"], answer.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize("close", [True, False])
def test_run_08_one_client_serves_several_loops_and_threads(chat_server: Start, close: bool) -> None:
    """RUN-08: asyncio.run twice in one process and in two threads works, with or without aclose, and leaks nothing."""
    server = chat_server([text("Hi.")])
    client = _client(server)
    answers: list[str] = []

    async def once() -> None:
        answers.extend([(await _ask(client)).message["content"] for _ in range(2)])
        if close:
            await client.aclose()

    asyncio.run(once())
    asyncio.run(once())
    threads = [threading.Thread(target=lambda: asyncio.run(once())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["Hi."] * 8
    gc.collect()  # an unclosed session or socket would warn, and warnings are errors


async def test_cancelling_a_request_is_clean(chat_server: Start) -> None:
    """A cancelled request frees its slot."""
    client = _client(chat_server([Stall(30), text("Hi.")]), concurrency=1)
    task = asyncio.create_task(_ask(client))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await _ask(client)).message["content"] == "Hi."
    await client.aclose()


def test_open_needs_a_server_or_a_key() -> None:
    """Without a key and without a server there is nothing to ask; the message says both ways."""
    config = ModelConfig(spec="openai/m")
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY.*--base-url"):
        ChatClient.open(config, ModelContext(), {})
    client = ChatClient.open(config, ModelContext(), {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"})
    assert client.endpoint.shown == "http://127.0.0.1:8000/v1"
    assert (
        ChatClient.open(config, ModelContext(), {"OPENAI_API_KEY": "k"}).endpoint.shown == "https://api.openai.com/v1"
    )


def test_streaming_cannot_be_asked_for() -> None:
    """Answers are read whole."""
    config = ModelConfig(spec="openai/m", base_url="http://127.0.0.1:1/v1", extra_body={"stream": True})
    with pytest.raises(ConfigError, match="stream"):
        ChatClient.open(config, ModelContext(), {})
