"""A file of tool specifications, for recordings that carry none.

Known: a list of functions as in chat-completions (also one per line), the catalogue of ToolTalk (name, description,
parameters with ``required`` flags, ``requires_auth``), and a schema of the Schema-Guided Dialogue data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from turngap.errors import DataError
from turngap.formats import sgd_schema
from turngap.formats.base import Findings, GivenTools, Place
from turngap.formats.records import read_records
from turngap.formats.toolspec import read_tools

_TOKEN = "session_token"  # noqa: S105 - the name of a parameter


def load_tools(path: Path) -> GivenTools:
    """Read a file of tools.

    Raises:
        DataError: it cannot be read, is not JSON, or holds no tool.
    """
    values: list[Any] = []
    for raw in read_records(path):
        if isinstance(raw, DataError):
            raise raw
        values.append(raw[1])
    if len(values) == 1 and isinstance(values[0], dict):
        inner = values[0].get("tools", values[0].get("functions"))
        values = inner if isinstance(inner, list) else values
    return tools_of(values, path)


def tools_of(values: list[Any], path: Path) -> GivenTools:
    """The tools in a list of values that stands in `path`.

    Raises:
        DataError: an entry is no tool, or there is none.
    """
    if sgd_schema.is_schema(values):
        services = sgd_schema.index_services(values)
        return GivenTools(specs=sgd_schema.tool_specs(values), services=services)
    findings = Findings(Place(file=str(path)))
    specs = read_tools([_with_token(value) for value in values], "", findings)
    unreadable = next((oddity for oddity in findings.oddities if oddity.kind == "unreadable_tool"), None)
    if unreadable is not None or not specs:
        raise DataError(
            "no tool specification here; expected a list of functions with name, description and parameters",
            file=str(path),
            field=unreadable.field if unreadable else "",
        )
    return GivenTools(specs=specs)


def _with_token(value: Any) -> Any:
    """Give a ToolTalk tool that requires a login the parameter that its calls carry but its catalogue leaves out."""
    if not isinstance(value, dict) or not value.get("requires_auth") or not isinstance(value.get("parameters"), dict):
        return value
    if _TOKEN in value["parameters"]:
        return value
    token = {"type": "string", "description": "Token of the session that the user is logged in with.", "required": True}
    return {**value, "parameters": {_TOKEN: token, **value["parameters"]}}


def is_catalogue(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Whether a JSON value is a ToolTalk catalogue."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and "name" in item and "requires_auth" in item for item in value)
    )
