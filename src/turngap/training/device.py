"""What a training runs on, and in which numbers."""

from __future__ import annotations

from pathlib import Path

import torch

from turngap.training.recipe import Recipe


def device() -> torch.device:
    """The first accelerator, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def in_bf16(recipe: Recipe, on: torch.device) -> bool:
    """Whether matrices are multiplied in bfloat16; weights and optimiser stay in float32 either way."""
    return recipe.precision == "bf16" or (recipe.precision == "auto" and bf16_pays(on))


def bf16_pays(on: torch.device) -> bool:
    """Whether the device computes in bfloat16 natively."""
    if on.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool({"avx512_bf16", "amx_bf16"} & _processor_flags())


def _processor_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    return frozenset(next((line.split(":")[1].split() for line in text.splitlines() if line.startswith("flags")), ()))
