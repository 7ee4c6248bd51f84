"""Runs of cases, whose first evaluated decision is not their first: every analysis reads them like any other run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from turngap.analysis.chain import chain
from turngap.analysis.propagation import propagation
from turngap.analysis.repair import repair
from turngap.analysis.summary import summarise
from turngap.analysis.taxonomy import taxonomy
from turngap.config import PROTOCOLS, DataConfig, EvalConfig, ModelConfig, ReplayConfig
from turngap.data import Conversation
from turngap.engines.base import Quiet
from turngap.formats import write
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore


@pytest.fixture
def run(tmp_path: Path, boat_conversation: Conversation) -> Path:
    """A run on the boat-hire conversation from each of its last three decisions on."""
    cases = [msgspec.structs.replace(boat_conversation, id=f"boat-{start}", start=start) for start in (1, 2, 3)]
    write(cases, tmp_path / "cases.jsonl")
    config = EvalConfig(
        data=DataConfig(paths=(str(tmp_path / "cases.jsonl"),)),
        model=ModelConfig(spec="baseline/noisy?p_tool=0"),
        protocols=(*PROTOCOLS, "horizon"),
        replay=ReplayConfig(after_failure="repair-first"),
    )
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    return tmp_path / "run"


def test_only_what_is_evaluated_is_counted(run: Path) -> None:
    """3 + 2 + 1 decisions, two of them calls, in three conversations of which two need tools."""
    with RunStore.open(run) as store:
        summary = summarise(store)
    assert {
        name: summary.n[name] for name in ("conversations", "tool_conversations", "decisions", "tool_decisions")
    } == {
        "conversations": 3,
        "tool_conversations": 2,
        "decisions": 6,
        "tool_decisions": 2,
    }
    assert summary.missing == {} and summary.n["errored"] == 0
    assert summary.metrics["turn.success.text"].n == 4
    assert summary.metrics["workflow.success.all"].value == pytest.approx(1 / 3)
    assert summary.metrics["horizon.1"].n == 6


def test_every_analysis_reads_it(run: Path) -> None:
    """Decisions are known by their index, never by their place in what is evaluated."""
    with RunStore.open(run) as store:
        assert sum(kind.count for kind in taxonomy(store).categories) == 2
        assert propagation(store).replays == 2  # those that need tools
        assert chain(store) is not None
        assert repair(store).finished.value == 1.0
