"""TRL's trainer on the same tokens: the same losses as the lean loop, and nothing filled into what is learnt."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tinymodel

from turngap import jsonio
from turngap.errors import ConfigError, UsageError
from turngap.training.moment import Halted, Moment, Trained
from turngap.training.recipe import Lora, Recipe

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
