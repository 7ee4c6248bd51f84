"""The card of a trained model: what it says of where it lies stays true, and names are shown as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from turngap.report.training_card import card
from turngap.training.exchange import Manifest
from turngap.training.fitting import Outcome
from turngap.training.making import Options
from turngap.training.recipe import Recipe


@pytest.mark.parametrize("with_gguf", [False, True])
def test_the_card(tmp_path: Path, with_gguf: bool) -> None:
    """The title names the base letter by letter; the commands name the model from where the card lies."""
    if with_gguf:
        (tmp_path / "model.gguf").touch()
    counts = {"decisions": 4, "sequences": 1, "tokens": 100, "learnt_tokens": 20, "cut_messages": 0, "refused": 0}
    outcome = Outcome(
        base="new:qwen3?hidden=64&layers=2",
        recipe=Recipe(),
        manner={},
        examples="0" * 64,
        counts=counts,
        parameters=1000,
        steps=3,
        loss=1.5,
        validation=None,
        tokens=100,
        seconds=2.0,
    )
    manifest = Manifest(options=Options(), sources=("my_logs.jsonl",), counts={"train": {"examples": 4}})
    text = card(outcome, manifest, tmp_path)
    assert text.startswith("# `new:qwen3?hidden=64&layers=2`, fine-tuned with turngap\n")
    assert "From `my_logs.jsonl`; digest" in text
    assert "--model hf/model\n" in text
    assert ("--model local/model.gguf\n" in text) == with_gguf
    assert str(tmp_path) not in text
