"""What the chat-completions client costs: wall time against the ideal, and CPU per call.

A server in another process answers every request after 200 ms; 2000 calls at concurrency 200 take 2 s at best.

    python benchmarks/client_overhead.py [--calls 2000] [--concurrency 200] [--against httpx]

Prints wall and CPU time for `ChatClient.complete` alone and for `ChatModel.act` (encoding, parsing, prompt watch too),
and, with ``--against httpx`` where httpx is installed, for bare httpx posts of a like body. CPU is that of the client's
process. The connections are opened before the clock starts with one round of calls, as they stay open in a run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from typing import Any

from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Message, ToolCall, ToolMessage, ToolSpec, UserMessage
from turngap.models.base import ModelContext, Request, Seat
from turngap.models.chat import ChatModel
from turngap.models.client import ChatClient

DELAY = 0.2
_ANSWER = json.dumps(
    {
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "x",
                            "type": "function",
                            "function": {"name": "get_booking", "arguments": '{"booking_id": "BK-1042"}'},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20},
    }
).encode()


def serve(port: multiprocessing.Queue[int]) -> None:
    """A bare HTTP/1.1 server: cheaper than a framework, so that it is not what is measured."""

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport, self.buffer = transport, b""

        def data_received(self, data: bytes) -> None:
            self.buffer += data
            while True:
                head, found, rest = self.buffer.partition(b"\r\n\r\n")
                if not found:
                    return
                length = int(
                    next(
                        line.split(b":")[1]
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-length")
                    )
                )
                if len(rest) < length:
                    return
                self.buffer = rest[length:]
                asyncio.get_running_loop().call_later(DELAY, self.answer)

        def answer(self) -> None:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(_ANSWER)}\r\n\r\n"
            self.transport.write(head.encode() + _ANSWER)

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0, backlog=4096)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def requests(count: int) -> list[Request]:
    """Conversations of five decisions with eight tools and a policy of some 400 words, as a run would ask them."""
    tools = tuple(
        ToolSpec(
            name="get_booking" if index == 0 else f"tool_{index}",
            description="Does something to a booking, and says what it did.",
            parameters={"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(4)}},
        )
        for index in range(8)
    )
    policy = "Look a booking up before you change it, and ask for a yes before you move it. " * 25
    turn: tuple[Message, ...] = (
        UserMessage(content="Please move my booking BK-1042 to the second of May, if there is room for two."),
        AssistantMessage(calls=(ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"}),)),
        ToolMessage(name="get_booking", content='{"booking_id": "BK-1042", "date": "2031-04-30", "seats": 2}'),
        AssistantMessage(content="It is for two people on 30 April. Shall I move it to 2 May?"),
    )
    return [
        Request(
            policy=policy,
            tools=tools,
            messages=(*turn * (number % 5), turn[0]),
            seat=Seat(conversation=str(number // 5), protocol="gold", decision=number % 5),
        )
        for number in range(count)
    ]


async def measure(name: str, calls: int, concurrency: int, call: Callable[[int], Awaitable[object]]) -> None:
    """Run all calls with so many workers, and print what it took."""
    await asyncio.gather(*(call(number) for number in range(concurrency)))
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await call(number)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    ideal = DELAY * calls / concurrency
    print(f"{name:12} wall {wall:5.2f} s = {wall / ideal:4.2f} x ideal   CPU {1000 * cpu / calls:6.3f} ms a call")


async def ours(url: str, calls: int, concurrency: int) -> None:
    """The client alone, and the model around it."""
    config = ModelConfig(spec="openai/m", base_url=url, api_key_env="NO_SUCH_KEY", concurrency=concurrency)
    context = ModelContext()
    client = ChatClient.open(config, context)
    model = ChatModel(config, client, context)
    asked = requests(calls)
    body = [{"role": "system", "content": asked[0].policy}, {"role": "user", "content": "Please move BK-1042."}]
    await measure("ChatClient", calls, concurrency, lambda _: client.complete(body, max_tokens=64, temperature=0.0))
    await measure("ChatModel", calls, concurrency, lambda number: model.act(asked[number]))
    await model.aclose()


async def httpx_alone(url: str, calls: int, concurrency: int) -> None:
    """Bare posts with httpx."""
    import httpx  # noqa: PLC0415 - only for the comparison, where it is installed

    body = {"messages": [{"role": "system", "content": requests(1)[0].policy}]}
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:

        async def call(_: int) -> object:
            return (await client.post(f"{url}/chat/completions", json=body)).json()

        await measure("httpx", calls, concurrency, call)


def main() -> None:
    """Start the server, measure, stop it."""
    parser = argparse.ArgumentParser(description="Cost of the chat-completions client")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=200)
    parser.add_argument("--against", choices=["httpx"])
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    port: Any = spawn.Queue()
    server = spawn.Process(target=serve, args=(port,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{port.get()}/v1"
    asyncio.run(ours(url, options.calls, options.concurrency))
    if options.against:
        asyncio.run(httpx_alone(url, options.calls, options.concurrency))
    server.terminate()
    server.join()


if __name__ == "__main__":
    main()
