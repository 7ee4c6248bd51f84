"""Packed sequences are blind to each other, or packing is refused."""

from __future__ import annotations

from typing import Any

import pytest

from turngap.errors import UsageError
from turngap.training.recipe import RECIPES, Recipe

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers")
packing = pytest.importorskip("turngap.training.packing")

_SIZES = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 64,
}


def _model(kernel: str) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**_SIZES, attn_implementation=kernel)
    return transformers.LlamaForCausalLM(config)


def test_sft_08_packing_is_off_by_default() -> None:
    """SFT-08: nobody packs who did not ask for it."""
    assert not Recipe().packing
    assert not any(recipe.packing for recipe in RECIPES.values())


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
def test_sft_08_packed_sequences_do_not_see_each_other(kernel: str) -> None:
    """SFT-08: with positions that begin anew the second sequence is blind to the first, and the model is left as it was."""
    model = _model(kernel)
    model.train()
    packing.require_independent(model, torch.device("cpu"))
    assert model.training


class _Leaky:
    """A model whose kernel takes positions that begin anew for nothing."""

    def __init__(self, model: Any) -> None:
        self._model, self.config, self.training = model, model.config, False

    def eval(self) -> None:
        self._model.eval()

    def train(self, mode: bool) -> None:
        self._model.train(mode)

    def __call__(self, *, input_ids: Any, position_ids: Any, use_cache: bool) -> Any:
        everything = torch.ones_like(input_ids)  # a mask of ones switches the detection of borders off
        return self._model(
            input_ids=input_ids, attention_mask=everything, position_ids=position_ids, use_cache=use_cache
        )


def test_sft_08_a_model_that_looks_across_is_refused() -> None:
    """SFT-08: where attention crosses, which a mask argument is enough for, training does not begin."""
    with pytest.raises(UsageError, match="packing=false"):
        packing.require_independent(_Leaky(_model("sdpa")), torch.device("cpu"))
