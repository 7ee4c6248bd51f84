"""From a call as it stands on the wire to a `ToolCall`: one reading of arguments for recordings, servers and dialects.

JSON is tried first and wins untouched. Tolerated, and noted on the call: a whole body encoded twice, a Python literal,
no arguments at all for a tool that requires none. Everything else is malformed: the call stays, with its text.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from typing import Any

from turngap import jsonio
from turngap.data.message import ToolCall, ToolSpec

LONGEST_LITERAL = 100_000
"""Characters of arguments that are tried as a Python literal: reading one takes ten seconds for each megabyte."""


def parse_call(name: str, arguments: Any, spec: ToolSpec | None = None, *, notes: tuple[str, ...] = ()) -> ToolCall:
    """Read one call.

    Args:
        name: the function name as emitted.
        arguments: a JSON string, an object, or None when null or absent.
        spec: the tool of that name, when known; says whether empty arguments are complete.
        notes: tolerances already noted by the caller.

    Returns:
        A call whose `arguments` are None, with `error` and `raw` set, when no object could be read. Never raises.
    """
    name = jsonio.clean(name)
    if isinstance(arguments, str):
        return _from_text(name, arguments, spec, notes)
    if arguments is None:
        return _empty(name, "null", spec, notes)
    if isinstance(arguments, dict):
        return _from_object(name, arguments, notes)
    return _malformed(name, jsonio.dumps(arguments), f"arguments are {_kind(arguments)}, not an object", notes)


def leaves(value: Any, slot: str = "") -> Iterator[tuple[str, Any]]:
    """The values in arguments that hold no others, each with the name of the argument or key that it stands under."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, slot)
    else:
        yield slot, value


def _from_object(name: str, arguments: dict[str, Any], notes: tuple[str, ...]) -> ToolCall:
    # A round trip through strict JSON refuses NaN and scrubs what cannot be stored.
    try:
        plain = jsonio.loads(json.dumps(arguments, ensure_ascii=True))
    except (jsonio.JsonError, TypeError, ValueError, RecursionError) as error:
        return _malformed(name, _shown(arguments), str(error), notes)
    return ToolCall(name=name, arguments=plain, notes=notes)


def _shown(value: object) -> str:
    try:
        return repr(value)[:2000]
    except RecursionError:
        return "(nested too deeply to be shown)"


def _from_text(name: str, text: str, spec: ToolSpec | None, notes: tuple[str, ...]) -> ToolCall:
    text = jsonio.clean(text)
    if not text.strip():
        return _empty(name, text, spec, notes)
    try:
        value = jsonio.loads(text)
    except jsonio.JsonError as error:
        literal = _python_literal(text)
        if literal is None:
            return _malformed(name, text, str(error), notes)
        return ToolCall(name=name, arguments=literal, raw=text, notes=(*notes, "python_literal"))
    if value is None:
        return _empty(name, text, spec, notes)
    if isinstance(value, str):
        try:
            inner = jsonio.loads(value)
        except jsonio.JsonError:
            inner = None
        if isinstance(inner, dict):
            return ToolCall(name=name, arguments=inner, raw=text, notes=(*notes, "double_encoded"))
    if not isinstance(value, dict):
        return _malformed(name, text, f"arguments are {_kind(value)}, not an object", notes)
    return ToolCall(name=name, arguments=value, notes=notes)


def _python_literal(text: str) -> dict[str, Any] | None:
    if len(text) > LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text.strip(), mode="eval")
            value = ast.literal_eval(tree)
        plain = jsonio.loads(json.dumps(value)) if isinstance(value, dict) else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(plain, dict) or not all(map(_honest_keys, ast.walk(tree))):
        return None
    return plain


def _honest_keys(node: ast.AST) -> bool:
    """Whether a node is no dictionary, or one whose keys are distinct strings."""
    if not isinstance(node, ast.Dict):
        return True
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return len(set(keys)) == len(node.keys)


def _empty(name: str, text: str, spec: ToolSpec | None, notes: tuple[str, ...]) -> ToolCall:
    if spec is not None and spec.parameters.get("required"):
        return _malformed(name, text, "arguments are empty, but the tool requires some", notes)
    return ToolCall(name=name, arguments={}, raw=text, notes=(*notes, "empty_arguments"))


def _malformed(name: str, text: str, error: str, notes: tuple[str, ...]) -> ToolCall:
    return ToolCall(name=name, arguments=None, raw=jsonio.clean(text), error=jsonio.clean(error), notes=notes)


def _kind(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "something else")
