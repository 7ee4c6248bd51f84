"""A whole evaluation through its public interface: figures, resumption, re-scoring, impossible wishes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chatserver import ChatServer, text

from turngap import samples
from turngap.analysis.summary import Summary, summarise
from turngap.config import DataConfig, EvalConfig, JudgeConfig, ModelConfig
from turngap.data import Cause
from turngap.engines.base import Quiet
from turngap.errors import ConfigError, DataError, TurngapError, UsageError
from turngap.protocols.evaluate import Services, evaluate, rescore
from turngap.protocols.plan import plan
from turngap.runs.store import RunStore


def config(path: Path, model: str = "baseline/reference", **other: Any) -> EvalConfig:
    """An evaluation of a file."""
    return EvalConfig(data=DataConfig(paths=(str(path),)), model=ModelConfig(spec=model), **other)


def run(wanted: EvalConfig, directory: Path) -> tuple[Summary, Quiet]:
    """Evaluate and sum up."""
    progress = Quiet()
    asyncio.run(evaluate(wanted, directory, Services(progress=progress)))
    with RunStore.open(directory) as store:
        return summarise(store, seed=0), progress


@pytest.fixture
def boats(tmp_path: Path, boat_record: dict[str, Any]) -> Path:
    """A file of the boat-hire conversation and a chat without tools."""
    path = tmp_path / "boats.jsonl"
    chat = {
        "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, how can I help?"}]
    }
    path.write_text("".join(json.dumps(record) + "\n" for record in (boat_record, chat)), encoding="utf-8")
    return path


def test_the_reference_scores_one_everywhere(tmp_path: Path) -> None:
    """On the packaged samples every protocol gives the recording full marks."""
    summary, _ = run(config(samples.path()), tmp_path / "run")
    for name in ("text.rouge1", "strict.exact", "strict.arg_f1", "strict.name", "replay.completed", "turn.success"):
        assert summary.metrics[name].value == 1.0, name
    assert summary.metrics["workflow.success"].value == 1.0
    assert summary.metrics["strict.spurious"].value == 0.0
    assert summary.n["errored"] == 0


def test_counts_tell_conversations_and_decisions_apart(boats: Path, tmp_path: Path) -> None:
    """Workflow figures are over tool-requiring conversations; the figure over all stands beside."""
    summary, _ = run(config(boats), tmp_path / "run")
    assert summary.n == {
        "conversations": 2,
        "tool_conversations": 1,
        "decisions": 5,
        "text_decisions": 3,
        "tool_decisions": 2,
        "errored": 0,
    }
    assert (summary.metrics["replay.completed"].n, summary.metrics["replay.completed.all"].n) == (1, 2)


def test_a_second_run_asks_nothing_again(boats: Path, tmp_path: Path) -> None:
    """Resuming a finished run changes nothing and starts from full counts. RUN-12."""
    first, _ = run(config(boats), tmp_path / "run")
    second, progress = run(config(boats), tmp_path / "run")
    assert second == first
    assert ("predict", 5, 5, 0) in progress.stages


def test_other_settings_are_refused_with_their_names(boats: Path, tmp_path: Path) -> None:
    """RUN-02: what changes the answers may not be mixed into a run."""
    run(config(boats), tmp_path / "run")
    hotter = msgspec.structs.replace(config(boats), model=ModelConfig(spec="baseline/reference", temperature=1.0))
    with pytest.raises(ConfigError, match="temperature"):
        run(hotter, tmp_path / "run")


def test_scores_can_be_made_again_from_the_run_alone(boats: Path, tmp_path: Path) -> None:
    """RUN-02: re-scoring needs neither the data file nor the model."""
    wanted = config(boats)
    first, _ = run(wanted, tmp_path / "run")
    boats.unlink()
    again = msgspec.structs.replace(wanted, judge=JudgeConfig(similarity_floor=0.9))
    asyncio.run(rescore(tmp_path / "run", again, Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        assert summarise(store, seed=0).metrics["strict.exact"] == first.metrics["strict.exact"]


def test_noisy_errors_are_all_in_the_ledger(tmp_path: Path) -> None:
    """Success and causes add up to the units of every protocol."""
    summary, _ = run(config(samples.path(), "baseline/noisy?p_text=0.5&p_tool=0.5&seed=3"), tmp_path / "run")
    for name, ledger in summary.ledger.items():
        assert ledger.success + sum(ledger.causes.values()) == ledger.units, name
        assert ledger.causes.get(Cause.HARNESS, 0) == 0
    assert summary.metrics["strict.exact"].value != 1.0


def test_recorded_predictions_cannot_be_replayed(boats: Path, tmp_path: Path) -> None:
    """Somebody's predictions on gold history have no own history; said at once, with the way out."""
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text('{"conversation": "x", "decision": 0, "message": {"role": "assistant", "content": "a"}}\n')
    with pytest.raises(UsageError, match="text,turn,strict"):
        run(config(boats, f"recorded/{predictions}"), tmp_path / "run")


def test_data_without_a_conversation_are_refused(tmp_path: Path) -> None:
    """An empty file is no evaluation."""
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(DataError, match=r"empty\.jsonl"):
        run(config(path), tmp_path / "run")


def test_the_plan_counts_without_asking(boats: Path) -> None:
    """--dry-run: calls of every kind, and tokens."""
    wanted = msgspec.structs.replace(config(boats, "openai/m"), judge=JudgeConfig(specs=("rules", "openai/judge")))
    bill = plan(wanted)
    assert (bill.gold_calls, bill.replay_calls, bill.judge_calls) == (5, 5, 7)
    assert bill.prompt_tokens > 1000
    assert bill.cost is None


async def test_it_can_be_awaited_from_a_running_loop(boats: Path, tmp_path: Path) -> None:
    """RUN-08: notebooks have a loop already; twice in one process is fine."""
    for name in ("one", "two"):
        await evaluate(config(boats), tmp_path / name, Services(progress=Quiet()))


def test_tokens_and_money_are_summed_up(boats: Path, tmp_path: Path) -> None:
    """Baselines cost nothing; the note is there all the same, and the figures do not depend on it."""
    summary, _ = run(config(boats), tmp_path / "run")
    assert (summary.spending.gold.prompt_tokens, summary.spending.replay.cost) == (0, None)


@pytest.mark.parametrize(
    ("wish", "needle"),
    [
        ({"model": "nobody/x"}, "unknown model 'nobody'"),
        ({"model": "baseline/nobody"}, "nobody"),
        ({"model": "baseline/noisy?p_text=7"}, "p_text"),
        ({"model": "baseline/nearest?train=nosuch.jsonl"}, "nosuch"),
        ({"model": "recorded/nosuch.jsonl"}, "nosuch"),
        ({"model": "local/nosuch.gguf"}, "nosuch"),
        ({"model": "openai/m"}, "no key in TURNGAP_NO_KEY"),
        ({"specs": ("rules", "nobody")}, "unknown judge 'nobody'"),
        ({"specs": ("openai/m",)}, "no key in TURNGAP_NO_KEY"),
        ({"specs": ("rules", "rules")}, "cannot be told apart"),
        ({"specs": ("nobody",), "protocols": ("strict",)}, "unknown judge 'nobody'"),
        ({"tools": "nosuch.json"}, "nosuch.json"),
        ({"format": "sgd"}, "boats.jsonl:1: turns"),
        ({"format": "nothing"}, "unknown format 'nothing'"),
        ({"paths": ("nosuch.jsonl",)}, "nosuch.jsonl"),
        ({"bad": "broken\n"}, r"boats\.jsonl:3: not valid JSON"),
        (
            {"only_successful": True, "bad": '{"messages": [{"role": "user", "content": "x"}], "reward": 0}\n'},
            "no conv",
        ),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    boats: Path, tmp_path: Path, wish: dict[str, Any], needle: str, chat_server: Callable[..., ChatServer]
) -> None:
    """Model, judges, data and options are looked at before anything is created and before anybody is asked."""
    server = chat_server([text("hello")])
    boats.write_text(boats.read_text(encoding="utf-8") + wish.pop("bad", ""), encoding="utf-8")
    protocols, specs = wish.pop("protocols", ("text", "turn")), wish.pop("specs", ("rules",))
    spec = wish.pop("model", "openai/m")
    asked = {"base_url": server.url} if not needle.startswith("no key") or "openai/m" in specs else {}
    wanted = EvalConfig(
        data=DataConfig(**{"paths": (str(boats),), **wish}),
        model=ModelConfig(spec=spec, api_key_env="TURNGAP_NO_KEY", **asked),
        judge=JudgeConfig(specs=specs, api_key_env="TURNGAP_NO_KEY"),
        protocols=protocols,
    )
    with pytest.raises(TurngapError, match=needle):
        run(wanted, tmp_path / "runs" / "one")
    assert not (tmp_path / "runs").exists()
    assert server.requests == []


def test_a_wrong_judge_does_not_break_a_finished_run(boats: Path, tmp_path: Path) -> None:
    """A typo is refused before it is stored: the run can still be scored as it is."""
    first, _ = run(config(boats), tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    for wrong in ("rulez", "openai/", "local/nosuch.gguf"):
        with pytest.raises(TurngapError):
            run(config(boats, judge=JudgeConfig(specs=(wrong,))), tmp_path / "run")
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    with RunStore.open(tmp_path / "run") as store:
        stored = store.config
        assert store.state() == "finished"
    asyncio.run(rescore(tmp_path / "run", stored, Services(progress=Quiet())))
    with RunStore.open(tmp_path / "run") as store:
        assert summarise(store, seed=0).metrics == first.metrics


def test_missing_predictions_are_one_line(boats: Path, tmp_path: Path) -> None:
    """What a file of predictions lacks is said once before, and is one reason afterwards, not one for each decision."""
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text('{"conversation": "x", "decision": 0, "content": "a"}\n', encoding="utf-8")
    summary, progress = run(config(boats, f"recorded/{predictions}", protocols=("text", "strict")), tmp_path / "run")
    assert [note for note in summary.notes if note.startswith("errored")] == [
        f"errored, 5 x data: {predictions}: no prediction"
    ]
    assert len([note for note in progress.notes if "5 x no prediction, first for decision 0" in note]) == 1
    assert len([note for note in progress.notes if "1 x prediction for conversations" in note]) == 1


@pytest.mark.parametrize("protocols", [("text",), ("replay", "workflow"), ("horizon",)])
def test_a_model_that_acts_live_alone_is_refused_before_anything_is_made(
    boats: Path, tmp_path: Path, protocols: tuple[str, ...]
) -> None:
    """From its spec, under any protocol: no directory, no reading of data, and no model at work."""
    wanted = config(boats, "corrected/baseline/reference", protocols=protocols)
    with pytest.raises(UsageError, match=r"^corrected/baseline/reference acts in live conversations only") as error:
        asyncio.run(evaluate(wanted, tmp_path / "run", Services(progress=Quiet())))
    assert "use turngap rollout, or name the model alone" in str(error.value)
    assert not (tmp_path / "run").exists()
