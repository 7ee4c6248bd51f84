"""Low-rank adapters around a model, and the model without them again (PEFT)."""

from __future__ import annotations

from typing import Any

from turngap.training.recipe import Lora


def wrapped(model: Any, lora: Lora, seed: int) -> Any:
    """The model with adapters on every linear layer but the output; only they are trained."""
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415 - the same

    torch.manual_seed(seed)
    settings = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, settings)


def merged(model: Any) -> Any:
    """The model with its adapters added to its weights; a model without adapters as it is."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def as_stored(model: Any, numbers: str) -> Any:
    """The model with weights of a type, named as torch names it."""
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train

    return model.to(getattr(torch, numbers))
