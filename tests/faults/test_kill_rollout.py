"""`turngap rollout` against a server, killed and interrupted at different moments: it resumes to the same figures."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boats
import pytest
from chatserver import ChatServer, Say, Step, call, text

from turngap.formats import tasks as task_files

pytestmark = pytest.mark.slow

_TIMES = ("seconds", "answer_seconds")


def _answer(body: dict[str, Any], _count: int) -> Step:
    """Mostly right, sometimes the wrong day, decided by the request alone; a little slow."""
    said = " ".join(str(message.get("content")) for message in body["messages"])
    booking = re.findall(r"BK-\d", said.split("you move it.")[-1])[0]
    chance = int(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(), 16) % 4
    results = sum(message["role"] == "tool" for message in body["messages"])
    step: Say
    if results == 0:
        step = call("get_booking", {"booking_id": booking})
    elif results == 1 and "es, please" not in said:
        step = text("Shall I move it to 2031-05-02? (yes/no)")
    elif results == 1:
        step = call("move_booking", {"booking_id": booking, "date": "2031-05-02" if chance else "2031-05-03"})
    else:
        step = text("Done, it is on 2031-05-02. Is there anything else that I can do for you?")
    step.delay = 0.03
    return step


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """The agent's server."""
    running = ChatServer(_answer)
    yield running
    running.close()


def _start(directory: Path, tasks: Path, server: ChatServer) -> subprocess.Popen[str]:
    arguments = ["rollout", "--domain", boats.__file__, "--tasks", tasks, "--model", "openai/pelican", "--trials", "4"]
    arguments += ["--base-url", server.url, "--concurrency", "3", "--temperature", "1", "--model-seed", "5"]
    return subprocess.Popen(
        [sys.executable, "-m", "turngap", *map(str, arguments), "-o", str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ},
    )


def _figures(directory: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
    for row in document["per_task"]:
        for name in _TIMES:
            del row[name]
    return document


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Three tasks."""
    path = tmp_path / "tasks.json"
    task_files.write(path, [boats.task(number) for number in (1, 2, 3)])
    return path


def test_a_killed_rollout_resumes_to_the_same_figures(tmp_path: Path, tasks: Path, server: ChatServer) -> None:
    """RUN-03, RUN-12: after kill -9 at several moments the figures are those of an undisturbed run, times apart."""
    whole = _start(tmp_path / "whole", tasks, server)
    out, err = whole.communicate(timeout=60)
    assert whole.returncode == 0, out + err
    asked = len(server.requests)
    for after in (3, 14, 30):
        process = _start(tmp_path / "killed", tasks, server)
        begun = len(server.requests)
        deadline = time.monotonic() + 30
        while len(server.requests) < begun + after and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        process.communicate()
    last = _start(tmp_path / "killed", tasks, server)
    out, err = last.communicate(timeout=60)
    assert last.returncode == 0, err
    assert _figures(tmp_path / "killed") == _figures(tmp_path / "whole")
    # Only what was under way at a kill is asked again: at most three trials' current answers, three times.
    assert len(server.requests) - asked <= asked + 9


def test_an_interrupted_rollout_says_how_to_go_on(tmp_path: Path, tasks: Path, server: ChatServer) -> None:
    """RUN-09: SIGINT in the middle, tools and all: exit 130, the resume line, finished trials kept."""
    process = _start(tmp_path / "run", tasks, server)
    while len(server.requests) < 25 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert re.search(r"interrupted: \d+ of 12 done \(rollout\); resume with: turngap rollout ", err)
    again = _start(tmp_path / "run", tasks, server)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert "12 trials: 12 valid" in out
