"""Services of the Schema-Guided Dialogue data as tool specifications.

A service has intents (its methods) with required slots, optional slots with defaults, and slots that may be
categorical. Each intent becomes one tool. All values are strings, as in the data. A default is kept: an argument equal
to it says nothing, which is exactly what the data's own marker ``dontcare`` means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeGuard

from turngap.data import ToolSpec


def is_schema(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Whether a JSON value is a list of services."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and "service_name" in item and "intents" in item for item in value)
    )


def index_services(value: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Service name -> service."""
    return {str(service["service_name"]): service for service in value}


def tool_names(services: Iterable[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """(service, method) -> tool name: the method, with the service before it where two services share a method."""
    pairs = [
        (str(service["service_name"]), str(intent.get("name", "")))
        for service in services
        for intent in service["intents"]
    ]
    shared = Counter(method for _, method in pairs)
    return {pair: pair[1] if shared[pair[1]] == 1 else f"{pair[0]}_{pair[1]}" for pair in pairs}


def tool_specs(services: Iterable[dict[str, Any]]) -> tuple[ToolSpec, ...]:
    """The tools that these services offer together."""
    services = list(services)
    names = tool_names(services)
    return tuple(
        ToolSpec(
            name=names[str(service["service_name"]), str(intent.get("name", ""))],
            description=str(intent.get("description", "")),
            parameters=_parameters(intent, {slot.get("name"): slot for slot in service.get("slots", ())}),
        )
        for service in services
        for intent in service["intents"]
    )


def _parameters(intent: dict[str, Any], slots: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    required = [str(name) for name in intent.get("required_slots", ())]
    optional: dict[str, Any] = dict(intent.get("optional_slots", {}))
    properties = {name: _property(slots.get(name, {})) for name in required}
    properties |= {name: _property(slots.get(name, {}), default) for name, default in optional.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def _property(slot: dict[str, Any], default: Any = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if slot.get("description"):
        schema["description"] = slot["description"]
    values = slot.get("possible_values")
    if slot.get("is_categorical") and values:
        # The marker stands among the defaults without being one of the slot's values.
        schema["enum"] = [*values, *([default] if isinstance(default, str) and default not in values else [])]
    if default is not None:
        schema["default"] = default
    return schema
