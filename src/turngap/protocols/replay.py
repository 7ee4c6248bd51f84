"""Protocol `replay` (P1 iv): the closed loop on the model's own history, with recorded user turns.

The rules live in `turngap.domains.recorded` (what a call leads to) and `turngap.episode` (the loop); this module puts
them together for one recording and reads the score off the trajectory.
"""

from __future__ import annotations

import msgspec

from turngap.config import ReplayConfig
from turngap.data import Category, Cause, Conversation, Failure, Score, Trajectory, segments
from turngap.domains.recorded import RecordedWorld
from turngap.engines.capture import capture
from turngap.episode import Brief, play
from turngap.metrics.matching import Matcher
from turngap.models import Model
from turngap.protocols.unit import conversation_kind, unscored
from turngap.users.recorded import RecordedUser

_REPAIRS = {"stop": 0, "repair-first": 1, "continue": None}
_CAUSES = {Category.MALFORMED_CALL: Cause.MALFORMED, Category.TRUNCATED_OUTPUT: Cause.CUT}


class Window(msgspec.Struct, frozen=True):
    """Which part of a recording the model has to live through. The default is all of it."""

    start: int | None = None
    """Recorded decision at which it takes over, on gold history; None for the conversation's own start."""
    stop: int | None = None
    """Recorded decision at which the replay ends unasked; None for the end of the recording."""


async def run(
    model: Model, conversation: Conversation, matcher: Matcher, rules: ReplayConfig, window: Window | None = None
) -> Trajectory | Failure:
    """Replay one conversation; an unmeasurable one comes back as a `Failure`."""
    return await capture(_run(model, conversation, matcher, rules, window or Window()))


async def _run(
    model: Model, conversation: Conversation, matcher: Matcher, rules: ReplayConfig, window: Window
) -> Trajectory:
    turns = segments(conversation, window.start)
    world = RecordedWorld(conversation, matcher, rules, start=window.start)
    recorded = sum(len(turn.decisions) for turn in turns)
    brief = Brief(
        conversation=conversation.id,
        policy=conversation.policy,
        tools=conversation.tools,
        step_limit=rules.max_steps if rules.max_steps is not None else 2 * recorded + 10,
        given=conversation.messages[: turns[0].begin] if turns else (),
        stop=window.stop,
        repairs=_REPAIRS[rules.after_failure],
    )
    trajectory = await play(model, RecordedUser(turns), world, brief)
    first_error = world.first_error
    if first_error is None and trajectory.problems:
        first_error = trajectory.problems[0].decision
    return msgspec.structs.replace(
        trajectory, rejected=world.rejected, recovered=world.recovered, first_error=first_error
    )


def score(conversation: Conversation, result: Trajectory | Failure) -> Score:
    """Score one replay."""
    if isinstance(result, Failure):
        return unscored("replay", conversation, None, result)
    first = result.problems[0] if result.problems else None
    return Score(
        protocol="replay",
        conversation=conversation.id,
        decision=None,
        kind=conversation_kind(conversation),
        success=result.completed,
        cause=cause(result),
        values={
            "completed": float(result.completed),
            "steps": float(result.steps),
            "rejected": float(result.rejected),
            "recovered": float(result.recovered),
        },
        category=first.category if first else "",
        detail=_detail(result),
    )


def cause(trajectory: Trajectory) -> Cause | None:
    """The cause of the first unresolved error; None when completed."""
    if not trajectory.problems:
        return None
    return _CAUSES.get(trajectory.problems[0].category, Cause.WRONG)


def _detail(trajectory: Trajectory) -> str:
    if not trajectory.problems:
        return ""
    problem = trajectory.problems[0]
    place = "past the recording" if problem.decision is None else f"decision {problem.decision}"
    return f"{place}: {problem.detail}"
