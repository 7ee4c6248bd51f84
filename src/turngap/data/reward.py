"""What a finished trial is worth: the product of the components that its task counts, and all that was looked at."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class SymptomKind(StrEnum):
    """What can go wrong in a trial: a closed set."""

    WRONG_ENTITY = "wrong_entity"
    """The right change, made to another record."""
    WRONG_ARGUMENT = "wrong_argument"
    """The right change of the right record, with other values."""
    MISSING_WRITE = "missing_write"
    """A change of the reference that was never made."""
    EXTRA_WRITE = "extra_write"
    """A change that nothing in the reference corresponds to."""
    FORBIDDEN_ATTEMPT = "forbidden_attempt"
    """A call that the task forbids, or that breaks a rule which the domain can check; whether it succeeded or not."""
    NO_CLARIFICATION = "no_clarification"
    """A value that the user would have told was guessed, or the matter was dropped, without asking for it."""
    STALE_INTENT = "stale_intent"
    """A change was made with a value that the user had taken back."""
    FACT_NOT_SAID = "fact_not_said"
    """The user was not told what they had to be told."""
    NEEDLESS_TRANSFER = "needless_transfer"
    """The user was handed over although the reference solves the matter."""
    LOOP = "loop"
    """The same step with the same outcome, again and again."""
    STEP_LIMIT = "step_limit"
    """The agent used up its messages."""
    BROKE_OFF = "broke_off"
    """The agent came to no end otherwise: too many errors, an empty answer, a full context."""
    MALFORMED_CALL = "malformed_call"
    """A call that could not be run: arguments that cannot be read or that the schema refuses, or no such tool."""
    USER_FAULT = "user_fault"
    """The simulated user did something wrong; says nothing about the agent."""


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went wrong, with the message that shows it."""

    kind: SymptomKind
    event: int
    """Index of the event of the trajectory that shows it; of the last one, where something never happened."""
    detail: str
    """What is wrong, in one line for readers."""
    evidence: str = ""
    """The message itself, shortened: who, and what was said or called."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """One component of a reward."""

    value: float
    """1 where it holds, 0 where it does not; in between where it holds in part."""
    counted: bool
    """Whether the task's reward basis names it; otherwise it was only observed, and the reward leaves it aside."""
    detail: str = ""
    """What is missing, in one line for readers; empty where nothing is."""


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """One place in which a trial left the database otherwise than wanted. Values are JSON, shortened where long."""

    record: str
    """Table and key, ``orders[#W1]``; the name alone for a field of the state itself."""
    field: str = ""
    """Where in the record, ``items[0].price``; empty for the whole record."""
    wanted: str | None = None
    """None where there should be nothing."""
    found: str | None = None
    """None where nothing is there."""


class Reward(msgspec.Struct, frozen=True, kw_only=True, tag="reward"):
    """What a grader says of one trial."""

    value: float
    """In [0, 1]; a success is 1."""
    components: dict[str, Grade] = {}
    """Name of the component (``DB``, ``COMMUNICATE``, see `turngap.data.task.Component`) -> what was found."""
    tau2: dict[str, Any] | None = None
    """The verdict of tau2's own scoring (``reward`` and its parts), lenient places included; None where it has none."""
    mismatches: tuple[Mismatch, ...] = ()
    """How the database differs from the one wanted: the first places of `mismatched`."""
    mismatched: int = 0
    """How many places there are."""
    symptoms: tuple[Symptom, ...] = ()
    """What went wrong, in the order of events. A trial can fail without any, and have some and be a success."""

    @property
    def detail(self) -> str:
        """What is missing for a full reward, in one line."""
        return "; ".join(
            f"{name}: {grade.detail or f'{grade.value:g}'}"
            for name, grade in self.components.items()
            if grade.counted and grade.value < 1
        )
