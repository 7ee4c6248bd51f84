"""`turngap view` from the outside: the address, its end, what it refuses, and the copy."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import viewing

from turngap.cli.main import execute

pytest.importorskip("fastapi", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Live trials at the boat-hire desk."""
    return viewing.played(tmp_path_factory.mktemp("view"))


@contextmanager
def _viewing(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves, and the address that it printed."""
    command = [sys.executable, "-m", "turngap", "view", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def _status(address: str, cookie: str = "") -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Cookie": cookie}), timeout=20) as found:
            return int(found.status)
    except urllib.error.HTTPError as error:
        return error.code


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command is refused."""
    assert execute(["view", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


def test_serves_on_a_free_port_until_interrupted(run: Path) -> None:
    """The address comes on standard output; Ctrl-C ends at once, with 130 and one word."""
    with _viewing(str(run), "--no-browser") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert _status(f"{address}static/view.css") == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines() == ["1 run; Ctrl-C ends the viewer", "turngap: interrupted"]


def test_a_token_is_asked_for_where_one_is_given(run: Path) -> None:
    """On this machine too; the address that is printed holds it, and opens."""
    token = "a-token-of-the-tests"
    with _viewing(str(run), "--no-browser", "--token", token) as (_, address):
        assert address.endswith(f"/?token={token}")
        bare = address.partition("?")[0]
        assert _status(bare) == 401
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert opener.open(address.replace("/?", "/static/view.css?"), timeout=20).status == 200
        assert opener.open(f"{bare}static/view.css", timeout=20).status == 200


def test_bound_elsewhere_there_is_a_token(run: Path) -> None:
    """One is made, and the person is told what that means."""
    with _viewing(str(run), "--no-browser", "--host", "0.0.0.0") as (process, address):
        found = re.fullmatch(r"http://[^/]+:(\d+)/\?token=([\w%.~-]{20,})", address)
        assert found, address
        assert _status(f"http://127.0.0.1:{found[1]}/static/view.css") == 401
        process.send_signal(signal.SIGINT)
        assert "whoever has this address sees the runs" in process.communicate(timeout=20)[1]


def test_a_port_in_use_is_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = _refused(capsys, str(run), "--no-browser", "--port", str(port))
    assert f"--port {port}" in line and "in use" in line and "leave it out" in line


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nowhere"], "no run"),
        (["."], "neither this directory nor those in it"),
        (["RUN", "--port", "70000"], "--port is between"),
        (["RUN", "--token", "short"], "at least 16 characters"),
        (["RUN", "--host", "no such host"], "--host"),
        (["RUN", "--host", "198.51.100.7", "--no-browser"], "198.51.100.7"),
        (["RUN", "--conversations", "-1"], "--conversations"),
        (["RUN", "--export", "RUN/.."], "is not empty"),
        (["RUN", "--export", "RUN"], "lies in the run"),
        (["RUN", "--export", "RUN/copy"], "lies in the run"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    part: str,
) -> None:
    """Exit code 2."""
    monkeypatch.chdir(tmp_path)
    assert part in _refused(capsys, *(one.replace("RUN", str(run)) for one in arguments))


def test_no_run_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Missing arguments are named."""
    assert "RUN" in _refused(capsys)


def test_a_copy_is_written(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its first page is named, and how much it holds."""
    folder = tmp_path / "copy"
    assert execute(["view", str(run), "--export", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{folder / 'index.html'}\n"
    assert re.match(r"\d+ pages with \d+ conversations or tasks", captured.err)
    assert (folder / "index.html").is_file()
