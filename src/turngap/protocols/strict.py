"""Protocol `strict` (P1 iii): the predicted calls against the recorded ones, after normalisation.

On tool decisions `exact`, `name` and `arg_f1`; a text prediction scores 0. On text decisions `spurious`: an
uncalled-for tool call. Success in the ledger is `exact` on a tool decision, and no call on a text decision.
"""

from __future__ import annotations

from turngap.data import Cause, Conversation, Decision, Failure, Prediction, Score
from turngap.metrics.matching import Matcher
from turngap.protocols.unit import blame, unscored


def score(conversation: Conversation, decision: Decision, result: Prediction | Failure, matcher: Matcher) -> Score:
    """Score one decision."""
    if isinstance(result, Failure):
        return unscored("strict", conversation, decision, result)
    recorded = decision.reference.calls
    broken = next((call for call in recorded if call.arguments is None), None)
    if broken is not None:
        reason = f"the recorded call of {broken.name} is malformed: {broken.error}"
        return unscored("strict", conversation, decision, Failure(cause=Cause.DATA, reason=reason, kind="DataFault"))
    made = result.message.calls
    if decision.kind == "text":
        success, values = not made, {"spurious": float(bool(made))}
    else:
        success = matcher.exact(made, recorded)
        arguments = matcher.arg_f1(made, recorded)
        values = {
            "exact": float(success),
            "name": float(matcher.names(made, recorded)),
            "arg_f1": arguments.f1,
            "arg_tp": float(arguments.tp),
            "arg_pred": float(arguments.n_pred),
            "arg_ref": float(arguments.n_ref),
        }
    return Score(
        protocol="strict",
        conversation=conversation.id,
        decision=decision.index,
        kind=decision.kind,
        success=success,
        cause=None if success else blame(result.message, result.finish),
        values=values,
        detail="" if success else _difference(decision, result, matcher),
    )


def _difference(decision: Decision, result: Prediction, matcher: Matcher) -> str:
    recorded, made = decision.reference.calls, result.message.calls
    if len(recorded) == 1 and len(made) == 1:
        return matcher.explain(made[0], recorded[0])
    names = [", ".join(call.name for call in calls) or "text" for calls in (recorded, made)]
    return f"reference: {names[0]}; prediction: {names[1]}"
