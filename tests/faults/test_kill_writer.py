"""SIGKILL at random moments of a process that does nothing but store units."""

from __future__ import annotations

import contextlib
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

from turngap.data import Prediction, Trajectory
from turngap.errors import StoreError
from turngap.runs import RunStore

_CONVERSATIONS, _DECISIONS = 60, 80

_WRITER = """
import os, sys, time
from pathlib import Path
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import AssistantMessage, Cause, Conversation, Failure, Prediction, Score, Trajectory, UserMessage
from turngap.runs import RunStore

conversations, decisions = int(sys.argv[2]), int(sys.argv[3])
config = EvalConfig(data=DataConfig(paths=("x",)), model=ModelConfig(spec="openai/pelican"))
data = [
    Conversation(id=f"c{n}", policy="p" * 3000, messages=(UserMessage(content="hi"), AssistantMessage(content="yo")))
    for n in range(conversations)
]

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

with RunStore.create(Path(sys.argv[1]), config) as store:
    store.add_conversations(data)
    say("data")
    for conversation in store.conversation_ids():
        done = store.predicted(conversation)
        for decision in range(decisions):
            if decision in done:
                continue
            text = f"{conversation}/{decision} " + "x" * (17 * decision)
            store.calls.put(f"{conversation}/{decision}", text.encode())
            say("call", conversation, decision)
            store.put_prediction(conversation, decision, Prediction(message=AssistantMessage(content=text)))
            say("prediction", conversation, decision)
            time.sleep(0.0003)  # as if something else had to be done, so that 20 kills fall into one run
        if conversation not in store.replayed():
            store.put_trajectory(conversation, Trajectory(conversation=conversation, steps=decisions))
            say("trajectory", conversation)
        store.replace_scores("text", (
            Score(protocol="text", conversation=name, decision=0, kind="text", success=True, cause=None)
            for name in store.conversation_ids()
        ))
        say("scores", conversation)
    say("end")
"""


def _run_and_kill(directory: Path, seconds: float) -> list[str]:
    """Start the writer, kill it after a while (or let it end), and return the lines it said."""
    arguments = [sys.executable, "-c", _WRITER, str(directory), str(_CONVERSATIONS), str(_DECISIONS)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        timer = threading.Timer(seconds, process.send_signal, (signal.SIGKILL,))
        timer.start()
        assert process.stdout is not None
        lines = process.stdout.read().split("\n")
        timer.cancel()
    return lines[:-1]  # what stands after the last line end is a line cut by the kill


def _require_sound(directory: Path, committed: set[str]) -> bool:
    """Everything that was said to be committed is in the run; returns whether the run has begun at all."""
    if not committed:
        with contextlib.suppress(StoreError):  # it may have been killed before there was a run
            RunStore.open(directory).close()
        return False
    with RunStore.open(directory) as store:
        assert store.state() == "interrupted"
        if "data" in committed:
            assert len(list(store.conversations())) == _CONVERSATIONS
        for line in committed:
            kind, *where = line.split()
            if kind == "call":
                assert store.calls.get("/".join(where)) is not None, line
            elif kind == "trajectory":
                assert isinstance(store.trajectory(where[0]), Trajectory), line
            elif kind == "scores":
                assert len(list(store.scores("text"))) == _CONVERSATIONS
        for name in {line.split()[1] for line in committed if line.startswith("prediction")}:
            found = store.predictions(name)
            for decision in (int(line.split()[2]) for line in committed if line.startswith(f"prediction {name} ")):
                result = found[decision]
                assert isinstance(result, Prediction)
                assert result.message.content.startswith(f"{name}/{decision} ")
    connection = sqlite3.connect(directory / "run.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    return True


def test_killed_at_twenty_moments(tmp_path: Path) -> None:
    """RUN-01, RUN-03: after each of 20 kills the run opens, holds all that was committed, and goes on without repeats."""
    directory = tmp_path / "run"
    draw = random.Random(1)
    committed: set[str] = set()
    begun = 0
    for _ in range(20):
        said = _run_and_kill(directory, draw.uniform(0.1, 0.45))
        fresh = [line for line in said if line.startswith(("call", "prediction", "trajectory"))]
        assert not {line for line in said if "Error" in line}, said[-1]
        assert len(set(fresh)) == len(fresh)
        assert not committed.intersection(line for line in fresh if line.startswith(("prediction", "trajectory")))
        committed.update(line for line in said if line != "end")
        begun += _require_sound(directory, committed)
    assert begun >= 10
    assert _run_and_kill(directory, 60)[-1] == "end"
    with RunStore.open(directory) as store:
        assert store.count_predictions().good == _CONVERSATIONS * _DECISIONS
        assert store.count_trajectories().good == _CONVERSATIONS
        assert len(list(store.scores())) == _CONVERSATIONS
