"""The `turngap` command itself: verbs, exit codes, one line for every error."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from turngap import __version__
from turngap.cli.main import VERBS, execute, load


def _run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turngap", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        check=False,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """`turngap --help`, and `turngap` alone, name every verb with its one line."""
    assert execute(["--help"]) == 0
    shown = capsys.readouterr().out
    assert execute([]) == 0
    assert capsys.readouterr().out == shown
    for verb, (_, line) in VERBS.items():
        assert f"  {verb} " in shown
        assert line.split()[0] in shown


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_exists_and_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb's module loads, and its help fits 80 columns."""
    assert load(verb).name == verb
    assert execute([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: turngap {verb}")
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert not re.search(r"<(str|int|float|path|list)\b|\{|\.\.\.\]?\.\.\.", shown)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`turngap --version` prints it and nothing else."""
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out == f"turngap {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evil"], "unknown command 'evil'; known: demo, eval,"),
        (["--nope"], "No such option: --nope"),
        (["eval", "--limit", "many"], "'--limit'"),
        (["eval", "--limit"], "--limit"),
        (["eval", "nofile.jsonl"], "no model: give --model"),
        (["eval", "--model", "baseline/reference"], "no data: name a file"),
        (["eval", "nofile.jsonl", "--model", "baseline/reference"], "nofile.jsonl"),
        (["eval", "x", "--model", "m", "--protocols", "replays"], "unknown protocol replays; known: all, text"),
        (["eval", "x", "--model", "m", "--sample"], "say how many with --limit N"),
        (["eval", "x", "--model", "m", "--limit", "0"], "data.limit is at least 1, not 0"),
        (["eval", "x", "--model", "m", "--concurrency", "-3"], "model.concurrency is at least 1, not -3"),
        (["eval", "x", "--model", "m", "--attempts", "0"], "replay.attempts is at least 1, not 0"),
        (["eval", "x", "--model", "m", "--when-silent", "shout"], "--when-silent is carry or fail"),
        (["eval", "x", "--model", "m", "--extra-body", "{oops"], "--extra-body: not JSON"),
        (["eval", "x", "--model", "m", "--extra-body", "gone.json"], "gone.json: --extra-body: cannot be read"),
        (["eval", "x", "--model", "m", "--compare-args", '{"tool": 3}'], "match.compare_args"),
        (["eval", "x", "--model", "m", "--config", "gone.toml"], "gone.toml: cannot be read"),
        (["score", "gone"], "gone"),
        (["list"], "Missing argument"),
        (["list", "planets"], "nothing to list under 'planets'; known: models"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong with a command line is said in one line on standard error, with exit code 2."""
    with contextlib.chdir(tmp_path):
        assert execute(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    *notes, line = captured.err.splitlines()
    assert notes == []
    assert line.startswith("turngap: ")
    assert said in line


def test_bad_json_in_the_data_names_file_and_line(tmp_path: Path) -> None:
    """A broken line of data: one line with file and line number, exit 2, no traceback."""
    data = tmp_path / "logs.jsonl"
    data.write_text('{"messages": [{"role": "user", "content": "hi"}]}\n{"messages": [\n', encoding="utf-8")
    done = _run("eval", str(data), "--model", "baseline/reference", "-o", str(tmp_path / "run"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"turngap: {data}:2" in done.stderr


def test_an_internal_error_is_one_line_with_a_hint() -> None:
    """What nobody foresaw is one line too; TURNGAP_DEBUG=1 shows the traceback."""
    code = "from turngap.cli import main; main.VERBS['list'] = ('turngap.cli.gone:show', ''); main.run(['list'])"
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert plain.returncode == 1
    assert plain.stderr.startswith("turngap: internal error at ")
    assert plain.stderr.count("\n") == 1
    assert "TURNGAP_DEBUG=1" in plain.stderr
    environment = {"TURNGAP_DEBUG": "1", "PATH": "/usr/bin:/bin"}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert "Traceback" in shown.stderr


def test_an_internal_error_of_many_lines_is_one_line() -> None:
    """Whatever an error says, the person reads one line."""
    code = """
from turngap.cli import main
main.VERBS["list"] = ("__main__:show", "")
def show():
    raise ZeroDivisionError("one\\ntwo\\n\\nthree")
main.run(["list"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "ZeroDivisionError: one two three (TURNGAP_DEBUG" in done.stderr


def test_places_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    """A name that is too long, a folder that nobody may enter, a working directory that is gone: exit 2, no trace."""
    done = _run("taxonomy", "x" * 300)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "x/run.json: File name too long" in done.stderr
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from turngap.cli.main import run; run(sys.argv[1:])"
    command = [sys.executable, "-c", code, "eval", str(tmp_path / "x"), "--model", "baseline/reference", "-o", "y"]
    done = subprocess.run(command, cwd=gone, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "turngap: the working directory is gone; go to another one\n")


def test_a_closed_pipe_ends_quietly() -> None:
    """`turngap list models | head -0` says nothing on standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "turngap", "list", "models"],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
