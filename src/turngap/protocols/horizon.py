"""Protocol `horizon`: how far a model gets on its own history, from every recorded decision on.

From each start the model is given gold history and then acts under the rules of `replay`, until as many recorded
decisions are behind it as were asked for, until an error is unresolved, or until the recording ends. One such run says
for every smaller number too whether the model got that far, so the whole curve costs one run a start.

What counts as *behind* the model: recorded decisions in their order, each when it is done. A tool decision is done when
all its calls are ticked off, however many attempts that took; a text decision when the agent has ended that turn by
speaking, whatever it said. Calls that the model lets pass in silence are carried over, as in a replay: such a decision
is neither done nor failed until it is made or missed, and what was said meanwhile counts only behind it. The window
never cuts a carried call off: the run goes on over further user messages until the decision is settled. So whether the
model got h decisions far does not depend on how far it was allowed to go.

Where the recording asks for nothing (all calls of a decision are malformed), there is no start and nothing to count.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turngap.config import ReplayConfig
from turngap.data import Acted, Conversation, Decision, Failure, Problem, Score, Trajectory, decisions
from turngap.metrics.matching import Matcher
from turngap.models import Model
from turngap.protocols import replay
from turngap.protocols.unit import unscored


def starts(conversation: Conversation) -> list[Decision]:
    """The decisions from which runs start, and which are counted: all that ask something of the model."""
    return [
        decision
        for decision in decisions(conversation)
        if decision.kind == "text" or any(call.arguments is not None for call in decision.reference.calls)
    ]


async def run(
    model: Model,
    conversation: Conversation,
    counted: Sequence[Decision],
    matcher: Matcher,
    rules: ReplayConfig,
    most: int,
) -> Trajectory | Failure:
    """Let a model run from one decision; an unmeasurable run comes back as a `Failure`.

    Args:
        model: the model.
        conversation: the recording.
        counted: the start and those of `starts` behind it.
        matcher: of the recording's calls.
        rules: of the closed loop.
        most: decisions after which the run ends.
    """
    stop = counted[most].index if len(counted) > most else None
    window = replay.Window(start=counted[0].index, stop=stop)
    return await replay.run(model, conversation, matcher, rules, window)


def rules_of(rules: ReplayConfig) -> ReplayConfig:
    """The rules of `replay` with one difference: here the first unresolved error always ends a run."""
    return msgspec.structs.replace(rules, after_failure="stop")


def speaks_for(counted: Sequence[Decision], result: Trajectory | Failure, most: int) -> int | None:
    """The largest number of decisions that a run with `most` says something about; None for any number."""
    ended = isinstance(result, Trajectory) and bool(result.problems)
    return None if ended or len(counted) <= most else most


def score(conversation: Conversation, counted: Sequence[Decision], result: Trajectory | Failure, most: int) -> Score:
    """Score one run: `reach`, the decisions there were (at most `most`), and `survived`, those done without failure."""
    start = counted[0]
    if isinstance(result, Failure):
        return unscored("horizon", conversation, start, result)
    reach = min(most, len(counted))
    survived, problem = reach, result.problems[0] if result.problems else None
    if problem is not None:
        failed = _place(result, problem)
        survived = min(reach, sum(decision.index < failed for decision in counted))
    # A message may make the last decision that counts and err behind it; that is beyond the window.
    failing = problem if survived < reach else None
    return Score(
        protocol="horizon",
        conversation=conversation.id,
        decision=start.index,
        kind=start.kind,
        success=failing is None,
        cause=replay.cause(result) if failing else None,
        values={"reach": float(reach), "survived": float(survived)},
        category=failing.category if failing else "",
        detail=f"decision {failing.decision}: {failing.detail}" if failing else "",
    )


def _place(trajectory: Trajectory, problem: Problem) -> int:
    """The recorded decision that a failure is held against.

    Calls behind the last one of a turn, in the same message, are held against the decision that the message made.
    """
    if problem.decision is not None:
        return problem.decision
    event = trajectory.events[problem.event]
    verdicts = event.verdicts if isinstance(event, Acted) else ()
    return max(
        (verdict.decision for verdict in verdicts if verdict.accepted and verdict.decision is not None), default=0
    )
