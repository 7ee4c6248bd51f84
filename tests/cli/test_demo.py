"""`turngap demo`: the whole story, as far as it goes without the local model's package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from turngap import samples
from turngap.cli.demo import ACTS

_WITHOUT_LOCAL = "import sys; sys.modules['xllamacpp'] = None; from turngap.cli.main import run; run(sys.argv[1:])"
"""The command on a machine where the engine of local models is not installed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo's runs go."""
    return tmp_path_factory.mktemp("demo")


def _demo(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_LOCAL, "demo", "-o", str(folder), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_the_local_model_the_demo_says_so_and_goes_on(folder: Path) -> None:
    """One line with the command that installs it; the other models are shown side by side."""
    done = _demo(folder)
    assert done.returncode == 0, done.stderr
    left_out = [line for line in done.stderr.splitlines() if line.startswith("left out local/smollm2: ")]
    assert len(left_out) == 1
    assert "pip install" in left_out[0]
    said = " ".join(done.stderr.split())
    for number, act in enumerate(ACTS, start=1):
        assert f"{number}/4 {act.label}: {act.is_what}" in said
    assert "asked without any training for this; this one takes a few minutes" in said
    assert "reference      100.0% of turns good, 100.0% of workflows finished" in done.stdout
    assert "judged by: rules" in done.stdout
    assert "no model: " in done.stdout
    assert "rules does not read: a text without facts" in done.stdout
    for line in done.stdout.splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()
    assert all(len(line) <= 80 for line in done.stderr.splitlines() if not line.startswith("left out"))


def _without(act: str, text: str) -> list[str]:
    """The lines of a demo's output that are not about one act: neither those that name it nor their continuations."""
    kept: list[str] = []
    about = False
    for line in text.splitlines():
        about = line.startswith(act) or (about and line.startswith(" "))
        if not about and line:
            kept.append(line)
    return kept


def test_the_readme_shows_what_the_demo_prints(folder: Path) -> None:
    """Line by line, but for the language model, which takes minutes and whose figures depend on the processor."""
    readme = Path(__file__).parents[2] / "README.md"
    shown = readme.read_text(encoding="utf-8").partition("<!-- demo:begin")[2].partition("<!-- demo:end -->")[0]
    block = shown.partition("```\n")[2].partition("```")[0]
    # The last lines name the folder of the runs, which is another one here.
    ours, theirs = (text.partition("\nruns: ")[0] for text in (block, _demo(folder).stdout))
    assert any(line.startswith("smollm2") for line in ours.splitlines())
    assert _without("smollm2", ours) == _without("smollm2", theirs)


def test_the_demo_shows_the_gap(folder: Path) -> None:
    """Simulated errors in one of ten decisions finish far fewer workflows than turns; repeating asks for nothing again."""
    runs = {run["model"]: run["metrics"] for run in json.loads(_demo(folder, "--json").stdout)["runs"]}
    assert len(runs) == len(ACTS) - 1
    noisy = runs["baseline/noisy?p_text=0.9&p_tool=0.9"]
    low, high = noisy["turn.success"]["ci95"]
    assert low <= 0.9 <= high
    assert noisy["workflow.success"]["ci95"][1] < low
    assert runs["baseline/nearest"]["workflow.success"]["value"] < runs["baseline/nearest"]["turn.success"]["value"]


def test_the_language_model_gets_a_sample() -> None:
    """All others get every packaged conversation, the language model as many as fit into the time."""
    assert [act.limit for act in ACTS[:-1]] == [None] * (len(ACTS) - 1)
    assert ACTS[-1].limit is not None
    assert ACTS[-1].limit < samples.COUNT
