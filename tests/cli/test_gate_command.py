"""`turngap gate` from the outside: exit codes, and views that all tell one story."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gateruns import make, outcomes

junitparser = pytest.importorskip("junitparser")

_RULES = """
[[rule]]
metric = "workflow.success"
min = 0.3

[[rule]]
metric = "strict.exact"
max = 0.5

[[rule]]
metric = "turn.success.tool"
max_drop = 0.05

[[rule]]
metric = "workflow.success"
min = 0.4
confidence = 0.95

[[rule]]
metric = "text.rouge1"
min = 0.1
"""


def _gate(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "turngap", "gate", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**known, **environment},
    )


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    """Turns fell from all to 80%, calls are 80% exact, 40% of workflows are finished, text was not scored."""
    calls = outcomes(16, 4)
    return make(tmp_path / "candidate", turn=calls, strict=calls, replay=outcomes(20), workflow=outcomes(8, 12))


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """The same conversations, all turns good."""
    return make(tmp_path / "main", turn=outcomes(20), strict=outcomes(20), workflow=outcomes(10, 10))


def _rules(tmp_path: Path, text: str = _RULES) -> Path:
    file = tmp_path / "gate.toml"
    file.write_text(text, encoding="utf-8")
    return file


def _json_story(done: subprocess.CompletedProcess[str]) -> tuple[str, list[tuple[str, str, str]]]:
    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is not JSON")

    document = json.loads(done.stdout, parse_constant=refuse)
    assert document["exit_code"] == done.returncode
    return document["outcome"], [(one["title"], one["outcome"], one["reason"]) for one in document["rulings"]]


def test_view_06_every_view_tells_the_same_story(tmp_path: Path, candidate: Path, baseline: Path) -> None:
    """VIEW-06: exit code, text, JSON, JUnit, job summary and comment show the one evaluation of five kinds of rules."""
    summary, xml, markdown = (tmp_path / name for name in ("summary.md", "gate.xml", "gate.md"))
    summary.write_text("before\n", encoding="utf-8")
    command = (candidate, "--rules", _rules(tmp_path), "--baseline", baseline)
    as_text = _gate(*command, "--junit", xml, "--md", markdown, GITHUB_STEP_SUMMARY=str(summary))
    as_json = _gate(*command, "--json")
    outcome, rulings = _json_story(as_json)
    assert (as_text.returncode, as_json.returncode, outcome) == (1, 1, "fail")
    assert [one for _, one, _ in rulings] == ["pass", "fail", "fail", "undecided", "undecided"]

    plain = " ".join(as_text.stdout.split())
    assert plain.startswith("gate FAIL: 2 of 5 rules failed, 2 could not be decided")
    at = 0
    for title, one, reason in rulings:  # in this order
        for part in (f"{one.upper()} {title}", reason):
            at = plain.index(part, at)

    suite = next(iter(junitparser.JUnitXml.fromfile(str(xml))))
    kinds = {"pass": [], "fail": [junitparser.Failure], "undecided": [junitparser.Error]}
    assert (suite.tests, suite.failures, suite.errors) == (5, 2, 2)
    for case, (title, one, reason) in zip(suite, rulings, strict=True):
        assert case.name == title
        found = [entry for entry in case.result if not isinstance(entry, junitparser.SystemOut)]
        assert [type(entry) for entry in found] == kinds[one]
        assert all(entry.message == reason for entry in found)

    comment = markdown.read_text(encoding="utf-8")
    assert summary.read_text(encoding="utf-8") == "before\n" + comment
    assert comment.startswith("### ❌ turngap gate FAIL: 2 of 5 rules failed, 2 could not be decided")
    rows = [line.replace("\\", "").split(" | ") for line in comment.split("\n") if line.startswith("| ")][2:]
    for row, (title, one, reason) in zip(rows, rulings, strict=True):
        assert row[0].endswith(one.upper())
        assert (row[1], row[-1].removesuffix(" |")) == (title, reason)


def test_exit_0_when_every_rule_is_kept(tmp_path: Path, candidate: Path) -> None:
    """Pass: exit 0, one line says so, nothing on standard error."""
    done = _gate(candidate, "--rules", _rules(tmp_path, '[[rule]]\nmetric = "workflow.success"\nmin = 0.4\n'))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gate PASS: the rule is kept\n")


def test_exit_1_when_a_rule_is_broken(tmp_path: Path, candidate: Path) -> None:
    """Fail: exit 1, and which rule, value, interval, n and bound."""
    done = _gate(candidate, "--rules", _rules(tmp_path, '[[rule]]\nmetric = "workflow.success"\nmin = 0.5\n'))
    assert done.returncode == 1
    assert "FAIL  workflow.success at least 50%" in done.stdout
    assert "40.0%, n 20; 95% interval 21.9 to 61.3" in done.stdout
    assert "40.0% is below 50%" in done.stdout


def test_exit_2_when_nothing_is_broken_and_something_undecided(tmp_path: Path, candidate: Path) -> None:
    """Undecided: exit 2; a baseline that cannot be read is the reason of its rule, and no crash."""
    rules = _rules(tmp_path, '[[rule]]\nmetric = "workflow.success"\nmax_drop = 0.5\n')
    for arguments, reason in (
        ((), "no baseline was given (--baseline RUN)"),
        (("--baseline", tmp_path / "none"), "the baseline cannot be read:"),
    ):
        done = _gate(candidate, "--rules", rules, *arguments)
        assert (done.returncode, done.stderr) == (2, "")
        assert reason in " ".join(done.stdout.split())


def test_exit_2_with_one_line_when_the_command_makes_no_sense(tmp_path: Path, candidate: Path) -> None:
    """A typo in a rule, no rules, no file, no run, several runs: one line on standard error, nothing written."""
    good = _rules(tmp_path)
    typo, empty = tmp_path / "typo.toml", tmp_path / "empty.toml"
    typo.write_text('[[rule]]\nmetric = "workflow.sucess"\nmin = 0.4\n', encoding="utf-8")
    empty.write_text("# nothing yet\n", encoding="utf-8")
    xml = tmp_path / "gate.xml"
    for arguments, said in (
        ((candidate, "--rules", typo), "typo.toml:1: rule 1: metric: unknown figure 'workflow.sucess'; did you mean"),
        ((candidate, "--rules", empty), "no rules"),
        ((candidate, "--rules", tmp_path / "none.toml"), "none.toml: cannot be read"),
        ((tmp_path / "none", "--rules", good), "no run: does not exist"),
        ((candidate,), "--rules"),
        ((candidate, candidate, "--rules", good), "several go with --what-if"),
        ((candidate, candidate, "--rules", good, "--what-if"), "--junit and --md are about one run"),
    ):
        done = _gate(*arguments, "--junit", xml)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert said in done.stderr
        assert not xml.exists()


def test_files_that_cannot_be_written_are_named(tmp_path: Path, candidate: Path) -> None:
    """A folder that does not exist: one line, exit 2, never a pass by accident."""
    rules = _rules(tmp_path, '[[rule]]\nmetric = "workflow.success"\nmin = 0.1\n')
    done = _gate(candidate, "--rules", rules, "--md", tmp_path / "none" / "gate.md")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    done = _gate(candidate, "--rules", rules, GITHUB_STEP_SUMMARY=str(tmp_path / "none" / "summary.md"))
    assert done.returncode == 2
    assert "GITHUB_STEP_SUMMARY" in done.stderr


def test_what_if_shows_what_cheap_gates_let_through(tmp_path: Path, candidate: Path, baseline: Path) -> None:
    """One run: beside its gate, in every view; several runs: gates by runs, and the exit code of the worst."""
    rules = _rules(tmp_path, '[[rule]]\nmetric = "workflow.success"\nmin = 0.5\n')
    markdown = tmp_path / "gate.md"
    done = _gate(candidate, "--rules", rules, "--what-if", "--md", markdown)
    assert done.returncode == 1
    assert done.stdout.count("LET THROUGH") == 4
    assert markdown.read_text(encoding="utf-8").count("**let through**") == 4
    both = _gate(baseline, candidate, "--rules", rules, "--what-if")
    assert both.returncode == 1
    assert "- run 1: its workflows pass" in both.stdout
    assert "- run 2: its workflows fail; let through by the gates on next turns" in both.stdout
    document = json.loads(_gate(baseline, "--rules", rules, "--what-if", "--json").stdout)
    assert [trial["let_through"] for trial in document["what_if"]["runs"][0]["trials"]] == [
        False,
        False,
        False,
        None,
        False,
    ]


def test_gating_changes_nothing_in_the_run(tmp_path: Path, candidate: Path, baseline: Path) -> None:
    """The run directory is the same before and after."""

    def content() -> dict[str, bytes]:
        return {
            file.name: file.read_bytes() for file in candidate.iterdir() if not file.name.endswith(("-shm", "-wal"))
        }

    before = content()
    _gate(candidate, "--rules", _rules(tmp_path), "--baseline", baseline, "--what-if")
    assert content() == before
