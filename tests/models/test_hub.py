"""The door to transformers: what is missing is said, nothing is asked of a network, and it is quiet."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import tinymodel

from turngap.errors import MissingExtra
from turngap.models import hub


def test_a_missing_package_is_said_with_the_command() -> None:
    """What wants it, what is missing, and how to get it; nothing is imported to find out."""
    with pytest.raises(MissingExtra) as raised:
        hub.prepare("msgspec", "no_such_package", purpose="turngap train")
    assert str(raised.value).startswith("turngap train needs the package no_such_package: pip install 'turngap[train]'")


def test_a_verb_without_its_packages_is_one_line() -> None:
    """`turngap train` and `hf/FOLDER` where torch is not installed: exit code 2 and the command that installs it."""
    program = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from turngap.models import build\n"
        "from turngap.config import ModelConfig\n"
        "from turngap.errors import MissingExtra\n"
        "import turngap.cli.train\n"
        "try:\n"
        "    build(ModelConfig(spec='hf/somewhere'))\n"
        "except MissingExtra as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "needs the package torch" in done.stdout


def test_names_that_are_in_no_cache_are_not_looked_for_elsewhere() -> None:
    """A name of a hub that was never downloaded, and a path: both are nowhere, at once."""
    tinymodel.require()
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert hub.cached("nobody/nothing-at-all") is None
    assert hub.cached("./some/path") is None
