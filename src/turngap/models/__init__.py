"""Ask a model for its next action. `build` turns a `ModelConfig` into a `Model`; modules load when named."""

from __future__ import annotations

from turngap.config import ModelConfig
from turngap.models.base import CallCache, Examined, Model, ModelContext, Request, Seat
from turngap.registry import Registry

REGISTRY = Registry(
    "models",
    {
        "openai": "turngap.models.chat:build",
        "local": "turngap.models.local:build",
        "hf": "turngap.models.hf:build",
        "baseline": "turngap.models.baseline:build",
        "recorded": "turngap.models.recorded:build",
        "corrected": "turngap.models.corrected:build",
    },
)
"""Provider (the part of a spec before the slash) -> factory ``build(config, context) -> Model``."""


def build(config: ModelConfig, context: ModelContext | None = None) -> Model:
    """Build the model that `config.spec` names.

    Raises:
        UsageError: unknown provider or options. MissingExtra: an optional package is needed.
    """
    provider = config.spec if ":" in config.provider else config.provider
    model: Model = REGISTRY.make(provider, config, context or ModelContext())
    return model


__all__ = ["REGISTRY", "CallCache", "Examined", "Model", "ModelContext", "Request", "Seat", "build"]
