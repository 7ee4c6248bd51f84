"""From a tool's signature and docstring to what the agent is told, and from its arguments back to typed values.

Types are msgspec's: JSON scalars, ``Literal`` and enums, ``Decimal``, dates, optional values, lists, sets, dicts and
Records of these. Descriptions come from the docstring: its text before the sections is the tool's, its ``Args:``
section that of the parameters.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from turngap.data import ToolSpec
from turngap.domains.frozen import thaw
from turngap.domains.state import State
from turngap.errors import UsageError

_ADMITTED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Example|Examples|Note|Notes|Attributes):\s*$")
_VALUES = ("default", "enum", "const", "examples")
"""Words of a schema that hold values, not schemas."""
_ENTRY = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


class Signature:
    """What a function of a domain takes.

    Raises:
        UsageError: a parameter has no type hint or one that JSON cannot hold; the text names function and parameter.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function_name(function)
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError as error:
            raise UsageError(f"{self.name}: a type hint cannot be resolved: {error}") from None
        parameters = list(inspect.signature(function).parameters.values())
        self.state: type[State] | None = None
        """The state type that the function asks for as its first parameter; None when it needs none."""
        self._state_name = ""
        if parameters and _is_state(hints.get(parameters[0].name)):
            self._state_name = parameters.pop(0).name
            self.state = hints[self._state_name]
        fields: list[Any] = []
        for one in parameters:
            if one.kind not in _ADMITTED:
                raise UsageError(f"{self.name}: parameter {one.name!r} should be an ordinary one, not * or /")
            if one.name not in hints:
                raise UsageError(f"{self.name}: parameter {one.name!r} needs a type hint")
            if _is_state(hints[one.name]):
                raise UsageError(f"{self.name}: the state should be the first parameter, not {one.name!r}")
            fields.append((one.name, hints[one.name], *_default(one)))
        self._arguments = msgspec.defstruct(self.name, fields, kw_only=True, forbid_unknown_fields=True)
        try:
            self.schema = _schema(self._arguments)
        except TypeError as error:
            raise UsageError(f"{self.name}: a parameter has a type that JSON cannot hold: {error}") from None
        self.description, told = _read_docstring(inspect.getdoc(function) or "")
        told.pop(self._state_name, None)
        stray = [name for name in told if name not in self.schema["properties"]]
        if stray:
            raise UsageError(f"{self.name}: the docstring describes {stray[0]!r}, which is no parameter")
        for name, text in told.items():
            self.schema["properties"][name] = {**self.schema["properties"][name], "description": text}

    def spec(self) -> ToolSpec:
        """What the agent is told."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.schema)

    def read(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        """Typed values for the function's parameters, or what is wrong with the arguments, in words for the caller.

        The values share nothing with `arguments`, which a task or a recording may hold for others too.
        """
        arguments = thaw(arguments)
        try:
            return self._convert(arguments)
        except msgspec.ValidationError as error:
            problem: str | None = self._validator.problem(arguments)
            if problem is not None:
                return problem
            refused = str(error)
        # By the schema 2.0 is an integer; msgspec wants it spelled 2.
        try:
            return self._convert(_whole_numbers(arguments))
        except msgspec.ValidationError:
            return refused.replace("$.", "").replace("`", "'")

    def _convert(self, arguments: dict[str, Any]) -> dict[str, Any]:
        typed = msgspec.convert(arguments, self._arguments)
        return {name: getattr(typed, name) for name in self._arguments.__struct_fields__}

    @cached_property
    def _validator(self) -> Any:
        # Loaded when the first bad call comes: the schema library is heavy, and only its words are needed.
        from turngap.metrics.validation import Validator  # noqa: PLC0415

        return Validator(self.schema)


def function_name(function: Callable[..., Any]) -> str:
    """What a function is called.

    Raises:
        UsageError: it is something else.
    """
    if not inspect.isfunction(function):
        raise UsageError(f"{function!r:.80} is no function; decorate one made with def")
    return function.__name__


def _is_state(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, State)


def _default(parameter: inspect.Parameter) -> tuple[Any, ...]:
    if parameter.default is inspect.Parameter.empty:
        return ()
    value = parameter.default
    if isinstance(value, (list, dict, set)) and value:
        # msgspec refuses a default that calls could change in each other's hands.
        return (msgspec.field(default_factory=lambda: type(value)(value)),)
    return (value,)


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    (top,), parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    name = top["$ref"].rpartition("/")[2]
    root = parts.pop(name)
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": [], **_inlined(root, parts, ())}
    schema.pop("title", None)
    used = {part: _inlined(body, parts, (part,)) for part, body in parts.items() if _mentions(schema, part)}
    return {**schema, "$defs": used} if used else schema


def _inlined(node: Any, parts: dict[str, Any], above: tuple[str, ...]) -> Any:
    """Put definitions in the place of references, since many a server knows no references; recursive ones stay."""
    if isinstance(node, list):
        return [_inlined(item, parts, above) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        part = node["$ref"].rpartition("/")[2]
        rest = {word: value for word, value in node.items() if word != "$ref"}
        return node if part in above else {**_inlined(parts[part], parts, (*above, part)), **rest}
    plain = {}
    for word, value in node.items():
        if word == "properties":
            plain[word] = {name: _inlined(item, parts, above) for name, item in value.items()}
        elif word != "title":
            plain[word] = value if word in _VALUES else _inlined(value, parts, above)
    return _in_plain_words(plain)


def _in_plain_words(node: dict[str, Any]) -> dict[str, Any]:
    """Decimals are numbers to the agent; choices of text have a type, which not every server infers."""
    if node.get("type") == "string" and node.get("format") == "decimal":
        rest = {word: item for word, item in node.items() if word not in ("type", "format")}
        return {"type": "number", **rest}
    if "enum" in node and "type" not in node and all(isinstance(choice, str) for choice in node["enum"]):
        return {"type": "string", **node}
    return node


def _mentions(node: Any, part: str) -> bool:
    if isinstance(node, dict):
        return node.get("$ref") == f"#/$defs/{part}" or any(_mentions(item, part) for item in node.values())
    return isinstance(node, list) and any(_mentions(item, part) for item in node)


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the entries of the ``Args`` section."""
    head: list[str] = []
    told: dict[str, str] = {}
    section, entry, indent = "", "", 0
    for line in text.splitlines():
        named = _SECTION.match(line)
        if named:
            section, entry = named[1], ""
        elif not section:
            head.append(line)
        elif section in ("Args", "Arguments") and line.strip():
            found = _ENTRY.match(line.strip())
            depth = len(line) - len(line.lstrip())
            if found and (not entry or depth <= indent):
                entry, indent = found[1], depth
                told[entry] = found[2]
            elif entry:
                told[entry] = f"{told[entry]} {line.strip()}".strip()
    return "\n".join(head).strip(), told


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return value
