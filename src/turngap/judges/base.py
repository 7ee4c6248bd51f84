"""The seam of judges: a binary verdict on a decision or on a whole workflow.

A judge sees what P1's appendix lists and nothing else. For a turn: policy, tools, gold history, reference, prediction,
never what comes after the decision. For a workflow: policy, tools, reference conversation, and the stored replay with
its accepted and rejected calls. Reasoning of any party is left out.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from turngap.data import Conversation, Decision, Prediction, Trajectory, Verdict


class TurnCase(msgspec.Struct, frozen=True, kw_only=True):
    """One prediction on gold history."""

    conversation: Conversation
    decision: Decision
    prediction: Prediction


class WorkflowCase(msgspec.Struct, frozen=True, kw_only=True):
    """One closed loop against its recording."""

    conversation: Conversation
    trajectory: Trajectory


class Judge(Protocol):
    """Something that gives verdicts."""

    label: str
    """How tables name it: ``rules``, or the judge model's name."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its verdicts, prompts included, without secrets."""
        ...

    async def turn(self, case: TurnCase) -> Verdict:
        """Judge one decision.

        Raises:
            JudgeError: no verdict could be read, also after one re-ask. EndpointError: the judge's server failed.
        """
        ...

    async def workflow(self, case: WorkflowCase) -> Verdict:
        """Judge one closed loop; raises as `turn`."""
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...
