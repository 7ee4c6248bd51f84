"""Who speaks for the customer. `build` turns a spec into the simulator of a run; modules load when named."""

from __future__ import annotations

from turngap.config import ModelConfig
from turngap.models import ModelContext
from turngap.registry import Registry
from turngap.users.simulator import Hands, LiveUser, Part, Simulator

REGISTRY = Registry(
    "users",
    {
        "scripted": "turngap.users.scripted:build",
        "llm": "turngap.users.llm:build",
        "recorded": "turngap.users.recorded:build",
    },
)
"""The part of a spec before the first slash or question mark -> factory ``build(config, context) -> Simulator``."""


def build(config: ModelConfig, context: ModelContext | None = None) -> Simulator:
    """Build what `config.spec` names: ``scripted``, ``scripted?patience=5``, ``llm/openai/NAME``, ``recorded/FILE``.

    The other settings of `config` are those of the model behind ``llm/...``.

    Raises:
        UsageError: unknown user or options. MissingExtra: an optional package is needed.
    """
    name = config.spec if ":" in config.spec.partition("/")[0] else config.spec.partition("/")[0].partition("?")[0]
    simulator: Simulator = REGISTRY.load(name)(config, context or ModelContext())
    return simulator


__all__ = ["REGISTRY", "Hands", "LiveUser", "Part", "Simulator", "build"]
