"""One slip, or cannot do it: what a repair of the first failure says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from turngap import samples
from turngap.analysis.repair import Repair, repair
from turngap.analysis.summary import summarise
from turngap.config import DataConfig, EvalConfig, ModelConfig, ReplayConfig
from turngap.data import Category, Trajectory, decisions
from turngap.engines.base import Quiet
from turngap.formats import read
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore


def repaired(directory: Path, model: str, after: str, files: list[str] | None = None) -> tuple[Repair, tuple[str, ...]]:
    """Replay with repairs; also the notes of the summary."""
    config = EvalConfig(
        data=DataConfig(paths=tuple(files or [str(samples.path())])),
        model=ModelConfig(spec=model),
        protocols=("replay",),
        replay=ReplayConfig(after_failure=after),
    )
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))
    with RunStore.open(directory) as store:
        return repair(store), summarise(store).notes


NOISY = "baseline/noisy?p_tool=0.5&seed=2"


def test_counts_add_up_and_agree_with_the_stored_replays(tmp_path: Path) -> None:
    """Every failed replay finished, failed again or was beyond repair; the shares are those of the repaired ones."""
    found, notes = repaired(tmp_path / "run", NOISY, "repair-first")
    assert found.completed + found.failed == found.replays == samples.COUNT
    assert found.failed == found.finished.n + found.beyond
    with RunStore.open(tmp_path / "run") as store:
        failures = [
            len(one.problems)
            for name in store.conversation_ids()
            if isinstance(one := store.trajectory(name), Trajectory) and one.problems
        ]
    assert max(failures) == 2
    assert found.finished.value == failures.count(1) / len(failures)
    assert found.again.value == pytest.approx(1 - found.finished.value)
    assert found.potential.value == pytest.approx((found.completed + failures.count(1)) / found.replays)
    assert sum(kind.finished.n for kind in found.by_category) == found.finished.n
    assert any(note.startswith("repair-first: ") and f"{found.finished.n} failed replays" in note for note in notes)


def test_repairs_leave_the_figures_alone_and_continue_says_the_same(tmp_path: Path) -> None:
    """Completed and failed are those of a replay that stops; repairing for ever gives the same first answer."""
    first, _ = repaired(tmp_path / "first", NOISY, "repair-first")
    always, _ = repaired(tmp_path / "always", NOISY, "continue")
    stopped, notes = repaired(tmp_path / "stopped", NOISY, "stop")
    assert first == always
    assert (stopped.completed, stopped.failed) == (first.completed, first.failed)
    assert stopped.finished.n == stopped.potential.n == 0 and stopped.beyond == stopped.failed
    assert stopped.by_category == () and not any("repair" in note for note in notes)


def test_one_slip_is_as_frequent_as_it_must_be(shared: Path, tmp_path: Path) -> None:
    """Independent errors: of m due decisions that pass with q exactly one fails with m q^(m-1) (1-q), any with 1-q^m."""
    files = [str(shared / "agentrx-tau-retail" / "retail-tasks-000-054.json")]
    found, _ = repaired(tmp_path / "run", "baseline/noisy?p_tool=0.5&seed=1", "repair-first", files)
    q = 1 - 0.5**3
    lengths = [sum(one.kind == "tool" for one in decisions(each)) for each in read(DataConfig(paths=tuple(files)))]
    once = sum(m * q ** (m - 1) * (1 - q) for m in lengths)
    failing = sum(1 - q**m for m in lengths)
    assert found.finished.n > 20 and found.finished.ci95 is not None
    low, high = found.finished.ci95
    assert low <= once / failing <= high


def test_what_cannot_be_repaired_is_counted_apart(tmp_path: Path) -> None:
    """A step limit leaves nothing to go on from."""
    config = EvalConfig(
        data=DataConfig(paths=(str(samples.path()),)),
        model=ModelConfig(spec="baseline/reference"),
        protocols=("replay",),
        replay=ReplayConfig(after_failure="repair-first", max_steps=2),
    )
    asyncio.run(evaluate(config, tmp_path / "run", Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        found = repair(store)
        limits = [store.trajectory(name) for name in store.conversation_ids()]
    assert found.beyond == found.failed > 0 and found.finished.value is None
    assert all(
        not isinstance(one, Trajectory) or one.completed or one.problems[0].category is Category.STEP_LIMIT
        for one in limits
    )
