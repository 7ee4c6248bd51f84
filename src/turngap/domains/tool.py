"""The functions of a domain: tools, policy checks, assertions. Written with the decorators of `turngap.domains.api`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turngap import jsonio
from turngap.data import ToolCall, ToolSpec
from turngap.domains.blame import TIME_LIMIT, Blame, fault
from turngap.domains.limit import TimeUp, within
from turngap.domains.live import Done, Kind
from turngap.domains.signature import Signature, function_name
from turngap.domains.state import State
from turngap.errors import DataFault, DomainFault, UsageError

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder(order="deterministic", decimal_format="number")


class ToolError(Exception):
    """A tool says no: the text is the result that the agent reads."""


class Tool:
    """A function that somebody in the conversation can call. Calling the object calls the function."""

    def __init__(self, function: Callable[..., Any], kind: Kind) -> None:
        self.function = function
        self.kind: Kind = kind
        self.signature = Signature(function)
        self.name = self.signature.name
        self.spec: ToolSpec = self.signature.spec()
        self.is_async = inspect.iscoroutinefunction(function)
        if kind != "generic" and self.signature.state is None:
            raise UsageError(f"{self.name}: a {kind} tool needs the state as its first parameter")

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Call the function, as another tool of the domain may."""
        return self.function(*values, **named)

    def blame(self) -> Blame:
        """A block in which every error but `ToolError` is this tool's fault."""
        return Blame(f"tool {self.name}", self.function, let=(ToolError,))

    def place(self) -> str:
        """How messages call the tool: its name, file and line."""
        code = getattr(self.function, "__code__", None)
        return (
            f"tool {self.name} ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else f"tool {self.name}"
        )

    def start(self, state: State, arguments: dict[str, Any]) -> Any:
        """Call the function; of an asynchronous one this is a coroutine."""
        return self.function(state, **arguments) if self.signature.state is not None else self.function(**arguments)


class Check:
    """A rule of the policy that the tools do not enforce: ``(state, call) -> the rule it would break, or None``.

    With a third parameter it is told what the agent did before, and is asked only where that is known.
    """

    def __init__(self, function: Callable[..., str | None]) -> None:
        self.function = function
        self.name = function_name(function)
        _refuse_async(function)
        count = len(inspect.signature(function).parameters)
        if count not in (2, 3):
            raise UsageError(f"{self.name}: a check takes the state, the call and, if it likes, what was done before")
        self.looks_back = count == 3
        """Whether the rule depends on what was done before."""

    def breach(self, state: State, call: ToolCall, time_limit: float, before: Sequence[Done] | None) -> str | None:
        """The rule that the call would break in this state, or None.

        Raises:
            DomainFault: the check itself failed.
        """
        if self.looks_back and before is None:
            return None
        told = (state, call, tuple(before or ())) if self.looks_back else (state, call)
        found = _ask(f"check {self.name}", self.function, time_limit, lambda: self.function(*told))
        if found is not None and not isinstance(found, str):
            raise DomainFault(f"check {self.name} returned {found!r:.80}; it should return the broken rule, or None")
        return found


class Assertion:
    """Something that a task can want to hold at the end: ``(state, arguments...) -> bool``."""

    def __init__(self, function: Callable[..., bool]) -> None:
        self.function = function
        self.signature = Signature(function)
        self.name = self.signature.name
        _refuse_async(function)
        if self.signature.state is None:
            raise UsageError(f"{self.name}: an assertion needs the state as its first parameter")

    def holds(self, state: State, arguments: dict[str, Any], time_limit: float) -> bool:
        """Whether it holds.

        Raises:
            DataFault: the arguments do not fit. DomainFault: the assertion itself failed.
        """
        values = self.signature.read(arguments)
        if isinstance(values, str):
            raise DataFault(f"assertion {self.name}: {values}")
        named = values
        return bool(_ask(f"assertion {self.name}", self.function, time_limit, lambda: self.function(state, **named)))


def _refuse_async(function: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"{function_name(function)}: only tools may be async")


def _ask(what: str, function: Callable[..., Any], time_limit: float, asked: Callable[[], T]) -> T:
    try:
        with Blame(what, function):
            return within(time_limit, asked)
    except TimeUp:
        raise fault(f"{what} took longer than {time_limit:g} s", TIME_LIMIT) from None


def render(value: Any, tool: Tool) -> str:
    """A tool's return value as the agent reads it: text as it is, all else as JSON in a stable form.

    Members of sets and keys of dicts are sorted, fields of Records stand in their order, Decimals are numbers.

    Raises:
        DomainFault: the value has no JSON form; NaN and infinities have none.
    """
    if isinstance(value, str):
        return jsonio.clean(value)
    try:
        text = _ENCODER.encode(value)
        if b"NaN" in text or b"Infinity" in text:
            _refuse_odd_decimals(value)
        if b"null" in text:
            # The encoder writes a float that is no JSON number as null; the standard library's refuses it.
            json.dumps(msgspec.to_builtins(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "return text, JSON values or Records"
        raise DomainFault(f"{tool.place()} returned what has no JSON form ({what[:200]}); {remedy}") from error
    return text.decode()


def _refuse_odd_decimals(value: Any) -> None:
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"{value} is not a JSON number")
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            _refuse_odd_decimals(item)
