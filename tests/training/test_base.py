"""Bases: new ones, folders, GGUF files, and what is said about those that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
import tinymodel

from turngap.errors import UsageError
from turngap.training.vocabulary import texts_of


@pytest.fixture(autouse=True)
def _torch() -> None:
    tinymodel.require()


def test_a_new_model_has_the_sizes_that_were_asked_for_and_hangs_on_the_seed() -> None:
    """Qwen3's architecture, as large as named; the same seed gives the same weights, another one others."""
    from turngap.training import base  # noqa: PLC0415 - torch may be missing

    texts = list(texts_of([tinymodel.talk(1)]))
    one, same, other = (base.load(tinymodel.SPEC, texts, seed=seed) for seed in (1, 1, 2))
    assert (one.model.config.hidden_size, one.model.config.num_hidden_layers) == (32, 2)
    assert one.model.config.model_type == "qwen3"
    assert one.parameters == sum(weight.numel() for weight in one.model.parameters())
    weights = [made.model.model.embed_tokens.weight for made in (one, same, other)]
    assert bool((weights[0] == weights[1]).all())
    assert not bool((weights[0] == weights[2]).all())
    assert (one.digest, one.digest == other.digest) == (same.digest, False)


def test_a_folder_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    """Weights in float32, the tokenizer with its template, the type of numbers that were stored; its digest is theirs."""
    from turngap.training import base  # noqa: PLC0415 - torch may be missing

    folder = tinymodel.saved(tmp_path / "one", seed=1)
    found = base.load(str(folder))
    assert found.model.dtype.itemsize == 4
    assert (found.stored, found.origin) == ("float32", None)
    assert found.tokenizer.chat_template
    assert base.load_tokenizer(f"hf/{folder}").get_vocab() == found.tokenizer.get_vocab()
    assert base.load(str(tinymodel.saved(tmp_path / "two", seed=2))).digest != found.digest


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("new:llama", "the only new model is new:qwen3"),
        ("new:qwen3?width=3", "option 'width=3' should be one of hidden=256, layers=4, heads=4, vocabulary=2048"),
        ("new:qwen3?hidden=many", "with a whole number from 1"),
        ("new:qwen3?hidden=30&heads=4", "hidden has to be an even multiple of heads"),
        ("nowhere.gguf", "there is no file nowhere.gguf"),
        ("nowhere/at-all", "no such name in the local cache; known: a folder"),
        ("./nowhere", "no folder with a model of transformers"),
    ],
)
def test_what_is_no_base_is_refused_at_once(spec: str, said: str) -> None:
    """Without a question to a network, in one line that says what there is."""
    from turngap.training import base  # noqa: PLC0415 - torch may be missing

    for load in (base.load, base.load_tokenizer):
        with pytest.raises(UsageError) as raised:
            load(spec)
        assert said in str(raised.value)


def test_a_damaged_folder_is_said(tmp_path: Path) -> None:
    """Weights that are none: the error names the base."""
    from turngap.training import base  # noqa: PLC0415 - torch may be missing

    folder = tinymodel.saved(tmp_path / "one")
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="transformers cannot read it"):
        base.load(str(folder))
