"""Whose fault an error is, and how it is told."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from turngap.domains.blame import Blame
from turngap.domains.limit import TimeUp
from turngap.errors import ConfigError, DataFault, DomainFault, EndpointError, Interrupted, UsageError


class _Boom(BaseException):
    """What nobody expects."""


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def _raising(error: BaseException) -> Any:
    raise error


@pytest.fixture
def handled() -> Iterator[None]:
    """Somebody else than Python's own handler answers Ctrl-C, as in every command."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handled")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\nlines"), "ValueError: two lines"),
        (_Boom("x\ny"), "_Boom: x y"),
        (GeneratorExit(), ": GeneratorExit"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), ": CancelledError"),
        (KeyboardInterrupt(), ": KeyboardInterrupt"),
        (_Mute(), "_Mute: its text cannot be made"),
        (ConfigError("mine"), "ConfigError: mine"),
        (EndpointError("mine"), "EndpointError: mine"),
    ],
)
def test_whatever_leaves_the_code_is_its_fault(error: BaseException, text: str) -> None:
    """One line with place and text; also for what would end the process, the task or the run."""
    with pytest.raises(DomainFault) as caught, Blame("tool x", _raising):
        _raising(error)
    assert str(caught.value).startswith("tool x failed at test_blame.py:")
    assert str(caught.value).endswith(text)


@pytest.mark.usefixtures("handled")
@pytest.mark.parametrize("error", [Interrupted(), TimeUp(), DomainFault("known"), KeyError("let")])
def test_what_passes(error: BaseException) -> None:
    """A real interrupt, the time limit, a fault that has its words already, and what the caller lets through."""
    with pytest.raises(type(error)) as caught, Blame("tool x", _raising, let=(KeyError,)):
        _raising(error)
    assert caught.value is error


def test_ctrl_c_passes_where_python_answers_it() -> None:
    """With Python's own handler nobody can tell a person's Ctrl-C from the code's."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), Blame("tool x", _raising):
            _raising(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)


def _compiled() -> Any:
    return compile("a = 1\nb = (\n", "/somewhere/desk.py", "exec")


@pytest.mark.parametrize(
    ("function", "raises", "text"),
    [
        (_compiled, UsageError, "domain failed at desk.py:2: SyntaxError: '(' was never closed"),
        (lambda: _raising(UsageError("whole")), UsageError, "whole"),
        (lambda: _raising(DataFault("whole")), DataFault, "whole"),
    ],
)
def test_what_an_error_becomes(function: Callable[[], Any], raises: type[Any], text: str) -> None:
    """A syntax error is placed where it is; an error of the wanted kind stays what it is."""
    with pytest.raises(raises) as caught, Blame("domain", raises=raises):
        function()
    assert str(caught.value) == text
