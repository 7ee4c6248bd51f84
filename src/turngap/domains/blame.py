"""The one place where a failure of a domain's own code becomes an error that names function, file and line."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from turngap.errors import DomainFault, TurngapError

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


class Blame:
    """A block in which every error is the domain's, except those that pass.

    Passing: errors that turngap raised on purpose, those of `let`, and what asks the process or the task to stop.
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
        self._let: tuple[type[Exception], ...] = (TurngapError, *let)
        self._raises = raises

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, (Exception, SystemExit)) or isinstance(error, self._let):
            return
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise self._raises(f"{self._what} failed{self._where(trace)}: {text}"[:1000]) from error

    def _where(self, trace: TracebackType | None) -> str:
        frames = traceback.extract_tb(trace)
        inside = [frame for frame in frames if frame.filename == self._file]
        frame = (inside or frames)[-1] if frames else None
        return f" at {Path(frame.filename).name}:{frame.lineno}" if frame else ""
