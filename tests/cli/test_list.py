"""`turngap list`: the names of a seam, and the forms in which a person can name what is no name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turngap.cli.main import execute


@pytest.mark.parametrize(
    ("what", "forms"),
    [
        ("models", ["openai/NAME", "baseline/reference", "baseline/nothing", "baseline/transfer"]),
        ("domains", ["retail[?seed=N", "tau2:airline", "FILE.py ", "FILE.py:NAME"]),
        ("users", ["scripted[?patience=N]", "llm/openai/NAME"]),
        ("formats", ["openai", "tau2"]),
        ("judges", ["rules"]),
    ],
)
def test_what_can_be_typed(what: str, forms: list[str], capsys: Any) -> None:
    """Each form of each seam, a dotted path among them; with --json the names alone."""
    assert execute(["list", what]) == 0
    out = capsys.readouterr().out
    assert [form for form in (*forms, "module:attribute") if form not in out] == []
    assert execute(["list", what, "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert names == sorted(names) and "module:attribute" not in names
