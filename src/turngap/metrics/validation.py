"""What is wrong with a call's arguments by the tool's schema, in words that may be shown to the model.

The text names the argument and what the schema asks for, so it gives nothing away that the model was not told before.
A schema with broken keywords, or references that lead nowhere, is used without them; one that cannot be used at all
refuses nothing. No reference is ever fetched over the network.

Schemas and arguments come from others, so no pair of them may hold a run up. Patterns run in an engine whose time is in
proportion to the text (RE2); one that it does not know, with look-ahead or back-references, refuses nothing. The number
of checks of one call is bounded: what was found up to there counts. `format` is never checked.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema
import re2  # type: ignore[import-untyped] # it comes without types
import referencing
from jsonschema.exceptions import ValidationError

from turngap import jsonio
from turngap.metrics.schema import TYPE_ALIASES, resolve


def _multiple_of(_: object, step: Any, value: Any, __: object) -> Iterator[ValidationError]:
    """Hold multiples exactly: 0.07 is a multiple of 0.01, which binary fractions deny."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.inf in (abs(value), step):
        return
    if (Fraction(repr(value)) / Fraction(repr(step))).denominator != 1:
        yield ValidationError(f"{value!r} is not a multiple of {step!r}")


def _pattern(_: object, pattern: str, value: Any, __: object) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _matches(pattern, value, unknown=True):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: dict[str, Any], value: Any, _: object) -> Iterator[ValidationError]:
    for pattern, schema in patterns.items() if isinstance(value, dict) else ():
        for name, item in value.items():
            if _matches(pattern, name, unknown=False):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rest: Any, value: Any, schema: dict[str, Any]) -> Iterator[ValidationError]:
    extras = _extras(value, schema) if isinstance(value, dict) else []
    if isinstance(rest, dict):
        for name in extras:
            yield from validator.descend(value[name], rest, path=name)
    elif not rest and extras:
        yield ValidationError(f"unknown: {', '.join(extras)}")


def _extras(value: dict[str, Any], schema: Any) -> list[str]:
    """The properties of a value that its schema does not know; those that an unreadable pattern may mean are known."""
    known = schema.get("properties", {}) if isinstance(schema, dict) else {}
    patterns = schema.get("patternProperties", {}) if isinstance(schema, dict) else {}
    return [
        name
        for name in value
        if name not in known and not any(_matches(pattern, name, unknown=True) for pattern in patterns)
    ]


def _unique_items(_: object, wanted: Any, value: Any, __: object) -> Iterator[ValidationError]:
    if wanted and isinstance(value, list) and len({jsonio.canonical(item) for item in value}) < len(value):
        yield ValidationError(f"{_shown(value)} has an element twice")


def _nothing(*_: object) -> tuple[()]:
    return ()


def _matches(pattern: str, text: str, *, unknown: bool) -> bool:
    """Whether a pattern is found in a text; `unknown` where it is none that the engine reads."""
    program = _compiled(pattern)
    return unknown if program is None else program.search(text) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any | None:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_CODE_POINT.sub(r"\1\\x{\2}", pattern), options)
    except re2.error:
        return None


_CODE_POINT = re.compile(r"((?<!\\)(?:\\\\)*)\\u([0-9A-Fa-f]{4})")
"""As JSON schemas spell a character in a pattern, and RE2 does not."""
_DIALECT = jsonschema.validators.extend(  # type: ignore[no-untyped-call] # its stubs leave it untyped
    jsonschema.Draft202012Validator,
    {
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        # The library evaluates these with patterns of its own and without a bound; tool schemas hardly have them.
        "unevaluatedProperties": _nothing,
        "unevaluatedItems": _nothing,
    },
)
_MOST_CHECKS = 100_000
"""Keywords that are held against values for one call: about a second, and more than any real call needs."""
_MOST_ERRORS = 1_000
"""Findings after which no more are looked for."""
_MOST_PROBLEMS = 3
_MAX_DEPTH = 40
"""Schemas and arguments nested deeper are not checked: the library recurses, and must not run out of stack."""
_MOST_SHOWN = 80
"""Characters of a value that a message repeats."""
_BASES = ("$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef")
"""Words that change what a reference means; tool schemas have no use for them, and every reference is read as local."""
_ARTICLES = {"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}


class _Enough(Exception):
    """The checks of one call are used up."""


class Validator:
    """Checks arguments against one schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        usable = None if _depth(schema) > _MAX_DEPTH else _without_broken_keywords(_in_standard_words(schema, schema))
        if not isinstance(usable, dict) or _goes_in_circles(usable):
            usable = {}
        self._left = 0
        rules = {word: self._counted(check) for word, check in _DIALECT.VALIDATORS.items()}
        dialect = jsonschema.validators.extend(_DIALECT, rules)  # type: ignore[no-untyped-call] # as above
        self._validator = dialect(usable, registry=referencing.Registry())

    def _counted(self, check: Callable[..., Any]) -> Callable[..., Iterable[ValidationError]]:
        def counted(*arguments: Any) -> Iterable[ValidationError]:
            self._left -= 1
            if self._left < 0:
                raise _Enough
            return check(*arguments) or ()

        return counted

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """Say what the schema refuses, the first few findings joined by semicolons; None when it refuses nothing."""
        if _depth(arguments) > _MAX_DEPTH:
            return None
        self._left = _MOST_CHECKS
        errors: list[ValidationError] = []
        try:
            errors.extend(islice(self._validator.iter_errors(arguments), _MOST_ERRORS))
        except (RecursionError, OverflowError):
            return None  # a number beyond floats refuses nothing
        except _Enough:
            pass
        if not errors:
            return None
        told = list(dict.fromkeys(_words(error) for error in sorted(errors, key=_rank)))
        whole = self._left >= 0 and len(errors) < _MOST_ERRORS
        more = f"; and {len(told) - _MOST_PROBLEMS if whole else 'many'} more" if len(told) > _MOST_PROBLEMS else ""
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
        names = [f"'{place}.{name}'" if place else f"'{name}'" for name in _extras(found, error.schema)]
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


def _in_standard_words(node: Any, root: Any) -> Any:
    """A copy in which types bear their standard names, ``nullable`` is a type, and every reference can be followed."""
    if isinstance(node, list):
        return [_in_standard_words(item, root) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {
        word: item if word in ("const", "default", "enum", "examples") else _in_standard_words(item, root)
        for word, item in node.items()
        if not (isinstance(item, str) and (word in _BASES or (word == "$ref" and _leads_nowhere(item, root))))
    }
    declared = plain.get("type")
    if isinstance(declared, str):
        declared = plain["type"] = TYPE_ALIASES.get(declared.lower(), declared.lower())
        if plain.get("nullable") is True:
            plain["type"] = [declared, "null"]
    elif isinstance(declared, list) and all(isinstance(name, str) for name in declared):
        plain["type"] = list(dict.fromkeys(TYPE_ALIASES.get(name.lower(), name.lower()) for name in declared))
    return plain


def _leads_nowhere(reference: str, root: Any) -> bool:
    return not isinstance(resolve(reference, root), (dict, bool))


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


def _goes_in_circles(root: dict[str, Any]) -> bool:
    """Whether some schema applies itself to the very same value, on which a validator would never end."""
    return any(_reaches(target, id(target), root, set()) for target in _targets(root, root))


def _targets(node: Any, root: Any) -> Iterator[Any]:
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield resolve(node["$ref"], root)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _targets(child, root)


def _reaches(node: Any, goal: int, root: Any, seen: set[int]) -> bool:
    """Whether keywords that apply to the same value lead from `node` to the schema `goal`."""
    if not isinstance(node, dict) or id(node) in seen:
        return False
    seen.add(id(node))
    following = [resolve(node["$ref"], root)] if isinstance(node.get("$ref"), str) else []
    for word in ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"):
        value = node.get(word)
        following += value if isinstance(value, list) else [value]
        following += value.values() if word == "dependentSchemas" and isinstance(value, dict) else ()
    return any(id(other) == goal or _reaches(other, goal, root, seen) for other in following)


def _depth(value: Any) -> int:
    """Levels of objects and arrays in a value, counted up to just past the limit."""
    depth, level = 0, [value]
    while level and depth <= _MAX_DEPTH:
        parents = [item for item in level if isinstance(item, (dict, list))]
        level = [child for item in parents for child in (item.values() if isinstance(item, dict) else item)]
        depth += 1
    return depth
