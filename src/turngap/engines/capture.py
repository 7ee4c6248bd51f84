"""The one place where a failed unit becomes a record.

Errors that concern the whole run (`TurngapError` other than `UnitError`: wrong settings, a full disk) pass through and
stop it; everything else that goes wrong inside one unit is a `Failure` of that unit.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable
from typing import TypeVar

from turngap.data import Cause, Failure
from turngap.errors import (
    ContextOverflow,
    DataFault,
    DomainFault,
    EndpointError,
    JudgeError,
    TurngapError,
    UnitError,
    UserFault,
)

T = TypeVar("T")

_CAUSES: tuple[tuple[type[UnitError], Cause], ...] = (
    (EndpointError, Cause.ENDPOINT),
    (JudgeError, Cause.JUDGE),
    (DataFault, Cause.DATA),
    (DomainFault, Cause.DOMAIN),
    (UserFault, Cause.USER),
    # Gold history is the recording's: when it does not fit, no model is to blame (the closed loop decides for itself).
    (ContextOverflow, Cause.DATA),
)


async def capture(work: Awaitable[T], *, judging: bool = False) -> T | Failure:
    """Await one unit's work; what went wrong inside it comes back as a `Failure`.

    Args:
        work: the unit.
        judging: whether a judge is at work, so that a failed endpoint is the judge's.
    """
    try:
        return await work
    except UnitError as error:
        cause = next((cause for kind, cause in _CAUSES if isinstance(error, kind)), Cause.HARNESS)
        if judging and cause in (Cause.ENDPOINT, Cause.DATA):
            cause = Cause.JUDGE
        return Failure(cause=cause, reason=_one_line(str(error)), kind=_kind(error), attempts=error.attempts)
    except TurngapError:
        raise
    except Exception as error:  # noqa: BLE001 - the capture point: an internal error costs one unit, not the run
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename.rpartition('turngap/')[2]}:{frame.lineno}"
        return Failure(cause=Cause.HARNESS, reason=_one_line(f"{error} (at {where})")[:500], kind=type(error).__name__)


def _kind(error: UnitError) -> str:
    reason = getattr(error, "kind", None)
    return reason if isinstance(reason, str) else type(error).__name__


def _one_line(text: str) -> str:
    return " ".join(text.split())
