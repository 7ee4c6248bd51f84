"""The code of a domain by digest: which files count, and that every edit moves it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import turngap
from turngap.domains import build
from turngap.domains.source import sources

DOMAIN = """
from turngap.domains.api import Domain, State, generic
{imports}

class Desk(State):
    open: bool = True

@generic
def fee(days: int) -> int:
    '''The fee.'''
    {inside}
    return days * RATE

DOMAIN = Domain(name="desk", policy="Be kind.", state=Desk, tools=[fee], database={{}})
"""


def _write(folder: Path, imports: str, inside: str = "") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "desk.py").write_text(DOMAIN.format(imports=imports, inside=inside), encoding="utf-8")
    return str(folder / "desk.py")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A folder that modules can be imported from, and from which nothing stays loaded."""
    before = set(sys.modules)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def test_every_edit_of_the_file_moves_the_identity(tmp_path: Path) -> None:
    """Two versions whose policy, schemas and database are equal have two identities; line ends make no difference."""
    one, other, same = (
        build(_write(tmp_path / name, f"RATE = {rate}")) for name, rate in (("a", 2), ("b", 3), ("c", 2))
    )
    assert one.identity() != other.identity() and one.identity() == same.identity()
    assert list(one.identity()["code"]) == ["desk.py"]
    text = (tmp_path / "a" / "desk.py").read_bytes()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "desk.py").write_bytes(text.replace(b"\n", b"\r\n"))
    assert build(str(tmp_path / "d" / "desk.py")).identity() == one.identity()


def test_modules_beside_it_count_as_far_as_they_are_imported(path: Path) -> None:
    """What it imports, what these import, and what is imported inside a function; not what merely lies there."""
    (path / "rates.py").write_text("import deeper\nRATE = deeper.RATE\n", encoding="utf-8")
    (path / "deeper.py").write_text("RATE = 2\n", encoding="utf-8")
    (path / "late.py").write_text("EXTRA = 1\n", encoding="utf-8")
    (path / "stray.py").write_text("", encoding="utf-8")
    found = build(_write(path, "from rates import RATE", inside="import late"))
    assert list(found.identity()["code"]) == ["deeper.py", "desk.py", "late.py", "rates.py"]


def test_packages_count_their_own_modules_and_no_installed_ones(path: Path) -> None:
    """A dotted path: siblings by relative import, sub-packages too; nothing above the folder, nothing installed."""
    (path / "upper.py").write_text("TOP = 1\n", encoding="utf-8")
    package = path / "boathouse"
    (package / "site-packages").mkdir(parents=True)
    (package / "inner").mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "inner" / "__init__.py").write_text("", encoding="utf-8")
    (package / "inner" / "rates.py").write_text("RATE = 2\n", encoding="utf-8")
    _write(package, "import json\nimport upper\nimport msgspec\nfrom .inner.rates import RATE")
    found = build("boathouse.desk:DOMAIN")
    assert list(found.identity()["code"]) == ["desk.py", "inner/rates.py"]


def test_turngap_is_no_part_of_a_domain_that_lies_above_it(tmp_path: Path) -> None:
    """In a folder that holds a checkout of turngap, the domain is its own file all the same."""
    shutil.copytree(Path(turngap.__file__).parent, tmp_path / "turngap", ignore=shutil.ignore_patterns("__pycache__"))
    _write(tmp_path, "RATE = 2")
    text = "from turngap.domains import build; import turngap; print(turngap.__file__, *build('desk.py').identity()['code'])"
    there = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, env=there, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == [str(tmp_path.resolve() / "turngap" / "__init__.py"), "desk.py"]


def test_code_without_a_file_is_passed_over() -> None:
    """A module that was made up, and one that is not loaded, have no text to look at."""
    assert sources(["builtins", "no.such.module"]) == {}
