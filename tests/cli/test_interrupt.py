"""Signals: the first says how to resume and keeps what is done, the second ends at once, the exit code is 130."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

_PROGRAM = """
import asyncio, sys, time
from turngap.cli import interrupt
from turngap.cli.progress import Terminal

async def work(progress):
    progress.stage("replay", 40, done=10)
    progress.advance()
    print("started", flush=True)
    {body}

def command():
    progress = Terminal()
    interrupt.run(work(progress), progress)
    print("finished", flush=True)

import typer
app = typer.Typer(add_completion=False)
app.command()(command)
sys.argv = [
    "turngap", "eval", "a b.jsonl", "--base-url", " HTTP://me:SENTINEL@127.0.0.1:9/v1?key=SENTINEL",
    "--judge-base-url=me:SENTINEL@127.0.0.1:9", "--extra-body", '{{"to": "Https://me:SENTINEL@x/y?z=SENTINEL"}}',
]
try:
    code = typer.main.get_command(app).main([], standalone_mode=False)
finally:
    print("cleaned up", flush=True)
sys.exit(code or 0)
"""


def _start(body: str) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(body=body)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stderr is not None
    assert program.stderr.readline() == "started\n"  # while the work goes on, standard output is kept
    return program


def _end(program: subprocess.Popen[str]) -> tuple[int, str, str, float]:
    began = time.monotonic()
    out, err = program.communicate(timeout=20)
    return program.returncode, out, err, time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_09_one_signal_says_how_to_resume(number: signal.Signals) -> None:
    """RUN-09: within a second, one line with what is done and the command; exit 130; what may be secret is left out."""
    program = _start("await asyncio.sleep(30)")
    program.send_signal(number)
    code, out, err, seconds = _end(program)
    assert code == 130
    assert seconds < 3
    assert out == "cleaned up\n"
    line = err.splitlines()[-1]
    assert line == (
        "turngap: interrupted: 11 of 40 done (replay); "
        "resume with: turngap eval 'a b.jsonl' --base-url http://127.0.0.1:9/v1 --judge-base-url=127.0.0.1:9 "
        """--extra-body '{"to": "https://x/y"}'"""
    )
    assert "SENTINEL" not in err
    assert "Traceback" not in err


def test_run_09_the_message_comes_also_while_the_loop_is_busy() -> None:
    """RUN-09: a long stretch without await does not hold the message back."""
    program = _start("time.sleep(4); await asyncio.sleep(30)")
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    assert program.stderr is not None
    began = time.monotonic()
    lines = [program.stderr.readline(), program.stderr.readline()]
    assert time.monotonic() - began < 2
    assert "interrupted: 11 of 40 done" in "".join(lines)
    assert _end(program)[0] == 130


def test_run_09_a_second_signal_stops_at_once() -> None:
    """RUN-09: when cleaning up takes long, a second signal ends the process on the spot, still with 130."""
    program = _start(
        """
    try:
        await asyncio.sleep(30)
    finally:
        print("cleaning", flush=True)
        time.sleep(30)
"""
    )
    program.send_signal(signal.SIGINT)
    assert program.stderr is not None
    assert "interrupted" in program.stderr.readline() + program.stderr.readline()
    assert program.stderr.readline() == "cleaning\n"
    program.send_signal(signal.SIGINT)
    code, out, err, seconds = _end(program)
    assert code == 130
    assert seconds < 3
    assert (out, err) == ("", "")


def test_without_a_signal_the_work_ends_as_usual() -> None:
    """Nothing is said about interrupts, and the last state of the stage stays as a line."""
    program = _start("await asyncio.sleep(0)")
    # Not by `communicate`, which does not see what the first line's reading has taken in beyond it.
    lines = program.stderr.readlines() if program.stderr is not None else []
    assert _end(program)[:2] == (0, "finished\ncleaned up\n")
    # A busy machine may have time for a line before the last one.
    assert lines[-1].startswith("replay 11/40")


def test_a_command_that_only_reads_says_that_it_was_interrupted() -> None:
    """SIGINT in a command without anything to resume: one line, exit 130, no trace and no death by the signal."""
    body = """
import os, signal, sys
from turngap.cli import main
main.VERBS["hold"] = ("__main__:hold", "Hold.")
def hold():
    "Hold."
    os.kill(os.getpid(), signal.SIGINT)
    print("went on")
main.run(["hold"])
"""
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "turngap: interrupted\n")


@pytest.mark.parametrize(
    "body",
    [
        "await asyncio.to_thread(time.sleep, 60)",
        # A thread that is at work for a model that is closed; its end is waited for.
        """
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.to_thread(time.sleep, 60)
""",
    ],
)
def test_a_thread_that_cannot_be_stopped_holds_nobody_up(body: str) -> None:
    """Loading, converting or generating goes on in its thread: the process ends within seconds all the same."""
    program = _start(body)
    time.sleep(0.3)
    program.send_signal(signal.SIGINT)
    code, _, err, seconds = _end(program)
    assert code == 130
    assert seconds < 8
    assert err.splitlines()[-1].startswith("turngap: interrupted: 11 of 40 done (replay); resume with: ")


def test_nothing_is_shown_after_the_message() -> None:
    """Work that goes on for a moment, and tells of it, is not heard any more."""
    program = _start(
        """
    try:
        await asyncio.sleep(60)
    finally:
        progress.stage("late", 5)
        progress.note("late")
        progress.advance()
        await asyncio.sleep(0.5)
"""
    )
    program.send_signal(signal.SIGINT)
    code, out, err, _ = _end(program)
    assert (code, out) == (130, "cleaned up\n")
    assert err.splitlines()[-1].startswith("turngap: interrupted: ")


_TRAINING = """
import sys, threading, time, typer
from turngap.cli import interrupt
from turngap.cli.training_progress import TrainingTerminal
from turngap.training.moment import Moment

progress = TrainingTerminal()
def moment(step):
    return Moment(step=step, steps=9, epoch=1, loss=1, validation=None, learning_rate=1, tokens_per_second=1, seconds=1)

def train(halt):
    for step in range(1, 10):
        progress.watch(moment(step))
        for _ in range(50):
            time.sleep(0.02)
            if step == 2:
                halt()
                print("started", flush=True)
                while not halt():
                    time.sleep(0.02)
                time.sleep({late})  # the sequence under way
                print("saved", flush=True)
                return

import asyncio
async def study():
    halt = threading.Event()
    try:
        await asyncio.to_thread(train, halt.is_set)
    finally:
        halt.set()

def command():
    with interrupt.Blocking(progress) as stop:
        train(stop.halt)

sys.argv = ["turngap", "train"]
try:
    {how}
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


@pytest.mark.parametrize("how", ["interrupt.run(study(), progress)", "command()"])
def test_a_training_is_waited_for_and_it_is_said(how: str) -> None:
    """It keeps its steps however long the sequence under way takes; a second signal ends it at once."""
    for signals in (1, 2):
        program = subprocess.Popen(
            [sys.executable, "-c", _TRAINING.format(how=how, late=6 if signals == 1 else 60)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        streams = (program.stdout, program.stderr)
        assert all(streams)
        line = ""
        while line != "started\n":
            line = streams["command" not in how].readline()  # type: ignore[union-attr]
        program.send_signal(signal.SIGINT)
        if signals == 2:
            time.sleep(0.5)
            program.send_signal(signal.SIGINT)
        code, out, err, seconds = _end(program)
        said = [text for text in err.splitlines() if "interrupted" in text]
        assert code == 130
        assert "interrupted: 2 of 9 done (training); the training ends after the sequence under way" in said[0]
        assert "a second signal ends it at once; resume with: turngap train" in said[0]
        assert ("saved" in out + err) == (signals == 1)
        assert seconds < 12
        assert [text for text in err.splitlines() if text != "saved"][-1] == said[0]


_HELD = """
import sys, time, typer
from concurrent.futures import ThreadPoolExecutor
from turngap.cli import interrupt
from turngap.cli.progress import Terminal
progress = Terminal()
sys.argv = ["turngap", "train"]
with interrupt.Blocking(progress):
    progress.stage("loading", 0)
    with ThreadPoolExecutor() as pool:  # as transformers loads weights
        pool.submit(lambda: (print("started", flush=True), time.sleep(60))).result()
"""


def test_loading_that_cannot_be_stopped_holds_nobody_up() -> None:
    """Blocking work whose threads are waited for while the error unwinds: over within seconds, too."""
    program = subprocess.Popen([sys.executable, "-c", _HELD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "started\n"
    program.send_signal(signal.SIGINT)
    code, _, err, seconds = _end(program)
    assert code == 130
    assert seconds < 8
    assert err == "turngap: interrupted: stage 'loading' not done; resume with: turngap train\n"
