"""How a model is trained: the settings of one fine-tuning, by name or from a TOML file.

``p1`` is the recipe of the paper on next turns and workflows (five epochs, all weights); ``p2`` that of the paper on
trajectory-first tasks (three epochs, Adam with learning rate 1e-5, betas .9 and .95, epsilon 1e-8). What the papers do
not say, such as the learning rate of ``p1``, is ours, and the usual thing. ``laptop`` is for a small model on a
processor: low-rank adapters, whole conversations as sequences.

A TOML file has the same fields, and may begin from a recipe: ``base = "p2"``. An unknown field is an error.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from turngap.errors import ConfigError, DataError, UsageError


class Lora(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank adapters (Hu et al. 2021) on every linear layer but the output."""

    rank: int = 32
    alpha: int = 64
    """The adapters' output is scaled by alpha / rank."""
    dropout: float = 0.0


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one fine-tuning."""

    name: str = "custom"
    epochs: float = 3.0
    """Passes over the training set."""
    learning_rate: float = 1e-5
    """At its highest."""
    schedule: str = "cosine"
    """What becomes of the learning rate after the warm-up: ``cosine``, ``linear`` (both to 0) or ``constant``."""
    warmup: float = 0.03
    """The share of steps in which the learning rate rises from 0."""
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float = 1.0
    """The norm that gradients are clipped to; 0 for none."""
    batch: int = 8
    """Sequences of one step, over all devices."""
    limit: int = 4096
    """Most tokens of a sequence."""
    too_long: str = "fail"
    """What becomes of longer ones: ``fail`` before training, ``drop``, or ``cut`` from the oldest turn."""
    whole: bool = False
    """Whole conversations as one sequence each, all decisions learnt, where the chat template allows it."""
    packing: bool = False
    """Several sequences in one row, without attention between them."""
    lora: Lora | None = None
    """None: all weights are trained."""
    precision: str = "auto"
    """``bf16``, ``fp32``, or what the device does best."""
    checkpointing: bool = False
    """Compute activations a second time instead of keeping them: less memory, about a third slower."""
    validate: int = 0
    """Steps between looks at the validation set; 0: after each epoch."""
    patience: int = 0
    """Looks without a better validation loss after which training stops, and the best model is kept; 0: never."""
    save: int = 50
    """Steps between checkpoints."""
    seed: int = 0
    """Of the order of sequences, of new weights and of dropout."""

    def __post_init__(self) -> None:
        ranges: tuple[tuple[str, float, bool, float, float], ...] = (
            ("epochs", self.epochs, False, 0, 1000),
            ("learning_rate", self.learning_rate, False, 0, 10),
            ("warmup", self.warmup, True, 0, 1),
            ("beta1", self.beta1, True, 0, 1),
            ("beta2", self.beta2, True, 0, 1),
            ("epsilon", self.epsilon, False, 0, 1),
            ("weight_decay", self.weight_decay, True, 0, 10),
            ("clip", self.clip, True, 0, 1e9),
            ("batch", self.batch, True, 1, 1_000_000),
            ("limit", self.limit, True, 16, 10_000_000),
            ("validate", self.validate, True, 0, 1e9),
            ("patience", self.patience, True, 0, 1e9),
            ("save", self.save, True, 1, 1e9),
        )
        for name, value, closed, low, high in ranges:
            if not (low <= value <= high) or (value == low and not closed):
                raise UsageError(
                    f"recipe: {name} should be {'from' if closed else 'above'} {low:g} up to {high:g}, not {value}"
                )
        choices = (
            ("schedule", self.schedule, ("cosine", "linear", "constant")),
            ("too_long", self.too_long, ("fail", "drop", "cut")),
            ("precision", self.precision, ("auto", "bf16", "fp32")),
        )
        for name, chosen, known in choices:
            if chosen not in known:
                raise UsageError(f"recipe: {name} is one of {', '.join(known)}, not {chosen!r}")


RECIPES: dict[str, Recipe] = {
    "p1": Recipe(name="p1", epochs=5, learning_rate=1e-5, batch=32, checkpointing=True, limit=8192),
    "p2": Recipe(
        name="p2", epochs=3, learning_rate=1e-5, beta1=0.9, beta2=0.95, epsilon=1e-8, batch=32, checkpointing=True,
        limit=16384,
    ),
    "laptop": Recipe(
        name="laptop", epochs=1, learning_rate=1e-3, batch=4, limit=4096, whole=True, lora=Lora(), too_long="drop",
        save=10,
    ),
}  # fmt: skip
"""The recipes by their names."""


def recipe(name: str) -> Recipe:
    """A recipe by name, or from a TOML file.

    Raises:
        UsageError: unknown name, or a value out of range. DataError: the file cannot be read. ConfigError: an unknown
            field, or one of the wrong type.
    """
    if name in RECIPES:
        return RECIPES[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise UsageError(f"unknown recipe {name!r}; known: {', '.join(RECIPES)}, or a TOML file")
    try:
        settings: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=name) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"no TOML: {error}", file=name) from None
    base = settings.pop("base", None)
    if base is not None and base not in RECIPES:
        raise UsageError(f"{name}: unknown recipe {base!r} to begin from; known: {', '.join(RECIPES)}")
    return laid_over(RECIPES[base] if base else Recipe(), {"name": path.stem, **settings}, source=name)


def laid_over(base: Recipe, settings: dict[str, Any], source: str = "recipe") -> Recipe:
    """A recipe with other settings; raises as `recipe`."""
    values = {**msgspec.to_builtins(base), **settings}
    try:
        return msgspec.convert(values, Recipe)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {error}") from None
