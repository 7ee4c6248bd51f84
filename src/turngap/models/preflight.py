"""Look at a server before a run: how long its context is, and whether its chat template shows tools to the model.

Everything here is optional knowledge. Servers differ in what they tell, so every question may go unanswered, each has
a few seconds, and nothing raises. Only servers of the llama.cpp kind can show a rendered prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turngap.models.client import ChatClient

_LENGTH_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What the server told."""

    context_length: int | None = None
    """Tokens of one request (prompt and answer); None when the server does not say."""
    renders_tools: bool | None = None
    """Whether the chat template shows the tools to the model; None when the server cannot tell."""
    warnings: tuple[str, ...] = ()
    """One line each, for the person."""


async def examine(
    client: ChatClient, messages: list[dict[str, Any]], tools: msgspec.Raw | None, names: Sequence[str]
) -> Findings:
    """Ask the server's side doors about one typical request."""
    warnings: list[str] = []
    models = await client.get("/models")
    properties = await client.get("//props")
    known = _names(models)
    if known and client.model not in known:
        shown = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
        warnings.append(f"the server does not list a model {client.model!r}; it lists {shown}")
    renders = None
    if tools is not None and properties is not None:
        rendered = await client.post("//apply-template", {"messages": messages, "tools": tools})
        prompt = rendered.get("prompt") if isinstance(rendered, dict) else None
        if isinstance(prompt, str) and names:
            # A name in the policy is no sign of the tool list, hence all of them have to be there.
            renders = all(name in prompt for name in names)
            if not renders:
                warnings.append(
                    "the model's chat template drops the tools: the model never sees them; give the server a template "
                    "that carries tools, or use --fold-roles, which writes them as text"
                )
    length = _length_of(properties) or _length_of(_entry(models, client.model))
    return Findings(context_length=length, renders_tools=renders, warnings=tuple(warnings))


def _entries(models: Any) -> list[dict[str, Any]]:
    data = models.get("data") if isinstance(models, dict) else None
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _names(models: Any) -> list[str]:
    return [str(entry["id"]) for entry in _entries(models) if "id" in entry]


def _entry(models: Any, name: str) -> Any:
    return next((entry for entry in _entries(models) if entry.get("id") == name), None)


def _length_of(holder: Any) -> int | None:
    if not isinstance(holder, dict):
        return None
    for place in (holder, holder.get("default_generation_settings"), holder.get("meta")):
        for key in _LENGTH_KEYS:
            value = place.get(key) if isinstance(place, dict) else None
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
