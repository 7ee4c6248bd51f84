"""The statistics against a closed form: a model with known error rates, on real recordings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from turngap.analysis.summary import Summary, summarise
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import Conversation, decisions
from turngap.engines.base import Quiet
from turngap.formats import read
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore


def predicted_completion(conversations: list[Conversation], p: float) -> float:
    """Mean over tool-requiring conversations of the product over due decisions of 1-(1-p)^3."""
    chances = []
    for conversation in conversations:
        due = sum(decision.kind == "tool" for decision in decisions(conversation))
        if due:
            chances.append((1 - (1 - p) ** 3) ** due)
    return sum(chances) / len(chances)


def run(files: list[str], p: float, directory: Path, seed: int = 1) -> Summary:
    """Evaluate the noisy baseline; text is always right."""
    config = EvalConfig(
        data=DataConfig(paths=tuple(files)),
        model=ModelConfig(spec=f"baseline/noisy?p_tool={p}&p_text=1&seed={seed}"),
        protocols=("strict", "replay"),
    )
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))
    with RunStore.open(directory) as store:
        return summarise(store, seed=0)


@pytest.mark.parametrize("p", [0.7, 0.9])
def test_exact_matches_and_completions_are_as_often_as_they_must_be(shared: Path, tmp_path: Path, p: float) -> None:
    """On more than 1000 real tool decisions both figures' 95% intervals hold the truth."""
    files = [
        str(shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json"),
        str(shared / "agentrx-tau-retail" / "retail-tasks-000-054.json"),
    ]
    conversations = list(read(DataConfig(paths=tuple(files))))
    summary = run(files, p, tmp_path / "run")
    exact, completed = summary.metrics["strict.exact"], summary.metrics["replay.completed"]
    assert exact.n > 1000
    for figure, truth in ((exact, p), (completed, predicted_completion(conversations, p))):
        assert figure.ci95 is not None
        assert figure.ci95[0] <= truth <= figure.ci95[1]


def test_intervals_cover_the_truth_as_often_as_they_say(shared: Path, tmp_path: Path) -> None:
    """Over 20 seeds at least 16 of the 95% intervals hold the truth, for either figure."""
    files = [str(shared / "agentrx-tau-retail" / "retail-tasks-000-054.json")]
    truths = {
        "strict.exact": 0.7,
        "replay.completed": predicted_completion(list(read(DataConfig(paths=tuple(files)))), 0.7),
    }
    covered = dict.fromkeys(truths, 0)
    for seed in range(20):
        metrics = run(files, 0.7, tmp_path / str(seed), seed).metrics
        for name, truth in truths.items():
            interval = metrics[name].ci95
            assert interval is not None
            covered[name] += interval[0] <= truth <= interval[1]
    assert min(covered.values()) >= 16, covered
