"""Code of other people takes neither standard output nor the working directory from a command, nor holds up its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from turngap.cli.guard import guarded

_DOMAIN = '''
import asyncio, os, subprocess, sys, threading, time
from turngap.domains.api import Domain, State, generic

print("NOISE at import")

class Nothing(State):
    pass

@generic
def meddle(how: str) -> str:
    """Meddle."""
    if how == "print":
        print("NOISE")
    elif how == "write":
        os.write(1, b"NOISE\\n")
        subprocess.run([sys.executable, "-c", "print('NOISE')"], check=True)
    elif how == "go away":
        os.chdir("/")
    elif how == "leave a thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
    elif how == "fail in a thread":
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    return "done"

def fail():
    raise ValueError("two\\nlines")

@generic
async def wait(how: str) -> str:
    """Wait."""
    if how == "not heed":
        while True:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                pass
    await asyncio.to_thread(time.sleep, 60)
    return "done"

DOMAIN = Domain(name="odd", policy="p", state=Nothing, tools=[meddle, wait], time_limit=0.3, database={})
'''


_ASKED = ("--domain", "odd.py", "--tasks", "tasks.json", "--model", "baseline/reference")


def _rollout(place: Path, tool: str, how: str) -> tuple[int, str, str]:
    (place / "odd.py").write_text(_DOMAIN, encoding="utf-8")
    action = {"action_id": "1", "name": tool, "arguments": {"how": how}}
    criteria = {"actions": [action], "communicate_info": [], "reward_basis": ["DB"]}
    task = {"id": "a", "user_scenario": {"instructions": "You want it."}, "evaluation_criteria": criteria}
    (place / "tasks.json").write_text(json.dumps([task]), encoding="utf-8")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "turngap", "rollout", "--json", "-o", "run", *_ASKED],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert time.monotonic() - began < 40
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("tool", "how", "code"),
    [
        ("meddle", "print", 0),
        ("meddle", "write", 0),
        ("meddle", "go away", 0),
        ("meddle", "leave a thread", 0),
        ("meddle", "fail in a thread", 0),
        ("wait", "not heed", 1),
        ("wait", "in another thread", 1),
    ],
)
def test_a_meddling_tool_spoils_no_command(tmp_path: Path, tool: str, how: str, code: int) -> None:
    """One JSON document on standard output, the run where it was asked for, an end in time, no traceback."""
    returned, out, err = _rollout(tmp_path, tool, how)
    document: dict[str, Any] = json.loads(out)
    assert returned == code, err
    assert document["run"] == "run" and document["n"]["errored"] == code
    assert (tmp_path / "run" / "metrics.json").is_file()
    assert "NOISE at import" in err and "Traceback" not in err
    if how == "fail in a thread":
        assert err.count("turngap: an error that nobody waited for at odd.py:") == 1
        assert "ValueError: two lines (TURNGAP_DEBUG=1" in err


def test_output_and_place_come_back(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Whatever happens inside, afterwards standard output and the working directory are as they were."""
    before = Path.cwd()

    def misbehave() -> None:
        with guarded():
            os.chdir(tmp_path)
            os.write(1, b"inside")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        misbehave()
    os.write(1, b"outside")
    assert Path.cwd() == before
    assert capfd.readouterr() == ("outside", "inside")
