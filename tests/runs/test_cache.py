"""The call cache: in a run, shared between runs and processes, and one behind the other."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from turngap.config import EvalConfig
from turngap.errors import StoreError
from turngap.models.base import CallCache
from turngap.runs.cache import Layered, SharedCache
from turngap.runs.store import RunStore


def test_calls_of_a_run(tmp_path: Path, config: EvalConfig) -> None:
    """RUN-06: what was answered once is there for the second command on the run, per key."""
    with RunStore.create(tmp_path / "run", config) as store:
        for trial in range(4):
            assert store.calls.get(f"trial{trial}") is None
            store.calls.put(f"trial{trial}", f"answer {trial}".encode())
    with RunStore.create(tmp_path / "run", config) as store:
        assert [store.calls.get(f"trial{trial}") for trial in range(4)] == [
            b"answer 0",
            b"answer 1",
            b"answer 2",
            b"answer 3",
        ]


def test_first_answer_stays(tmp_path: Path) -> None:
    """RUN-11: an answer that is handed over twice is kept as it first came."""
    with SharedCache(tmp_path / "calls.sqlite") as cache:
        cache.put("a", b"first")
        cache.put("a", b"second")
        assert cache.get("a") == b"first"
        assert len(cache) == 1


def test_layers(tmp_path: Path, config: EvalConfig) -> None:
    """A hit in the shared cache is copied into the run, a new answer goes into both."""
    with SharedCache(tmp_path / "deep" / "calls.sqlite") as shared, RunStore.create(tmp_path / "run", config) as store:
        both: CallCache = Layered(store.calls, shared)
        shared.put("known", b"1")
        assert store.calls.get("known") is None
        assert both.get("known") == b"1"
        assert store.calls.get("known") == b"1"
        both.put("new", b"2")
        assert store.calls.get("new") == shared.get("new") == b"2"
        assert both.get("nothing") is None


_WRITER = """
import sys
from pathlib import Path
from turngap.runs import SharedCache
with SharedCache(Path(sys.argv[1])) as cache:
    for number in range(300):
        cache.put(f"both{number}", sys.argv[2].encode())
        cache.put(f"{sys.argv[2]}{number}", b"mine")
        assert cache.get(f"both{number}")
"""


def test_many_processes(tmp_path: Path) -> None:
    """Four processes create and fill one cache at once; nothing is lost and nobody is refused."""
    path = tmp_path / "calls.sqlite"
    crew = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name], stderr=subprocess.PIPE, text=True)
        for name in "abcd"
    ]
    said = [process.communicate(timeout=60)[1] for process in crew]
    assert said == ["", "", "", ""]
    with SharedCache(path) as cache:
        assert len(cache) == 300 + 4 * 300
        assert {cache.get(f"both{number}") for number in range(300)} <= {b"a", b"b", b"c", b"d"}


def test_not_a_cache(tmp_path: Path, config: EvalConfig) -> None:
    """A run, noise, or an impossible folder in place of a cache give one line."""
    RunStore.create(tmp_path / "run", config).close()
    (tmp_path / "noise").write_bytes(b"noise" * 1000)
    for path, expected in (
        (tmp_path / "run" / "run.sqlite", "not a call cache"),
        (tmp_path / "noise", "damaged"),
        (tmp_path / "noise" / "calls.sqlite", "cannot be made"),
    ):
        with pytest.raises(StoreError, match=expected):
            SharedCache(path)


def test_cache_file_is_plain(tmp_path: Path) -> None:
    """A cache can be read with nothing but SQLite."""
    with SharedCache(tmp_path / "calls.sqlite") as cache:
        cache.put("k", b"v")
    connection = sqlite3.connect(tmp_path / "calls.sqlite")
    assert connection.execute("SELECT key, response FROM call").fetchall() == [("k", b"v")]
    connection.close()
