"""Protocol `workflow` (P1 v): a judge reads the whole replay and says whether the user's goal was fully met."""

from __future__ import annotations

from turngap.data import Acted, Cause, Conversation, Failure, Finish, Score, Trajectory, Verdict
from turngap.engines.capture import capture
from turngap.judges.base import Judge, WorkflowCase
from turngap.protocols.replay import cause as replay_cause
from turngap.protocols.turn import not_judged, told
from turngap.protocols.unit import conversation_kind, unscored


async def judge(judge: Judge, conversation: Conversation, trajectory: Trajectory) -> Verdict | Failure:
    """Have one replay judged; an unusable judge comes back as a `Failure`."""
    case = WorkflowCase(conversation=conversation, trajectory=trajectory)
    return await capture(judge.workflow(case), judging=True)


def score(conversation: Conversation, result: Trajectory | Failure, verdict: Verdict | Failure | None) -> Score:
    """Score one replay from its verdict."""
    if isinstance(result, Failure):
        return unscored("workflow", conversation, None, result)
    if not isinstance(verdict, Verdict):
        return unscored("workflow", conversation, None, verdict or not_judged())
    return Score(
        protocol="workflow",
        conversation=conversation.id,
        decision=None,
        kind=conversation_kind(conversation),
        success=verdict.success,
        cause=None if verdict.success else _cause(result),
        values={"success": float(verdict.success)},
        category=verdict.category,
        detail=told(verdict),
    )


def _cause(trajectory: Trajectory) -> Cause:
    """What failed the replay failed the workflow; in a completed one an answer that was cut, else what was said."""
    cut = any(isinstance(event, Acted) and event.finish is Finish.LENGTH for event in trajectory.events)
    return replay_cause(trajectory) or (Cause.CUT if cut else Cause.WRONG)
