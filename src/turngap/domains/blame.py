"""The one place where a failure of a domain's own code becomes an error that names function, file and line.

Whatever leaves such code is its failure, also what usually means a wish to stop: nobody can wish that from inside it.
Only a real interrupt passes. Where Python's own handler answers Ctrl-C, every `KeyboardInterrupt` counts as one; where
somebody else's does, only `Interrupted`.
"""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from turngap.domains.limit import TimeUp
from turngap.errors import DomainFault, Interrupted, TurngapError, UnitError

UNKNOWN_OUTCOME = "unknown_outcome"
"""`DomainFault.kind` after a write that ran out of time: whether it happened, nobody knows."""
TIME_LIMIT = "time_limit"
"""`DomainFault.kind` after any other function of a domain that ran out of time."""


def fault(text: str, kind: str = "") -> DomainFault:
    """A `DomainFault`, with a kind where there is one."""
    error = DomainFault(text)
    if kind:
        error.kind = kind
    return error


def _words(error: BaseException) -> str:
    """What an error of other people's code says, on one line."""
    text = "its text cannot be made"
    with contextlib.suppress(BaseException):
        text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class Blame:
    """A block of plain code (nothing is awaited in it) in which every error is the domain's, except those that pass.

    Passing: errors that turngap raised on purpose, as far as they fit what an error becomes; those of `let`; the time
    limit; and a real interrupt.
    """

    def __init__(
        self,
        what: str,
        function: Callable[..., Any] | None = None,
        *,
        file: str | None = None,
        let: tuple[type[Exception], ...] = (),
        raises: type[TurngapError] = DomainFault,
    ) -> None:
        """Say what is run.

        Args:
            what: for the message, such as ``tool move_booking``.
            function: the author's function; the line is looked for in its file.
            file: that file, where there is no function. Without either the line is the last one.
            let: errors that have a meaning for the caller.
            raises: what an error becomes.
        """
        code = getattr(function, "__code__", None)
        self._what = what
        self._file = code.co_filename if code is not None else file
        # An error that ends a run cannot come from the code of one trial.
        ours = (DomainFault, raises) if issubclass(raises, UnitError) else (TurngapError,)
        self._let: tuple[type[BaseException], ...] = (*ours, *let, TimeUp, Interrupted)
        self._raises = raises

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, self._let) or _may_be_a_wish(error):
            return
        raise self._raises(f"{self._what} failed{self._where(error, trace)}: {_words(error)}"[:1000]) from error

    def _where(self, error: BaseException, trace: TracebackType | None) -> str:
        if isinstance(error, SyntaxError) and error.filename:
            return f" at {Path(error.filename).name}:{error.lineno}"
        frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith("<frozen ")]
        inside = [frame for frame in frames if frame.filename == self._file]
        frame = (inside or frames)[-1] if frames else None
        return f" at {Path(frame.filename).name}:{frame.lineno}" if frame else ""


def _may_be_a_wish(error: BaseException) -> bool:
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler
