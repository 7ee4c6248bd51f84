"""The whole command against a server, killed and interrupted: nothing committed is asked again, figures come out equal.

The server's answers depend on nothing but the request, and each carries the digest of its request, so that an answer
in the run directory tells which request it was given for.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer, Say, Step, call, text

pytestmark = pytest.mark.slow

_CONVERSATIONS = 10
_MARK = re.compile(rb"mark-([0-9a-f]{16})")


def _mark(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def _answer(body: dict[str, Any], _count: int) -> Step:
    """Mostly what the recording did, now and then a wrong call or words in place of one; decided by the request."""
    mark = _mark(body)
    chance = int(mark, 16) % 10
    results = sum(message["role"] == "tool" for message in body["messages"])
    seats = 3 if chance == 0 else 2
    step: Say
    if body["messages"][-1]["role"] == "user" and chance != 1:
        if results == 0:
            step = call("get_booking", {"booking_id": "BK-1042"}, content=f"mark-{mark}")
        else:
            move = {"booking_id": "BK-1042", "date": "2031-05-02", "seats": seats}
            step = call("move_booking", move, content=f"mark-{mark}")
    else:
        step = text(f"It is for {seats} people on 30 April. Shall I move it to 2 May? mark-{mark}")
    step.delay = 0.02
    return step


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """The server of the module docstring."""
    running = ChatServer(_answer)
    yield running
    running.close()


@pytest.fixture
def data(tmp_path: Path, boat_record: dict[str, Any]) -> Path:
    """Conversations of the boat-hire desk that differ in a number."""
    path = tmp_path / "boats.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number in range(_CONVERSATIONS):
            boat_record["messages"][1]["content"] = f"Please move BK-1042 to 2 May. My number is {number}."
            stream.write(json.dumps(boat_record) + "\n")
    return path


@pytest.fixture
def start(data: Path, server: ChatServer) -> Callable[[Path], subprocess.Popen[str]]:
    """Starts `turngap eval` on a run directory."""

    def begin(directory: Path) -> subprocess.Popen[str]:
        arguments = ["eval", data, "--model", "openai/pelican", "--base-url", server.url, "--concurrency", "3"]
        return subprocess.Popen(
            [sys.executable, "-m", "turngap", *map(str, arguments), "-o", str(directory)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        )

    return begin


def _finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out, err


def _figures(directory: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
    return document


def _committed(directory: Path) -> set[str]:
    """Digests of the requests whose answers are in the run directory."""
    if not (directory / "run.sqlite").exists():
        return set()
    connection = sqlite3.connect(directory / "run.sqlite")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT response FROM call").fetchall()
    except sqlite3.OperationalError:  # killed before there were tables
        return set()
    finally:
        connection.close()
    marks = [found for row in rows for found in _MARK.findall(row[0])]
    return {mark.decode() for mark in marks}


def _units(directory: Path) -> tuple[int, ...]:
    connection = sqlite3.connect(directory / "run.sqlite")
    tables = ("call", "prediction", "trajectory", "verdict", "score")
    counts = tuple(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
    connection.close()
    return counts


def _kill_after(process: subprocess.Popen[str], server: ChatServer, requests: int, seconds: float) -> bool:
    """Send SIGKILL once the server has seen so many more requests, and a moment later; False when it had ended before."""
    goal = len(server.requests) + requests
    while len(server.requests) < goal and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    return alive


def test_each_of_twenty_kills_resumes_to_the_same_figures(
    start: Callable[[Path], subprocess.Popen[str]], server: ChatServer, tmp_path: Path
) -> None:
    """RUN-01, RUN-03, RUN-12: killed at 20 random moments, each run resumes to the undisturbed one's figures, no repeats."""
    calm = tmp_path / "calm"
    _finish(start(calm))
    whole = len(server.requests)
    draw = random.Random(2)
    killed_with_work = 0
    for number in range(20):
        directory = tmp_path / f"run{number}"
        alive = _kill_after(start(directory), server, draw.randint(0, whole), draw.uniform(0.0, 0.2))
        committed = _committed(directory)
        killed_with_work += alive and 0 < len(committed) < whole
        before = len(server.requests)
        _finish(start(directory))
        asked = {_mark(body) for body in server.requests[before:]}
        assert not asked & committed
        assert len(asked) == len(server.requests) - before
        assert _figures(directory) == _figures(calm)
        assert _units(directory) == _units(calm)
    assert killed_with_work >= 10


def test_one_run_killed_again_and_again(
    start: Callable[[Path], subprocess.Popen[str]], server: ChatServer, tmp_path: Path
) -> None:
    """RUN-01: a run that is killed time after time ends like an undisturbed one, having asked for each answer once."""
    calm, directory = tmp_path / "calm", tmp_path / "run"
    _finish(start(calm))
    draw = random.Random(3)
    committed: set[str] = set()
    for _ in range(12):
        before = len(server.requests)
        _kill_after(start(directory), server, draw.randint(1, 14), draw.uniform(0.0, 0.03))
        assert not {_mark(body) for body in server.requests[before:]} & committed
        assert committed <= _committed(directory)
        committed = _committed(directory)
    before = len(server.requests)
    _, said = _finish(start(directory))
    assert not {_mark(body) for body in server.requests[before:]} & committed
    assert _figures(directory) == _figures(calm)
    assert _units(directory) == _units(calm)
    assert re.search(r"predict 40/40", said), said


def _await_requests(server: ChatServer, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(server.requests) < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupt(
    start: Callable[[Path], subprocess.Popen[str]], server: ChatServer, tmp_path: Path, number: signal.Signals
) -> None:
    """RUN-09: one signal ends the run within a second with exit 130 and the way to resume; what was done is kept."""
    directory = tmp_path / "run"
    process = start(directory)
    _await_requests(server, 20)
    began = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - began < 1.0
    assert process.returncode == 130
    assert "Traceback" not in said
    assert re.search(r"interrupted: .*resume with: turngap eval .*-o", said)
    committed = _committed(directory)
    assert len(committed) >= 10
    before = len(server.requests)
    _finish(start(directory))
    assert not {_mark(body) for body in server.requests[before:]} & committed


def test_second_interrupt_stops_at_once(
    start: Callable[[Path], subprocess.Popen[str]], server: ChatServer, tmp_path: Path
) -> None:
    """RUN-09: a second Ctrl-C right after the first still exits 130 and leaves a run that resumes."""
    directory = tmp_path / "run"
    process = start(directory)
    _await_requests(server, 20)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    committed = _committed(directory)
    before = len(server.requests)
    _finish(start(directory))
    asked = Counter(_mark(body) for body in server.requests[before:])
    assert not set(asked) & committed
    assert max(asked.values()) == 1
