"""Protocol `turn` (P1 ii): a judge's binary verdict on every decision, on gold history.

A prediction that nobody could act on (nothing at all, or a call whose arguments are no object) fails without asking.
"""

from __future__ import annotations

from turngap.data import Cause, Conversation, Decision, Failure, Prediction, Score, Verdict
from turngap.engines.capture import capture
from turngap.judges.base import Judge, TurnCase
from turngap.protocols.unit import blame, unscored


async def judge(
    judge: Judge, conversation: Conversation, decision: Decision, prediction: Prediction
) -> Verdict | Failure:
    """Have one prediction judged; an unusable judge comes back as a `Failure`."""
    message = prediction.message
    broken = next((call for call in message.calls if call.arguments is None), None)
    if broken is not None:
        rationale = f"the call of {broken.name} cannot be read: {broken.error}"
        return Verdict(success=False, category="malformed_call", rationale=rationale, asks=0)
    if not message.calls and not message.content.strip():
        return Verdict(success=False, category="empty_answer", rationale="neither text nor a call", asks=0)
    case = TurnCase(conversation=conversation, decision=decision, prediction=prediction)
    return await capture(judge.turn(case), judging=True)


def score(
    conversation: Conversation, decision: Decision, result: Prediction | Failure, verdict: Verdict | Failure | None
) -> Score:
    """Score one decision from its verdict."""
    if isinstance(result, Failure):
        return unscored("turn", conversation, decision, result)
    if not isinstance(verdict, Verdict):
        return unscored("turn", conversation, decision, verdict or not_judged())
    return Score(
        protocol="turn",
        conversation=conversation.id,
        decision=decision.index,
        kind=decision.kind,
        success=verdict.success,
        cause=None if verdict.success else blame(result.message, result.finish),
        values={"success": float(verdict.success)},
        category=verdict.category,
        detail=told(verdict),
    )


def told(verdict: Verdict) -> str:
    """What a judge said, and what a reader should look at because of it: texts that address the judge, say."""
    return f"{verdict.rationale} [{', '.join(verdict.flags)}]" if verdict.flags else verdict.rationale


def not_judged() -> Failure:
    """The record of a unit that the judge has not come to."""
    return Failure(cause=Cause.JUDGE, reason="not judged yet; run the same command again", kind="NotJudged")
