"""The double of a judge: verdicts from a list, or from a function of the case; for tests and try-outs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turngap.data import Verdict
from turngap.errors import JudgeError
from turngap.judges.base import TurnCase, WorkflowCase

Answer = Verdict | bool | Exception
"""What a script may say: a whole verdict, success or not, or an error to raise."""

Script = Iterable[Answer] | Callable[[TurnCase | WorkflowCase], Answer]


class ScriptedJudge:
    """A judge that says what it was told to say, and keeps the cases it saw.

    Args:
        script: answers in the order of the questions, or a function that answers each.
        label: how tables name it.
    """

    def __init__(self, script: Script, *, label: str = "scripted") -> None:
        self.label = label
        self.cases: list[TurnCase | WorkflowCase] = []
        """Every case so far, in order."""
        self.closed = False
        self._script = script if callable(script) else None
        self._answers = iter(()) if callable(script) else iter(script)

    def identity(self) -> dict[str, Any]:
        """Its label; a script has no other identity."""
        return {"judge": "scripted", "label": self.label}

    async def turn(self, case: TurnCase) -> Verdict:
        """Answer by the script.

        Raises:
            JudgeError: a list of answers is used up. Any exception that the script gives as an answer.
        """
        return self._say(case)

    async def workflow(self, case: WorkflowCase) -> Verdict:
        """Answer by the script; raises as `turn`."""
        return self._say(case)

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def _say(self, case: TurnCase | WorkflowCase) -> Verdict:
        self.cases.append(case)
        answer = self._script(case) if self._script is not None else next(self._answers, None)
        if answer is None:
            raise JudgeError(
                f"the script of judge {self.label} has {len(self.cases) - 1} answers, and one more is asked"
            )
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Verdict):
            return answer
        return Verdict(success=answer, category="none" if answer else "scripted")
