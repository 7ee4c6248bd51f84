"""What the harness itself costs: 2000 calls at concurrency 200 against a server that answers after 200 ms.

Run: ``python benchmarks/harness.py [--profile]``. The server is another process on loopback, everything else the real
thing: recordings are read from a file, answers (half of them native calls, half text) parsed, every unit and every call
committed to a run directory, progress drawn. Ideal is calls / concurrency x 0.2 s = 2 s from the first request to the
last answer. Of three rounds the best counts, since other work on the machine only ever slows it. Exits 1 when it takes
more than 1.15 times the ideal, or a call more than 0.6 ms of CPU.
"""

from __future__ import annotations

import asyncio
import cProfile
import itertools
import json
import multiprocessing
import pstats
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from turngap.analysis.summary import summarise
from turngap.cli import interrupt
from turngap.cli.progress import Terminal
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs import RunStore

CALLS, CONCURRENCY, DELAY = 2000, 200, 0.2
WANTED_RATIO, WANTED_CPU_MS = 1.15, 0.6
ROUNDS = 3
DECISIONS = 4  # of each conversation


# ---- the server: no framework, so that it does not take the CPU that is to be measured


class Answering(asyncio.Protocol):
    """One connection; answers each request after a while."""

    first = last = 0.0
    count = open = most_open = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = 0
            if (place := head.find(b"content-length:")) >= 0:
                length = int(head[place + 15 :].split(b"\r\n", 1)[0])
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length :]
            self.asked(head)

    def asked(self, head: bytes) -> None:
        if not head.startswith(b"post /v1/chat/completions"):
            self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")  # type: ignore[attr-defined]
            return
        kind = Answering
        kind.first = kind.first or time.perf_counter()
        kind.count += 1
        kind.open += 1
        kind.most_open = max(kind.most_open, kind.open)
        asyncio.get_running_loop().call_later(DELAY, self.answer, BODIES[kind.count % 2])

    def answer(self, body: bytes) -> None:
        Answering.open -= 1
        Answering.last = time.perf_counter()
        self.transport.write(body)  # type: ignore[attr-defined]


def response(message: dict[str, Any], finish: str) -> bytes:
    """A whole HTTP answer."""
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 800}}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


CALL = {"name": "get_booking", "arguments": '{"booking_id": "BK-1042"}'}
BODIES = (
    response({"content": "It is for two people on 30 April. Shall I move it to 2 May for you?"}, "stop"),
    response({"content": None, "tool_calls": [{"id": "a", "type": "function", "function": CALL}]}, "tool_calls"),
)


def serve(pipe: Connection) -> None:
    """Run the server until the other side asks for its figures."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=2048)
        pipe.send(server.sockets[0].getsockname()[1])
        while not pipe.poll():
            await asyncio.sleep(0.05)
        pipe.send((Answering.count, Answering.most_open, Answering.last - Answering.first, time.process_time()))

    asyncio.run(run())


# ---- the data


def record(number: int) -> dict[str, Any]:
    """A recorded conversation with two tool decisions and two text decisions, about 4 KB with its tools."""
    booking = f"BK-{number}"
    schema = {"type": "object", "properties": {"booking_id": {"type": "string"}}, "required": ["booking_id"]}
    about = "Looks a booking up and says what is known about it: date, seats, state and the customer's name. "
    tools = [
        {"type": "function", "function": {"name": name, "description": about * 2, "parameters": schema}}
        for name in ("get_booking", "move_booking", "cancel_booking", "find_customer", "add_note", "list_slots")
    ]

    def call(name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps({"booking_id": booking})}
        return {"role": "assistant", "tool_calls": [{"id": name, "type": "function", "function": function}]}

    return {
        "id": f"{number}",
        "tools": tools,
        "messages": [
            {"role": "system", "content": "You work for a boat hire. Look a booking up before you change it. " * 12},
            {"role": "user", "content": f"Please move {booking} to 2 May."},
            call("get_booking"),
            {"role": "tool", "tool_call_id": "get_booking", "content": '{"date": "2031-04-30", "seats": 2}'},
            {"role": "assistant", "content": "It is for two people on 30 April. Shall I move it to 2 May?"},
            {"role": "user", "content": "Yes."},
            call("move_booking"),
            {"role": "tool", "tool_call_id": "move_booking", "content": '{"ok": true}'},
            {"role": "assistant", "content": "Done, your booking is on 2 May."},
        ],
    }


# ---- the measurement


class Stopwatch(Terminal):
    """The progress of the command line, which also notes when each stage began."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[tuple[str, float, float]] = []

    def stage(self, name: str, total: int, done: int = 0, errored: int = 0) -> None:
        self.marks.append((name, time.perf_counter(), time.process_time()))
        super().stage(name, total, done, errored)


def measure(folder: Path, port: int) -> tuple[Stopwatch, float, float]:
    """Evaluate the data; stages, and wall and CPU seconds at the end."""
    data = folder / "data.jsonl"
    with data.open("w") as stream:
        stream.writelines(json.dumps(record(number)) + "\n" for number in range(CALLS // DECISIONS))
    config = EvalConfig(
        data=DataConfig(paths=(str(data),)),
        model=ModelConfig(spec="openai/pelican", base_url=f"http://127.0.0.1:{port}/v1", concurrency=CONCURRENCY),
        protocols=("text", "turn", "strict"),
    )
    watch = Stopwatch()
    interrupt.run(evaluate(config, folder / "run", Services(progress=watch)), watch)
    with RunStore.open(folder / "run") as store:
        watch.stage("sum up", 0)
        summary = summarise(store)
        counted = store.count_predictions()
    assert counted.good == CALLS, counted
    assert summary.n["decisions"] == CALLS
    return watch, time.perf_counter(), time.process_time()


def attempt(profile: cProfile.Profile | None) -> tuple[bool, float]:
    """One round with a server and a run of its own: prints its figures; whether they suffice, and the ratio."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as folder:
        if profile:
            profile.enable()
        watch, wall, cpu = measure(Path(folder), port)
        if profile:
            profile.disable()
    ours.send("stop")
    count, most_open, window, server_cpu = ours.recv()
    server.join()

    ratio = window / (CALLS / CONCURRENCY * DELAY)
    marks = [*watch.marks, ("end", wall, cpu)]
    print(f"{count} calls, at most {most_open} at once, each answered after {DELAY * 1000:.0f} ms")
    print(f"{'stage':28}{'wall s':>10}{'CPU ms a call':>16}")
    costs = {"all": (wall - marks[0][1], (cpu - marks[0][2]) / CALLS * 1000)}
    for (name, wall_0, cpu_0), (_, wall_1, cpu_1) in itertools.pairwise(marks):
        costs[name] = (wall_1 - wall_0, (cpu_1 - cpu_0) / CALLS * 1000)
    for name, (seconds, milliseconds) in costs.items():
        print(f"{name:28}{seconds:>10.3f}{milliseconds:>16.3f}")
    print(f"first request to last answer: {window:.3f} s, {ratio:.3f} of the ideal")
    print(f"asking, storing, parsing, progress: {costs['predict'][1]:.3f} ms CPU a call", end="")
    print(f" (the server: {server_cpu / CALLS * 1000:.3f})\n")
    return count == CALLS and ratio <= WANTED_RATIO and costs["predict"][1] < WANTED_CPU_MS, ratio


def main(arguments: list[str]) -> int:
    """Measure and print; the exit code."""
    if "--profile" in arguments:
        profile = cProfile.Profile()
        attempt(profile)
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        return 0
    rounds = [attempt(None) for _ in range(ROUNDS)]
    print(f"best of {ROUNDS} rounds: {min(ratio for _, ratio in rounds):.3f} of the ideal")
    return 0 if any(good for good, _ in rounds) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
