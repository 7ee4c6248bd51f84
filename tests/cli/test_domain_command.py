"""`turngap domain generate`: databases from a seed, sizes, and what is to be avoided."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turngap.cli.main import execute
from turngap.domains.retail.schema import read

_SMALL = ("--categories", "6", "--variants", "2-4", "--users", "5", "--orders", "9", "--items", "1-2")


def _generate(*options: str) -> int:
    return execute(["domain", "generate", "retail", *_SMALL, *options])


def test_a_file_or_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without -o the database goes to standard output, and nothing else does; it is what -o writes."""
    path = tmp_path / "db.json"
    assert _generate("--seed", "3") == 0
    printed = capsys.readouterr()
    assert _generate("--seed", "3", "-o", str(path)) == 0
    told = capsys.readouterr()
    assert printed.err == told.out == ""
    assert path.read_text(encoding="utf-8") == printed.out
    assert "6 products with" in told.err
    assert {table: len(rows) for table, rows in json.loads(printed.out).items()} == {
        "products": 6,
        "users": 5,
        "orders": 9,
    }


def test_avoid(tmp_path: Path) -> None:
    """Nothing of the databases to avoid comes up again, though the seed is the same."""
    first, second, third = (tmp_path / f"{name}.json" for name in ("first", "second", "third"))
    assert _generate("-o", str(first)) == 0
    assert _generate("-o", str(second), "--avoid", str(first)) == 0
    assert _generate("-o", str(third), "--avoid", str(first), "--avoid", str(second)) == 0
    tables = [read(path).tables() for path in (first, second, third)]
    for table in ("products", "users", "orders"):
        keys = [key for one in tables for key in one[table]]
        assert len(keys) == len(set(keys))
    names = [product["name"] for one in tables for product in one["products"].values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--variants", "x"), "--variants should be LOW-HIGH"),
        (("--items", "3-1"), "--items should be LOW-HIGH"),
        (("--variants-mean", "40"), "no whole numbers from 2 to 4 have a mean of 40"),
        (("--variants-sd", "-0.5"), "a standard deviation of -0.5"),
        (("--variants", "0"), "at least 1"),
        (("--variants", "0-3"), "at least 1"),
        (("--items", "0-3"), "at least 1"),
        (("--categories", "-1"), "at least 1"),
        (("--users", "0"), "at least 1"),
        (("--orders", "-1"), "no fewer than 0 orders"),
        (("--users", "1000001"), "at most 1000000 users"),
        (("--orders", "1000", "--items", "1-1001"), "in all orders together"),
        (("--avoid", "gone.json"), "gone.json: cannot be read"),
        (("-o", "no/such/folder.json"), "not a file in an existing folder"),
        (("--seed", "-1"), "--seed"),
    ],
)
def test_bad_options(options: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be is one line and exit code 2."""
    assert _generate(*options) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert problem in captured.err


def test_what_is_avoided_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file to write cannot be one to avoid."""
    path = tmp_path / "db.json"
    assert _generate("-o", str(path)) == 0
    before = path.read_bytes()
    assert _generate("-o", str(path), "--avoid", str(path)) == 2
    assert path.read_bytes() == before
    assert "would be overwritten" in capsys.readouterr().err


def test_env_04_the_hash_seed_makes_no_difference() -> None:
    """ENV-04: two processes with different hash seeds write the same bytes."""
    command = [sys.executable, "-m", "turngap", "domain", "generate", "retail", *_SMALL, "--seed", "3"]
    written = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True, timeout=60
        ).stdout
        for seed in ("0", "1")
    }
    assert len(written) == 1
