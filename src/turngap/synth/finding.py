"""What can be wrong with a task, and how a check says so."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

Severity = Literal["error", "warning"]
"""An error makes results on the task meaningless, or the task unsolvable; a warning is for a person to look at."""


class Flaw(StrEnum):
    """What is wrong."""

    START = "start"
    """The initial state does not fit the domain."""
    REFUSED = "refused"
    """The domain refuses an action of the reference, or one that is required."""
    POLICY = "policy"
    """An action of the reference breaks a rule of the policy."""
    UNNECESSARY = "unnecessary"
    """The reference has an action that nothing needs."""
    UNKNOWABLE = "unknowable"
    """A value that is wanted can be known from nothing: neither the task's words nor anything that can be looked up."""
    CONTRADICTION = "contradiction"
    """The criteria contradict each other, or the reference does not fulfil them."""
    NOT_AS_SAID = "not as said"
    """The task is not what it says it is: what is forbidden would go through, what changes does not change."""
    WISH = "wish"
    """What the user wants and what the reference does differ."""
    DUPLICATE = "duplicate"
    """Another task of the file has the same words and the same reference."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a task."""

    task: str
    """Id of the task."""
    flaw: Flaw
    severity: Severity
    detail: str
    """What was found, in one line."""
    action: int | None = None
    """Index of the reference action that it is about; None where it is about the whole task."""

    def __str__(self) -> str:
        place = f", action {self.action + 1}" if self.action is not None else ""
        return f"{self.severity}: task {self.task}{place}: {self.flaw}: {self.detail}"
