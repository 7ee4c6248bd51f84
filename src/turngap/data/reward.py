"""What a finished trial is worth: the product of the components that its task counts, and all that was looked at."""

from __future__ import annotations

from typing import Any

import msgspec


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """One component of a reward."""

    value: float
    """1 where it holds, 0 where it does not; in between where it holds in part."""
    counted: bool
    """Whether the task's reward basis names it; otherwise it was only observed, and the reward leaves it aside."""
    detail: str = ""
    """What is missing, in one line for readers; empty where nothing is."""


class Reward(msgspec.Struct, frozen=True, kw_only=True, tag="reward"):
    """What a grader says of one trial."""

    value: float
    """In [0, 1]; a success is 1."""
    components: dict[str, Grade] = {}
    """Name of the component (``DB``, ``COMMUNICATE``, see `turngap.data.task.Component`) -> what was found."""
    tau2: dict[str, Any] | None = None
    """The verdict of tau2's own scoring (``reward`` and its parts), lenient places included; None where it has none."""

    @property
    def detail(self) -> str:
        """What is missing for a full reward, in one line."""
        return "; ".join(
            f"{name}: {grade.detail or f'{grade.value:g}'}"
            for name, grade in self.components.items()
            if grade.counted and grade.value < 1
        )
