"""The studies that come with turngap: by name from anywhere, in a checkout and where a wheel is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import turngap
from turngap.errors import UsageError
from turngap.samples import studies

_ROOT = Path(__file__).parents[2]


def _find(name: str, folder: Path, **environment: str) -> Path:
    """Where a study is found by a process in another folder."""
    code = f"from turngap.samples import studies; print(studies.find({name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    return Path(done.stdout.strip())


def test_a_checkout_has_its_own_files(tmp_path: Path) -> None:
    """Every study of experiments/ has a name, from any folder; in the checkout itself it is the path one would type."""
    files = {path.name.partition(".")[0] for path in (_ROOT / "experiments").glob("*.toml")} - {"corner_shop"}
    assert set(studies.names()) == files >= {"p1", "p2", "small-cpu", "tiny"}
    assert _find("small-cpu", tmp_path) == _ROOT / "experiments" / "small-cpu.toml"
    assert _find("small-cpu", _ROOT) == Path("experiments/small-cpu.toml")


def test_an_installed_package_has_them_inside(tmp_path: Path) -> None:
    """Laid out as the wheel lays it out, the package finds its own files and not those of a checkout."""
    built = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    (source,) = (name for name, place in built["wheel"]["force-include"].items() if place == "turngap/experiments")
    assert source in built["sdist"]["include"]  # a wheel can be built from it
    package = tmp_path / "site" / "turngap"
    shutil.copytree(Path(turngap.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "retail.*"))
    shutil.copytree(_ROOT / source, package / "experiments")
    found = _find("small-cpu", tmp_path, PYTHONPATH=str(package.parent))
    assert found == package / "experiments" / "small-cpu.toml"
    assert (found.parent / "corner_shop.py").is_file()


def test_a_file_that_exists_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is taken as it is, also one that has the name of a study; a folder of that name is in nobody's way."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").touch()
    (tmp_path / "p1").touch()
    (tmp_path / "p2").mkdir()
    assert studies.find("mine.toml") == Path("mine.toml")
    assert studies.find(str(tmp_path / "mine.toml")) == tmp_path / "mine.toml"
    assert studies.find("p1") == Path("p1")
    assert studies.find("p2").name == "p2.toml"


@pytest.mark.parametrize("wanted", ["p3", "small-cpu.toml", "corner_shop.phrases", "../p1", ""])
def test_what_is_neither_is_refused_with_the_names(
    wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what was looked for and what there is."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"no such file, and none of those that come with turngap: .*p1, p2, small-cpu"
    ):
        studies.find(wanted)
