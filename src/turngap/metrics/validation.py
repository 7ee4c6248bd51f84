"""What is wrong with a call's arguments by the tool's schema, in words that may be shown to the model.

The text names the argument and what the schema asks for, so it gives nothing away that the model was not told before.
A schema with broken keywords is used without them; one that cannot be used at all refuses nothing. No reference is ever
fetched over the network.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import jsonschema
import referencing
from jsonschema.exceptions import ValidationError
from referencing.exceptions import Unresolvable

from turngap import jsonio
from turngap.metrics.schema import TYPE_ALIASES

_DIALECT = jsonschema.Draft202012Validator
_MOST_PROBLEMS = 3
_MOST_SHOWN = 80
"""Characters of a value that a message repeats."""
_ARTICLES = {"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}


class Validator:
    """Checks arguments against one schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        usable = _without_broken_keywords(_with_standard_types(schema))
        self._validator = _DIALECT(usable, registry=referencing.Registry()) if isinstance(usable, dict) else None

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """Say what the schema refuses, the first few findings joined by semicolons; None when it refuses nothing."""
        if self._validator is None:
            return None
        try:
            errors = sorted(self._validator.iter_errors(arguments), key=_rank)
        except (Unresolvable, RecursionError, re.error):
            return None  # a schema that leads nowhere, or round in circles, refuses nothing
        if not errors:
            return None
        told = list(dict.fromkeys(_words(error) for error in errors))
        more = f"; and {len(told) - _MOST_PROBLEMS} more" if len(told) > _MOST_PROBLEMS else ""
        return "; ".join(told[:_MOST_PROBLEMS]) + more


def _rank(error: ValidationError) -> tuple[int, str]:
    """What is missing first, for it explains most; then by place."""
    return (error.validator != "required", _place(error))


def _words(error: ValidationError) -> str:
    place = _place(error)
    subject = f"argument '{place}'" if place else "the arguments"
    rule, found = error.validator, error.instance
    wanted: Any = error.validator_value
    if rule == "required" and isinstance(found, dict):
        names = [f"'{place}.{name}'" if place else f"'{name}'" for name in wanted if name not in found]
        return f"missing required argument{'s' * (len(names) > 1)} {', '.join(names)}"
    if rule == "additionalProperties" and wanted is False and isinstance(found, dict):
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        names = [f"'{place}.{name}'" if place else f"'{name}'" for name in found if name not in known]
        return f"unknown argument{'s' * (len(names) > 1)} {', '.join(names)}"
    if rule == "type":
        kinds = wanted if isinstance(wanted, list) else [wanted]
        asked = " or ".join(_ARTICLES.get(kind, f"a {kind}") for kind in kinds)
        return f"{subject} should be {asked}, not {_shown(found)}"
    if rule == "enum":
        return f"{subject} should be one of {', '.join(map(_shown, wanted))}, not {_shown(found)}"
    if rule in ("anyOf", "oneOf"):
        return f"{subject} fits none of the forms that the schema allows: {_shown(found)}"
    return f"{subject}: {_cut(error.message)}"


def _place(error: ValidationError) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    return "".join(steps).removeprefix(".")


def _shown(value: Any) -> str:
    return _cut(jsonio.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _with_standard_types(node: Any) -> Any:
    """A copy in which types bear their standard names and ``nullable`` is spelled as a type."""
    if isinstance(node, list):
        return [_with_standard_types(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {
        word: item if word in ("const", "default", "enum", "examples") else _with_standard_types(item)
        for word, item in node.items()
    }
    declared = plain.get("type")
    if isinstance(declared, str):
        declared = plain["type"] = TYPE_ALIASES.get(declared.lower(), declared.lower())
        if plain.get("nullable") is True:
            plain["type"] = [declared, "null"]
    elif isinstance(declared, list) and all(isinstance(name, str) for name in declared):
        plain["type"] = list(dict.fromkeys(TYPE_ALIASES.get(name.lower(), name.lower()) for name in declared))
    return plain


def _without_broken_keywords(schema: Any) -> Any:
    """Drop each keyword that is no valid JSON schema; None when nothing usable is left."""
    usable = copy.deepcopy(schema)
    check = _DIALECT(_DIALECT.META_SCHEMA)
    for _ in range(100):  # every round drops at least one keyword
        error = next(iter(check.iter_errors(usable)), None)
        if error is None:
            return usable
        *above, last = error.absolute_path or [None]
        if last is None:
            return None
        node = usable
        for step in above:
            node = node[step]
        del node[last]
    return None
