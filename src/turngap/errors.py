"""Every error turngap raises on purpose, and the boundary each one stands for.

::

    TurngapError                     one line for the person; exit code in `exit_code`
    ├── UsageError                   the command or an option makes no sense                 (exit 2)
    ├── DataError                    a file cannot be read: where, what is wrong, what to do (exit 2)
    │   └── BadRecords               several records of a data set: one line each            (exit 2)
    ├── ConfigError                  settings that contradict each other or a stored run     (exit 2)
    ├── MissingExtra                 an optional package is not installed                    (exit 2)
    ├── StoreError                   the run directory cannot be used                        (exit 2)
    └── UnitError                    one unit of work could not be measured; becomes a record
        ├── EndpointError            the model's server failed: time-out, 5xx, unreadable answer
        ├── ContextOverflow          the prompt does not fit; the protocol decides whose fault it is
        ├── JudgeError               no verdict could be had
        ├── DataFault                the recording makes this unit unmeasurable
        ├── DomainFault              a tool, check or state of a live domain crashed: its author's fault
        ├── UserFault                the simulated user failed: silent, out of its role, or its server failed
        └── HarnessFault             turngap itself failed (an internal error, kept with its text)

`TurngapError` subclasses are what a command prints as one line. A `UnitError` never ends a run: the one capture point
(`turngap.engines.capture`) turns it into a stored `Failure` and the unit counts as errored, never as a
model failure. Model mistakes are not errors at all: they are predictions that score zero.

All classes pickle, so that a remote worker can raise them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TurngapError(Exception):
    """An error meant for the person at the terminal: `str(error)` is one line that says what to do."""

    exit_code = 2


class UsageError(TurngapError):
    """A command, option or name that makes no sense; the message lists what would."""


class DataError(TurngapError):
    """Input that cannot be read.

    `file`, `line` (1-based; None when the format has no lines) and `field` (a path such as ``messages[3].role``)
    say where; `problem` says what is wrong and what to do.
    """

    def __init__(self, problem: str, *, file: str = "", line: int | None = None, field: str = "") -> None:
        self.problem, self.file, self.line, self.field = problem, file, line, field
        where = f"{file}:{line}" if file and line is not None else file
        super().__init__(": ".join(" ".join(part.split()) for part in (where, field, problem) if part))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_data_error, (type(self), self.problem, self.file, self.line, self.field)


def _rebuild_data_error(cls: type[DataError], problem: str, file: str, line: int | None, field: str) -> DataError:
    return cls(problem, file=file, line=line, field=field)


class BadRecords(DataError):
    """Records of a data set that cannot be read: `problem`, and so the text, has one line for each.

    `file`, `line` and `field` are those of the first one.
    """

    def __init__(self, problem: str, *, file: str = "", line: int | None = None, field: str = "") -> None:
        super().__init__(problem, file=file, line=line, field=field)
        self.args = (problem,)

    @classmethod
    def of(cls, errors: Sequence[DataError], count: int) -> BadRecords:
        """The error for `count` bad records, of which `errors` are the first (at least one)."""
        more = [f"... and {count - len(errors)} more"] if count > len(errors) else []
        if count == 1:
            text = f"{errors[0]} (--skip-bad goes on without it)"
        else:
            text = "\n".join([*map(str, errors), *more, f"{count} records cannot be read; --skip-bad goes on without"])
        first = errors[0]
        return cls(text, file=first.file, line=first.line, field=first.field)


class ConfigError(TurngapError):
    """Settings that contradict each other, or a stored run that was made with others."""


class MissingExtra(TurngapError):
    """An optional package is missing; the message holds the exact command that installs it."""


class StoreError(TurngapError):
    """A run directory that is locked, damaged, full or not a run."""


class UnitError(TurngapError):
    """One unit could not be measured. Kept as a record, shown as errored, left out of the denominators.

    `kind` is a named reason where the class alone does not say it (``context_truncated_by_server``), and absent
    otherwise; `attempts` counts the requests that were made. Both are set on the instance and survive pickling.
    """

    exit_code = 1
    kind: str
    attempts: int = 1


class EndpointError(UnitError):
    """The model's server failed after all retries (time-out, refused connection, 429, 5xx, unreadable answer)."""


class ContextOverflow(UnitError):
    """The prompt does not fit the model's context; whether that is the model's own doing, the protocol decides."""


class JudgeError(UnitError):
    """A judge gave no usable verdict, also after it was asked again."""


class DataFault(UnitError):
    """The recording itself makes this unit unmeasurable (for example, gold history longer than the context)."""


class DomainFault(UnitError):
    """A live domain's own code failed (a tool raised, hung, or left a state that cannot be stored): not the agent's."""


class UserFault(UnitError):
    """The simulated user failed, so that the trial says nothing about the agent. `kind` names how: ``empty_user``."""


class HarnessFault(UnitError):
    """An internal error of turngap while it worked on one unit. Always worth a bug report."""
