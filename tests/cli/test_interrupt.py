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
