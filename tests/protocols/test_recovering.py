"""Recovery data from runs in which the reference takes over where a model errs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from turngap import domains, formats
from turngap.config import DataConfig, ModelConfig, RolloutConfig, SynthConfig, TaskConfig
from turngap.data import Conversation, ToolMessage, check, decisions, results_of
from turngap.domains import LiveDomain
from turngap.engines import Quiet
from turngap.errors import UsageError
from turngap.protocols.evaluate import Services
from turngap.protocols.recovering import NOTE, Recovered, caveat, keep_recoveries
from turngap.protocols.trials import roll_out
from turngap.runs.store import RunStore
from turngap.synth.export import TASKS, export
from turngap.synth.pipeline import synthesise
from turngap.synth.store import SynthStore

_SHOP = f"{Path(__file__).parents[2] / 'experiments' / 'corner_shop.py'}?seed=1"


@pytest.fixture(scope="module")
def domain() -> LiveDomain:
    """The corner shop of the experiments."""
    return domains.build(_SHOP)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight tasks of the shop, two of each scenario."""
    folder = tmp_path_factory.mktemp("tasks")
    asyncio.run(synthesise(SynthConfig(domain=_SHOP, count=2, explorations=400, seed=3), folder, Quiet()))
    with SynthStore.open(folder) as store:
        export(store)
    return folder / TASKS


def _roll_out(model: str, tasks: Path, directory: Path) -> RunStore:
    config = RolloutConfig(domain=_SHOP, tasks=TaskConfig(path=str(tasks)), model=ModelConfig(spec=model), trials=2)
    asyncio.run(roll_out(config, directory, Services(progress=Quiet())))
    return RunStore.open(directory, write=True)


def _kept(
    model: str, tasks: Path, domain: LiveDomain, folder: Path
) -> tuple[Recovered, list[Conversation], dict[tuple[str, int | None], bool]]:
    with _roll_out(model, tasks, folder / "run") as store:
        counts = keep_recoveries(store, domain, folder / "kept.jsonl")
        assert msgspec.convert(store.note(NOTE), Recovered) == counts, "what a reader is told is what is written"
        assert caveat(store) == (
            f"the reference agent took over: in {counts.differed} of {counts.trials} trials a decision of the model was "
            f"corrected, with success in {counts.recovered} of them; "
            "this says nothing about the model alone"
        )
        successes = {(score.conversation, score.decision): score.success for _, score in store.scores("reward")}
    path = folder / "kept.jsonl"
    kept = list(formats.read(DataConfig(paths=(str(path),)))) if path.stat().st_size else []
    return counts, kept, successes


def test_an_erring_agent_gives_a_correction_and_a_recovery(tasks: Path, domain: LiveDomain, tmp_path: Path) -> None:
    """Each slip gives the call that was due in its place, and behind it the way on, to success, of the reference."""
    counts, kept, successes = _kept("corrected/baseline/noisy?p_tool=0.3&p_text=1&seed=4", tasks, domain, tmp_path)
    corrections = [one for one in kept if one.id.endswith(".corrected")]
    recoveries = [one for one in kept if one.id.endswith(".recovered")]
    assert counts == Recovered(trials=16, differed=len(corrections), recovered=len(recoveries))
    assert 4 <= len(recoveries) <= len(corrections)
    for one in kept:
        assert check(one) is None
        assert one.policy == domain.policy
    known = {tool.name for tool in domain.tools}
    for one in corrections:
        (learnt,) = decisions(one)
        assert {call.name for call in learnt.reference.calls} <= known
        assert all(message.absent for message in results_of(one, learnt))
    for one in recoveries:
        assert one.reward == 1
        all_made = [decision.reference for decision in decisions(one)]
        assert all(call.name in known for decision in all_made for call in decision.calls)
        before = one.messages[: next(decisions(one)).position]
        assert any(isinstance(message, ToolMessage) and message.error for message in before), "the slip stands there"
        task, trial = one.id.removesuffix(".recovered").rsplit(".", 1)
        assert successes[task, int(trial)]


def test_what_cannot_be_mended_gives_a_correction_alone(tasks: Path, domain: LiveDomain, tmp_path: Path) -> None:
    """An agent that takes its leave at once has spoilt the trial; what it should have said there is learnt."""
    counts, kept, successes = _kept("corrected/baseline/nothing", tasks, domain, tmp_path)
    assert not any(successes.values())
    assert counts == Recovered(trials=16, differed=len(kept))
    assert kept
    assert all(one.id.endswith(".corrected") for one in kept)


def test_an_agent_that_does_as_advised_gives_nothing(tasks: Path, domain: LiveDomain, tmp_path: Path) -> None:
    """Where nothing differs, there is nothing to correct, and the file is there and empty."""
    counts, kept, _ = _kept("corrected/baseline/reference", tasks, domain, tmp_path)
    assert counts == Recovered(trials=16)
    assert kept == []


def test_other_runs_are_refused(tasks: Path, domain: LiveDomain, tmp_path: Path) -> None:
    """In a run of the model alone nobody knows what the reference would have done from there."""
    with _roll_out("baseline/reference", tasks, tmp_path / "run") as store:
        with pytest.raises(UsageError, match="runs of corrected/MODEL, and this one is of baseline/reference"):
            keep_recoveries(store, domain, tmp_path / "kept.jsonl")
        assert caveat(store) == ""
        assert store.note(NOTE) is None


def test_a_run_whose_trials_nobody_counted_is_told_from_its_model(tmp_path: Path) -> None:
    """Stopped before it was scored, or made by an older version: without counts, but not without a word."""
    config = RolloutConfig(domain=_SHOP, tasks=TaskConfig(path="t"), model=ModelConfig(spec="corrected/openai/m"))
    with RunStore.create(tmp_path / "run", config) as store:
        assert caveat(store) == (
            "the reference agent takes over where the model errs; this says nothing about the model alone"
        )
