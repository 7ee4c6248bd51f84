"""The gap of one run on a terminal."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import msgspec
import pytest
import scored
from rich.console import Console

from turngap import samples
from turngap.analysis.gap import Gap, gap
from turngap.analysis.taxonomy import taxonomy
from turngap.config import DataConfig, EvalConfig, HorizonConfig, ModelConfig, ReplayConfig
from turngap.engines.base import Quiet
from turngap.protocols.evaluate import Services, evaluate
from turngap.report.gap_table import gap_report
from turngap.report.taxonomy_table import taxonomy_table
from turngap.runs.store import RunStore


def text(found: Gap) -> str:
    """What a terminal of 80 columns shows."""
    stream = io.StringIO()
    Console(file=stream, width=80, force_terminal=False, highlight=False).print(gap_report(found, title="[b]m[/b]"))
    return stream.getvalue()


@pytest.mark.parametrize("after_failure", ["continue", "stop"])
def test_it_fits_80_columns_and_shows_the_analysis(tmp_path: Path, after_failure: str) -> None:
    """Chain, propagation, first errors and depths are there, nothing is cut, and a run that stopped says so."""
    config = EvalConfig(
        data=DataConfig(paths=(str(samples.path()),)),
        model=ModelConfig(spec="baseline/noisy?p_text=0.9&p_tool=0.8&after_error=0.4&seed=1"),
        replay=ReplayConfig(after_failure=after_failure),
        protocols=("turn", "strict", "replay", "workflow", "horizon"),
        horizon=HorizonConfig(max=3),
    )
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        found = gap(store)
    shown = text(found)
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "…" not in shown
    assert shown.startswith("[b]m[/b]")
    assert found.propagation.verdict in " ".join(shown.split())
    for link in found.chain.links:
        assert link.name in shown
        assert f"{100 * (link.measured.value or 0):.1f}" in shown
    assert "horizon: no unresolved error within h decisions" in shown
    assert f"{found.horizon.points[-1].h} " in shown
    assert ("--after-failure stop" in shown) == (after_failure == "stop")


def test_a_run_without_replays_says_so(tmp_path: Path) -> None:
    """Without replays there is nothing on own history, and that is what is said."""
    conversations = [scored.conversation("a", "ct")]
    store = scored.run(tmp_path / "run", conversations, {"turn:rules": [scored.turn("a", 0, "tool", True)]})
    assert "no replays" in text(gap(store))


def test_rates_of_few_conversations_say_so(tmp_path: Path) -> None:
    """Below ten conversations the note counts them for each rate; with ten or more there is none."""
    conversations = [scored.conversation("a", "ct")]
    store = scored.run(tmp_path / "run", conversations, {"turn:rules": [scored.turn("a", 0, "tool", True)]})
    found = gap(store)
    rates = {"clean": 12, "after_error": 5, "after_unresolved": 0}
    replaced = msgspec.structs.replace(
        found.propagation,
        replays=12,
        slip_conversations=4,
        **{
            name: msgspec.structs.replace(getattr(found.propagation, name), conversations=count)
            for name, count in rates.items()
        },
    )
    shown = " ".join(text(msgspec.structs.replace(found, propagation=replaced)).split())
    assert "from few conversations: after an error 5, recovered from 4" in shown
    assert "few conversations" not in text(found)


def test_first_slips_are_named_as_such(tmp_path: Path) -> None:
    """The table of gap counts slips, which may have been put right, and says so; unresolved errors are taxonomy's."""
    config = EvalConfig(
        data=DataConfig(paths=(str(samples.path()),), limit=10),
        model=ModelConfig(spec="baseline/noisy?p_text=0.9&p_tool=0.5&seed=1"),
        protocols=("replay",),
    )
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        slips, explained = gap(store), taxonomy(store)
    assert sum(slips.propagation.first_errors.category.values()) > explained.failed
    assert "first slips: " in text(slips)
    stream = io.StringIO()
    Console(file=stream, width=80, force_terminal=False).print(taxonomy_table(explained, title="m"))
    assert "first: the first unresolved error" in stream.getvalue()
