"""How a model is trained: the settings of one fine-tuning, by name or from a TOML file.

``p1`` is the recipe of the paper on next turns and workflows (five epochs, all weights); ``p2`` that of the paper on
trajectory-first tasks (three epochs, Adam with learning rate 1e-5, betas .9 and .95, epsilon 1e-8). What the papers do
not say, such as the learning rate of ``p1``, is ours, and the usual thing. ``laptop`` is for a small model on a
processor: low-rank adapters, whole conversations as sequences.

A TOML file has the same fields, and may begin from a recipe: ``base = "p2"``. An unknown field is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from turngap.errors import ConfigError, DataError, UsageError

_MOST_SEED = 2**32 - 1
"""What every generator of random numbers takes that a training seeds."""


class Lora(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank adapters (Hu et al. 2021) on every linear layer but the output."""

    rank: int = 32
    alpha: int = 64
    """The adapters' output is scaled by alpha / rank."""
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.rank < 1 or self.alpha < 1 or not 0 <= self.dropout < 1:
            raise UsageError("recipe: lora has a rank and an alpha of at least 1, and a dropout from 0 to below 1")


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
    """Several sequences of a step in one row, without attention between them: the same loss, computed with fewer calls.
    """
    micro: int = 1
    """Sequences that a device computes at once in the TRL engine, padded or, with packing, in one row."""
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
            ("micro", self.micro, True, 1, 1_000_000),
            ("limit", self.limit, True, 16, 10_000_000),
            ("validate", self.validate, True, 0, 1e9),
            ("patience", self.patience, True, 0, 1e9),
            ("save", self.save, True, 1, 1e9),
            ("seed", self.seed, True, 0, _MOST_SEED),
        )
        for name, value, closed, low, high in ranges:
            if not (low <= value <= high) or (value == low and not closed):
                least = f"{'from' if closed else 'above'} {low:g}"
                raise UsageError(f"recipe: {name} should be {least} up to {high:,.0f}, not {value:,}")
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


def laid_over(base: Recipe, settings: Mapping[str, Any], source: str = "recipe") -> Recipe:
    """A recipe with other settings; ``lora = false`` trains all weights. Raises as `recipe`."""
    values = msgspec.to_builtins(base)
    _require_known(settings, Recipe, source)
    lora = settings.get("lora")
    if isinstance(lora, dict):
        _require_known(lora, Lora, f"{source}: lora")
        settings = {**settings, "lora": {**(values["lora"] or {}), **lora}}
    elif isinstance(lora, bool):
        settings = {**settings, "lora": (values["lora"] or {}) if lora else None}
    _require_kinds(settings, Recipe, source)
    return msgspec.convert(values | settings, Recipe)


def _require_known(settings: Mapping[str, Any], kind: type[msgspec.Struct], source: str) -> None:
    unknown = next((name for name in settings if name not in kind.__struct_fields__), None)
    if unknown is not None:
        raise ConfigError(f"{source}: unknown setting {unknown!r}; known: {', '.join(kind.__struct_fields__)}")


_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a word",
    Lora | None: "true, false, or set part by part, as in lora.rank=8",
}


def _require_kinds(settings: Mapping[str, Any], kind: type[msgspec.Struct], source: str, within: str = "") -> None:
    """See to it that every setting is of its type, in words of a person."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in settings.items():
        if isinstance(value, dict) and types[name] not in (int, float, bool, str):
            _require_kinds(value, Lora, source, f"{name}.")
            continue
        try:
            msgspec.convert(value, types[name])
        except msgspec.ValidationError:
            raise ConfigError(f"{source}: {within}{name} should be {_KINDS[types[name]]}, not {value!r}") from None


def overridden(base: Recipe, assignments: Iterable[str]) -> Recipe:
    """A recipe with settings written as ``epochs=2``, ``lora.rank=8``, ``lora=false``; raises as `recipe`."""
    settings: dict[str, Any] = {}
    for one in assignments:
        path, equals, text = one.partition("=")
        name, _, inner = path.strip().partition(".")
        if not equals or not name:
            raise UsageError(f"--set {one}: write NAME=VALUE, for example epochs=2 or lora.rank=8")
        if inner:
            within = settings.get(name)
            settings[name] = {**(within if isinstance(within, dict) else {}), inner: _value(text.strip())}
        else:
            settings[name] = _value(text.strip())
    return laid_over(base, settings, source="--set")


def _value(text: str) -> Any:
    """A number or truth value as TOML writes them, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
