"""Verdicts. `build` turns a judge's spec into a `Judge`; modules load when named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turngap.config import JudgeConfig, MatchConfig
from turngap.judges.base import Judge, TurnCase, WorkflowCase
from turngap.models.base import ModelContext
from turngap.registry import Registry

REGISTRY = Registry(
    "judges",
    {
        "rules": "turngap.judges.rules:build",
        "openai": "turngap.judges.llm:build",
        "local": "turngap.judges.local:build",
    },
)
"""``rules`` or a provider -> factory ``build(spec, config, match, context, save_prompt) -> Judge``."""


def build(
    spec: str,
    config: JudgeConfig,
    match: MatchConfig,
    context: ModelContext,
    save_prompt: Callable[[dict[str, Any]], None] | None = None,
) -> Judge:
    """Build the judge that a spec names.

    Args:
        spec: ``rules``, ``openai/NAME``, ``local/...``, or ``module:attribute``.
        config: settings of all judges.
        match: how `rules` compares calls.
        context: cache, and where notes and waits are told.
        save_prompt: receives every prompt that is sent to a model.

    Raises:
        UsageError: unknown judge or options. ConfigError: a server that cannot be used as configured.
    """
    provider = spec.partition("/")[0]
    judge: Judge = REGISTRY.make(spec if ":" in provider else provider, spec, config, match, context, save_prompt)
    return judge


__all__ = ["REGISTRY", "Judge", "TurnCase", "WorkflowCase", "build"]
