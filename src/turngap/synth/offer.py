"""What the result of a call offers to later calls: every value in it, with its place and its kind.

Values of one kind stand at the same place but for the index or the key: ``items[0].item_id`` and ``items[1].item_id``.
Keys of an object count as values where the object is a map of records (``variants``, ``payment_methods``) and not a
record with fields. A value that the call itself was given is an echo and offers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from turngap import jsonio
from turngap.data import ToolCall

_FIELD = re.compile(r"[a-z_][a-z_]*\d?")
_PLAIN = re.compile(r"[^.\[\]]+")
_PART = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|([^.\[\]]+)')


class Offer(NamedTuple):
    """One value that a result holds."""

    path: str
    """Where, such as ``items[0].item_id`` or ``variants["1008"].price``; empty for the whole result."""
    kind: str
    """The path without indices and keys, such as ``items[*].item_id``."""
    name: str
    """The field's name; of a key, the name of the map."""
    value: Any
    holder: str
    """Path of the object that holds it as a field; empty for the result itself."""
    is_key: bool
    """The value is a key of a map."""


def parsed(result: str) -> Any:
    """A result as JSON values; as the text that it is where it is no JSON."""
    try:
        value = jsonio.loads(result)
    except jsonio.JsonError:
        return result
    if isinstance(value, (dict, list)):
        return value
    return value if not isinstance(value, str) and jsonio.dumps(value) == result else result


@lru_cache(maxsize=1024)
def offers(result: str) -> tuple[Offer, ...]:
    """Every value of a result, in its order."""
    return tuple(_walk(parsed(result), "", "", "", ""))


def leaves(arguments: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """Every leaf of a call's arguments with its path; an empty list or object is a leaf."""
    for name, value in (arguments or {}).items():
        yield from _leaves(value, _dotted("", name))


def given(call: ToolCall) -> set[str]:
    """All values that a call was given, as `token` writes them."""
    return {token(value) for _, value in leaves(call.arguments)}


def token(value: Any) -> str:
    """A text that is equal for values that mean the same: 5 and 5.0, but not true and 1, and not 5 and "five"."""
    if isinstance(value, bool) or value is None:
        return jsonio.dumps(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, (str, int, float)) else jsonio.canonical(value)


@lru_cache(maxsize=65536)
def parts(path: str) -> tuple[str | int, ...]:
    """A path taken apart: names of fields and keys as text, indices as numbers."""
    found: list[str | int] = []
    for match in _PART.finditer(path):
        key, index, field = match.groups()
        found.append(jsonio.loads(key) if key else int(index) if index else field)
    return tuple(found)


def at(result: str, path: str) -> Any:
    """The value at a path of a result.

    Raises:
        KeyError: there is nothing there.
    """
    value = parsed(result)
    for part in parts(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            raise KeyError(f"{path!r} is not in the result") from None
    return value


def placed(values: Any, path: str, value: Any) -> Any:
    """A copy of nested values with another one at a path, which has to be there."""
    return _placed(values, parts(path), value)


def is_map(value: dict[str, Any]) -> bool:
    """Whether an object's keys are data, as ids or names of records are, and not the names of its fields."""
    if not value:
        return False
    if not any(_FIELD.fullmatch(key) for key in value):
        return True
    records = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
    if len(records) < len(value):
        return False
    names_itself = all(key in inner.values() for key, inner in records.items())
    return names_itself or (len(records) > 1 and len({frozenset(inner) for inner in records.values()}) == 1)


def _walk(value: Any, path: str, kind: str, name: str, holder: str) -> Iterator[Offer]:
    if isinstance(value, dict):
        as_map = is_map(value)
        for key, inner in value.items():
            if as_map:
                quoted = f"{path}[{jsonio.dumps(key)}]"
                yield Offer(quoted, f"{kind}[*]", name, key, path, is_key=True)
                yield from _walk(inner, quoted, f"{kind}[*]", name, path)
            else:
                dotted = _dotted(path, key)
                yield from _walk(inner, dotted, _dotted(kind, key), key, path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}[{index}]", f"{kind}[*]", name, holder)
    else:
        yield Offer(path, kind, name, value, holder, is_key=False)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, _dotted(path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def _placed(values: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    copy = values.copy()
    copy[path[0]] = _placed(copy[path[0]], path[1:], value)
    return copy


def _dotted(path: str, key: str) -> str:
    if _PLAIN.fullmatch(key) is None:
        return f"{path}[{jsonio.dumps(key)}]"
    return f"{path}.{key}" if path else key
