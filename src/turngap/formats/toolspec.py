"""Tool specifications in the shapes that files have, as `ToolSpec`s with JSON Schema parameters.

Read: the list of chat-completions (``{"type": "function", "function": {...}}``), bare functions, legacy ``functions``,
all of them also as JSON text, parameters as a map of name to type with ``required`` flags, and schemas that write types
the Python or the upper-case way. What had to be translated is noted.
"""

from __future__ import annotations

from typing import Any

from turngap import jsonio
from turngap.data import ToolSpec
from turngap.formats.base import Findings

_TYPES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "none": "null",
    "nonetype": "null",
}
_ANY = {"any", "object_any", "mixed"}
_JSON_TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_WORDS = {"type", "properties", "required", "additionalProperties", "$ref", "anyOf", "oneOf", "allOf", "$schema"}


def read_tools(value: Any, at: str, findings: Findings) -> tuple[ToolSpec, ...]:
    """Read a list of tools; what cannot be read is noted and left out.

    Raises:
        DataError: the whole is not a list (nor JSON text of one).
    """
    if isinstance(value, str):
        try:
            value = jsonio.loads(value) if value.strip() else None
        except jsonio.JsonError as error:
            raise findings.place.error(f"tools are text that is not JSON: {error}", at) from None
    if value is None:
        return ()
    if isinstance(value, dict):
        value = list(value.values()) if all(isinstance(item, dict) for item in value.values()) else [value]
    if not isinstance(value, list):
        raise findings.place.error("tools should be a list of functions", at)
    found: dict[str, ToolSpec] = {}
    for index, item in enumerate(value):
        spec = _read_tool(item, f"{at}[{index}]", findings)
        if spec is None:
            continue
        if spec.name in found:
            findings.note("repeated_tool", spec.name, f"{at}[{index}]")
            continue
        found[spec.name] = spec
    return tuple(found.values())


def _read_tool(item: Any, at: str, findings: Findings) -> ToolSpec | None:
    inner = item.get("function", item) if isinstance(item, dict) else None
    function: dict[str, Any] = inner if isinstance(inner, dict) else {}
    name = function.get("name")
    if not isinstance(name, str) or not name:
        findings.note("unreadable_tool", "no name", at)
        return None
    parameters = next((function[key] for key in ("parameters", "input_schema", "inputSchema") if key in function), None)
    if isinstance(parameters, str):
        try:
            parameters = jsonio.loads(parameters)
        except jsonio.JsonError:
            findings.note("tool_schema", f"{name}: parameters are text that is not JSON", at)
            parameters = None
    if parameters is not None and not isinstance(parameters, dict):
        findings.note("tool_schema", f"{name}: parameters are not an object", at)
        parameters = None
    description = function.get("description")
    schema, translated = normalise_schema(parameters or {})
    if translated:
        findings.note("tool_schema", f"{name}: {', '.join(sorted(translated))}", at)
    return ToolSpec(
        name=jsonio.clean(name), description=description if isinstance(description, str) else "", parameters=schema
    )


def normalise_schema(parameters: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Make parameters JSON Schema.

    Returns:
        The schema, and what had to be translated (empty when it was JSON Schema already).
    """
    translated: set[str] = set()
    if parameters and not _SCHEMA_WORDS & set(parameters) and all(isinstance(v, dict) for v in parameters.values()):
        translated.add("a map of parameters")
        parameters = {"type": "object", "properties": parameters}
    schema = _schema(parameters, translated)
    if "properties" in schema and "type" not in schema:
        schema["type"] = "object"
    return schema, translated


def _schema(value: Any, translated: set[str]) -> Any:
    if not isinstance(value, dict):
        return value
    schema: dict[str, Any] = {}
    for key, item in value.items():
        if key == "type":
            kind = _type(item, translated)
            if kind is not None:
                schema["type"] = kind
        elif key in _SCHEMA_MAPS and isinstance(item, dict):
            schema[key] = {name: _schema(child, translated) for name, child in item.items()}
        elif key in _SCHEMAS:
            schema[key] = _schema(item, translated)
        elif key in _SCHEMA_LISTS and isinstance(item, list):
            schema[key] = [_schema(child, translated) for child in item]
        else:
            schema[key] = item
    _lift_required(schema, translated)
    return schema


def _lift_required(schema: dict[str, Any], translated: set[str]) -> None:
    """Turn ``"required": true`` at a property into the list of its object."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    flags = {n: p for n, p in properties.items() if isinstance(p, dict) and isinstance(p.get("required"), bool)}
    if not flags:
        return
    translated.add("required flags")
    listed = schema.get("required")
    required = list(listed) if isinstance(listed, list) else []
    required += [name for name, child in flags.items() if child["required"] and name not in required]
    schema["properties"] = {
        name: {key: item for key, item in child.items() if key != "required"} if name in flags else child
        for name, child in properties.items()
    }
    if required:
        schema["required"] = required


def _type(value: Any, translated: set[str]) -> Any:
    if isinstance(value, list):
        kinds = [_type(item, translated) for item in value]
        return None if None in kinds else kinds
    if not isinstance(value, str) or value in _JSON_TYPES:
        return value
    plain = value.strip().lower()
    kind = plain if plain in _JSON_TYPES else _TYPES.get(plain.partition("[")[0])
    if kind is None and plain not in _ANY:
        return value
    translated.add(f"type {value}")
    return kind
