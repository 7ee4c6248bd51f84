"""docs/ci.md and docs/gate.toml: what people copy from them works as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from turngap.analysis.rule import parse, read
from turngap.cli.main import VERBS, load

yaml = pytest.importorskip("yaml")

_DOCS = Path(__file__).resolve().parents[2] / "docs"
_PAGE = (_DOCS / "ci.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _PAGE, flags=re.DOTALL | re.MULTILINE)


def _commands(scripts: list[str]) -> list[list[str]]:
    lines = [line.strip() for script in scripts for line in script.splitlines()]
    return [shlex.split(line.partition("||")[0])[1:] for line in lines if line.startswith("turngap ")]


def _steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load(_blocks("yaml")[0])
    steps: list[dict[str, Any]] = workflow["jobs"]["gate"]["steps"]
    return steps


def test_the_example_rules_are_read() -> None:
    """docs/gate.toml has a rule of each kind, and every TOML block of the page is a gate."""
    assert {rule.kind for rule in read(_DOCS / "gate.toml")} == {"min", "max", "max_drop"}
    assert all(parse(block) for block in _blocks("toml"))
    assert _blocks("toml")


def test_the_workflow_is_whole() -> None:
    """GitHub's workflow parses, installs, evaluates with the cache, gates, reports, uploads and comments."""
    workflow = yaml.safe_load(_blocks("yaml")[0])
    assert set(workflow[True]) == {"pull_request", "push"}  # YAML 1.1 reads the key `on` as true
    assert workflow["permissions"]["pull-requests"] == "write"
    steps = _steps()
    assert all(("uses" in step) != ("run" in step) for step in steps)
    verbs = [command[0] for command in _commands([step.get("run", "") for step in steps])]
    assert verbs == ["eval", "gate", "report"]
    uses = [step.get("uses", "").partition("@")[0] for step in steps]
    for action in ("actions/checkout", "actions/cache", "actions/cache/restore", "actions/upload-artifact"):
        assert action in uses
    assert any("gh pr comment" in step.get("run", "") for step in steps)
    secrets = re.findall(r"secrets\.(\w+)", _blocks("yaml")[0])
    assert secrets == ["OPENAI_API_KEY"]


def test_no_text_of_a_pull_request_reaches_a_shell() -> None:
    """Scripts hold no expression that the author of a pull request can write: titles, branch names, bodies."""
    for step in _steps():
        for expression in re.findall(r"\$\{\{(.*?)\}\}", step.get("run", "")):
            assert expression.strip() == "github.event.pull_request.number"


def test_every_command_of_the_page_is_accepted() -> None:
    """Each turngap command that the page shows parses with the options that exist."""
    gitlab = yaml.safe_load(_blocks("yaml")[1])["gate"]["script"]
    scripts = [*(step.get("run", "") for step in _steps()), *gitlab, *_blocks("")]
    commands = [command for command in _commands(scripts) if "[--" not in " ".join(command)]
    assert len(commands) >= 6
    for verb, *arguments in commands:
        assert verb in VERBS
        load(verb).make_context(verb, arguments, resilient_parsing=False)


def test_what_the_gate_writes_is_what_the_workflow_uses() -> None:
    """Files that the gate and the report write are uploaded; the comment is the gate's Markdown."""
    steps = {step.get("name", ""): step for step in _steps()}
    gate = _commands([steps["Gate"]["run"]])[0]
    kept = steps["Keep the results"]["with"]["path"].split()
    for option in ("--junit", "--md"):
        assert gate[gate.index(option) + 1] in kept
    assert _commands([steps["Report"]["run"]])[0][-1] in kept
    assert f"--body-file {gate[gate.index('--md') + 1]}" in steps["Comment on the pull request"]["run"]
