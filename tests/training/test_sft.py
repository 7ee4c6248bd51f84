"""TRL's trainer on the same tokens: the same losses as the lean loop, and nothing filled into what is learnt."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tinymodel

from turngap import jsonio
from turngap.errors import ConfigError, UsageError
from turngap.training import exchange
from turngap.training.moment import Halted, Moment, Trained
from turngap.training.recipe import Lora, Recipe
from turngap.training.schedule import Schedule

pytestmark = pytest.mark.slow  # TRL takes ten seconds to import

_RECIPE = Recipe(epochs=3, batch=4, learning_rate=5e-3, precision="fp32", save=2)


@pytest.fixture(scope="module", autouse=True)
def _trl() -> None:
    tinymodel.require("trl", "datasets", "peft", "accelerate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model."""
    tinymodel.require()
    return tinymodel.saved(tmp_path_factory.mktemp("model") / "base", initializer_range=0.05)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions of seven conversations."""
    return tinymodel.examples(tmp_path_factory.mktemp("set") / "examples", 7)


def _train(engine: str, folder: Path, examples: Path, recipe: Recipe, directory: Path, **settings: Any) -> Any:
    from turngap.training import base, lean, sft  # noqa: PLC0415 - may be missing
    from turngap.training.fitting import prepare  # noqa: PLC0415 - the same

    loaded = base.load(str(folder))
    prepared = prepare(examples, loaded.tokenizer, recipe)
    moments: list[Moment] = []
    run = {"lean": lean.train, "trl": sft.train}[engine]
    found: Trained = run(
        loaded, recipe, prepared.learnt, prepared.validation, directory, watch=moments.append, **settings
    )
    return found, moments


def _same(one: Trained, two: Trained) -> bool:
    ours, theirs = (dict(trained.model.named_parameters()) for trained in (one, two))
    return all(bool((weight == theirs[name]).all()) for name, weight in ours.items())


@pytest.mark.parametrize(
    "recipe",
    [
        _RECIPE,
        msgspec.structs.replace(_RECIPE, micro=2),
        msgspec.structs.replace(_RECIPE, micro=2, packing=True),
        msgspec.structs.replace(_RECIPE, lora=Lora(rank=4), checkpointing=True, schedule="linear", weight_decay=0.1),
    ],
    ids=["plain", "padded", "packed", "adapters"],
)
def test_the_loss_curve_is_that_of_the_lean_loop(folder: Path, examples: Path, tmp_path: Path, recipe: Recipe) -> None:
    """Same data, order, learning rates and normalisation: every step's loss and every validation loss agree."""
    ours, told = _train("lean", folder, examples, recipe, tmp_path / "lean")
    theirs, said = _train("trl", folder, examples, recipe, tmp_path / "trl")
    assert len(told) == len(said) >= 12
    for one, two in zip(told, said, strict=True):
        assert (one.step, one.steps, one.epoch) == (two.step, two.steps, two.epoch)
        assert two.loss == pytest.approx(one.loss, abs=1e-3)
        assert two.learning_rate == pytest.approx(one.learning_rate)
        assert two.validation == (None if one.validation is None else pytest.approx(one.validation, abs=1e-3))
    assert theirs.validation == pytest.approx(ours.validation, abs=1e-3)
    assert theirs.tokens == ours.tokens
    assert told[-1].loss < told[0].loss


def test_two_processes_have_the_loss_curve_of_the_lean_loop(folder: Path, examples: Path, tmp_path: Path) -> None:
    """Sequences are dealt to processes, also where the last step has too few: the same losses, nothing learnt twice."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("the processes would want an accelerator each")
    recipe = msgspec.structs.replace(_RECIPE, epochs=1.7, micro=2, warmup=0.0)
    trained, told = _train("lean", folder, examples, recipe, tmp_path / "lean")
    assert Schedule(recipe, len(exchange.read(examples)[1]["train"])).total % 4  # the last step is not full
    settings = {"epochs": 1.7, "batch": 4, "micro": 2, "learning_rate": 5e-3, "precision": "fp32", "warmup": 0.0}
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "turngap"),
        *("train", str(examples), "--base", str(folder), "-o", str(tmp_path / "trl"), "--engine", "trl"),
        *("--set", "whole=false", "--set", "lora=false", "--set", "limit=4096", "--set", "too_long=fail"),
        *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")),
    ]
    surroundings = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "trl" / "checkpoints" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    said = [jsonio.loads(line) for line in log]
    assert [one["step"] for one in said] == [one.step for one in told]
    assert [one["loss"] for one in said] == pytest.approx([one.loss for one in told], abs=1e-5)
    assert said[-1]["validation"] == pytest.approx(trained.validation, abs=1e-5)


def test_partly_learnt_conversations_have_the_loss_curve_of_the_lean_loop(folder: Path, tmp_path: Path) -> None:
    """Conversations of which only the drawn decisions are learnt: the same losses; drawn again, TRL refuses them."""
    from turngap.training import base, sft  # noqa: PLC0415 - may be missing
    from turngap.training.fitting import prepare  # noqa: PLC0415 - the same

    recipe = msgspec.structs.replace(_RECIPE, whole=True, batch=2, epochs=2)
    directory = tinymodel.examples(tmp_path / "set", 9, count=11)
    prepared = prepare(directory, base.load_tokenizer(str(folder)), recipe)
    assert prepared.whole and sum(one.decisions for one in prepared.learnt) == 11 < 4 * len(prepared.learnt)
    _, told = _train("lean", folder, directory, recipe, tmp_path / "lean")
    _, said = _train("trl", folder, directory, recipe, tmp_path / "trl")
    assert [one.loss for one in said] == pytest.approx([one.loss for one in told], abs=1e-3)
    assert [one.validation for one in said] == pytest.approx([one.validation for one in told], abs=1e-3)
    first = prepared.learnt[0]
    again = msgspec.structs.replace(first, learnt=tuple(2 * mark for mark in first.learnt))
    with pytest.raises(UsageError, match="learnt several times; choose --engine lean"):
        sft.train(base.load(str(folder)), recipe, [again], [], tmp_path / "again")


def test_sft_08_a_model_that_looks_across_is_not_packed(folder: Path, examples: Path, tmp_path: Path) -> None:
    """SFT-08: before the first step of a packed training it is tried out whether sequences of a row see each other."""
    from turngap.training import base, sft  # noqa: PLC0415 - may be missing
    from turngap.training.fitting import prepare  # noqa: PLC0415 - the same

    recipe = msgspec.structs.replace(_RECIPE, micro=2, packing=True)
    leaky = tinymodel.leaky(base.load(str(folder)))
    learnt = prepare(examples, leaky.tokenizer, recipe).learnt
    with pytest.raises(UsageError, match="packing=false"):
        sft.train(leaky, recipe, learnt, [], tmp_path, watch=pytest.fail)


def test_in_bfloat16_the_curves_stay_together(folder: Path, examples: Path, tmp_path: Path) -> None:
    """Both engines multiply in bfloat16 where the recipe says so, also on a processor; losses agree to its rounding."""
    recipe = msgspec.structs.replace(_RECIPE, epochs=1, precision="bf16")
    _, told = _train("lean", folder, examples, recipe, tmp_path / "lean")
    _, said = _train("trl", folder, examples, recipe, tmp_path / "trl")
    assert [one.loss for one in said] == pytest.approx([one.loss for one in told], abs=0.03)


def test_a_halted_training_goes_on_to_the_same_weights(folder: Path, examples: Path, tmp_path: Path) -> None:
    """Stopped after some step, with adapters that drop out: it ends bit for bit where an undisturbed one ends."""
    recipe = msgspec.structs.replace(_RECIPE, lora=Lora(rank=4, dropout=0.2))
    asked = count()
    halt: Callable[[], bool] = lambda: next(asked) == 4  # noqa: E731 - a callable is what is wanted
    whole, _ = _train("trl", folder, examples, recipe, tmp_path / "whole")
    with pytest.raises(Halted) as halted:
        _train("trl", folder, examples, recipe, tmp_path / "halted", halt=halt)
    assert halted.value.step == 5
    # A checkpoint that was being written when the process died does no harm.
    (tmp_path / "halted" / "trl" / "checkpoint-6").mkdir()
    resumed, rest = _train("trl", folder, examples, recipe, tmp_path / "halted")
    assert rest[0].step == 6
    assert _same(whole, resumed)
    assert (resumed.steps, resumed.tokens) == (whole.steps, whole.tokens)
    log = (tmp_path / "halted" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [jsonio.loads(line)["step"] for line in log] == list(range(1, whole.steps + 1))


def test_it_stops_early_and_keeps_the_best(folder: Path, examples: Path, tmp_path: Path) -> None:
    """With a learning rate that throws it about, it stops when validation gets no better; the best weights come back."""
    recipe = msgspec.structs.replace(_RECIPE, epochs=20, validate=2, patience=2, learning_rate=0.3, warmup=0.0)
    found, moments = _train("trl", folder, examples, recipe, tmp_path)
    assert found.stopped == "no better validation loss in 2 looks"
    assert found.steps < moments[0].steps
    assert found.validation == min(moment.validation for moment in moments if moment.validation is not None)


def test_what_trl_learns_is_what_was_rendered(folder: Path, examples: Path, tmp_path: Path) -> None:
    """Labels are the learnt tokens and nothing else, through TRL's collator too; no null stands in any of them."""
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling  # noqa: PLC0415 - may be missing

    from turngap.training import base, sft  # noqa: PLC0415 - the same
    from turngap.training.fitting import prepare  # noqa: PLC0415 - the same

    del tmp_path
    tokenizer = base.load_tokenizer(str(folder))
    learnt = prepare(examples, tokenizer, _RECIPE).learnt
    rows = sft.columns(learnt)
    batch = DataCollatorForLanguageModeling(pad_token_id=0)([dict(row) for row in rows])
    texts = []
    for one, labels in zip(learnt, batch["labels"].tolist(), strict=True):
        wanted = [token for token, mark in zip(one.tokens, one.learnt, strict=True) if mark]
        assert [token for token in labels if token != sft.IGNORED] == wanted
        texts.append(tokenizer.decode(wanted))
    assert any('"booking_id": "BK-' in text and '"day"' in text for text in texts)
    assert not any("null" in text for text in texts)


def test_messages_in_columns_would_be_spoiled(examples: Path) -> None:
    """Why TRL never gets messages: a data set of them fills nulls into arguments; ours, as text, comes back as it was."""
    import datasets  # noqa: PLC0415 - may be missing

    records = [jsonio.loads(line) for line in (examples / "train.jsonl").read_bytes().splitlines()]
    back = list(datasets.Dataset.from_list(records))
    assert [one["completion"][0].get("tool_calls") or None for one in back] == [
        one["completion"][0].get("tool_calls") for one in records
    ]
    naive = []
    for record in records:
        calls = record["completion"][0].get("tool_calls")
        if calls:
            naive.append({"arguments": jsonio.loads(calls[0]["function"]["arguments"])})
    spoiled = [row["arguments"] for row in datasets.Dataset.from_list(naive)]
    assert any(None in row.values() for row in spoiled)
    assert not any(None in row["arguments"].values() for row in naive)


def test_a_batch_that_cannot_be_dealt_is_refused(folder: Path, examples: Path, tmp_path: Path) -> None:
    """A batch of 4 in threes; and a directory of the other engine."""
    with pytest.raises(UsageError, match="choose a multiple of 3"):
        _train("trl", folder, examples, msgspec.structs.replace(_RECIPE, micro=3), tmp_path / "three")
    _train("lean", folder, examples, _RECIPE, tmp_path / "lean")
    with pytest.raises(ConfigError, match="another base, recipe or data set"):
        _train("trl", folder, examples, _RECIPE, tmp_path / "lean")
