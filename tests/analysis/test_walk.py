"""A replay as steps: what is right, what is a slip, what came before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from turngap.analysis.walk import NOT_DUE, FirstError, Walk, walk
from turngap.config import MatchConfig, ReplayConfig
from turngap.data import AssistantMessage, Category, Conversation, ToolCall, Trajectory
from turngap.metrics.matching import Matcher
from turngap.models.scripted import Answer, ScriptedModel
from turngap.protocols import replay

GET = ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"})
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2})
WRONG = ToolCall(name="find_customer", arguments={"email": "a@example.org"})
BROKEN = ToolCall(name="get_booking", arguments=None, raw="{", error="ends early")


async def walked(conversation: Conversation, script: Sequence[Answer], **rules: Any) -> Walk:
    """Replay a script and walk it."""
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    found = await replay.run(ScriptedModel(script), conversation, matcher, ReplayConfig(**rules))
    assert isinstance(found, Trajectory), found
    return walk(conversation, found)


def steps(found: Walk) -> list[tuple[int, bool, bool, bool, bool]]:
    """Depth, right, resolved, after an error, after an unresolved one."""
    return [(step.depth, step.right, step.resolved, step.after_error, step.after_unresolved) for step in found.steps]


async def test_a_clean_replay(boat_conversation: Conversation) -> None:
    """Nothing wrong: every step right, no first error."""
    found = await walked(boat_conversation, [GET, "Shall I?", MOVE, "Done."])
    assert steps(found) == [(1, True, True, False, False), (2, True, True, False, False)]
    assert (found.due, found.first) == (2, None)


async def test_a_recovered_error_is_an_earlier_error(boat_conversation: Conversation) -> None:
    """A rejected call makes its step wrong although it was resolved, and stands before the next step."""
    found = await walked(boat_conversation, [WRONG, GET, "Shall I?", MOVE, "Done."])
    assert steps(found) == [(1, False, True, False, False), (2, True, True, True, False)]
    assert found.first == FirstError(depth=1, tool="get_booking", category=Category.WRONG_TOOL)


async def test_an_error_that_the_recording_repaired(boat_conversation: Conversation) -> None:
    """Three rejected calls, repaired: unresolved, and the next step comes after an unresolved error."""
    script = [BROKEN, WRONG, WRONG, "Shall I?", MOVE, "Done."]
    found = await walked(boat_conversation, script, after_failure="continue")
    assert steps(found) == [(1, False, False, False, False), (2, True, True, True, True)]
    assert found.first == FirstError(depth=1, tool="get_booking", category=Category.MALFORMED_CALL)


async def test_a_stopped_replay_says_nothing_of_what_it_never_faced(boat_conversation: Conversation) -> None:
    """With `stop` the steps behind the failure are not there."""
    found = await walked(boat_conversation, [WRONG, WRONG, WRONG])
    assert steps(found) == [(1, False, False, False, False)]


async def test_text_in_the_place_of_a_call_is_a_slip(boat_conversation: Conversation) -> None:
    """A call that comes a turn late was wrong at first, as on gold history, and is resolved."""
    found = await walked(boat_conversation, ["Hm.", GET, MOVE, "Done."])
    assert steps(found) == [(1, False, True, False, False), (2, True, True, True, False)]
    assert found.first == FirstError(depth=1, tool="get_booking", category=Category.MISSING_CALL)


@pytest.mark.parametrize("after_failure", ["stop", "continue"])
async def test_calls_that_never_come(boat_conversation: Conversation, after_failure: str) -> None:
    """A model that only talks: the first step is wrong and unresolved, whatever the rules."""
    found = await walked(boat_conversation, ["Hm.", "Hm.", "Hm.", "Hm."], after_failure=after_failure)
    assert steps(found)[0] == (1, False, False, False, False)
    assert not any(step.right for step in found.steps)
    assert found.first == FirstError(depth=1, tool="get_booking", category=Category.MISSING_CALL)


async def test_a_call_where_none_is_due_belongs_to_the_step_before(boat_conversation: Conversation) -> None:
    """An uncalled-for call between two steps is the first error, at the step before it, and precedes the next."""
    found = await walked(boat_conversation, [GET, WRONG, "Shall I?", MOVE, "Done."])
    assert steps(found) == [(1, True, True, False, False), (2, True, True, True, False)]
    assert found.first == FirstError(depth=1, tool=NOT_DUE, category=Category.WRONG_TOOL)


async def test_calls_behind_spent_attempts_are_no_further_errors(boat_conversation: Conversation) -> None:
    """What stands behind the call that spent the last attempt was not looked at."""
    script = [AssistantMessage(calls=(WRONG, WRONG, WRONG, MOVE)), "Shall I?", MOVE, "Done."]
    found = await walked(boat_conversation, script, after_failure="continue")
    assert steps(found) == [(1, False, False, False, False), (2, True, True, True, True)]


async def test_the_step_limit_ends_a_step(boat_conversation: Conversation) -> None:
    """A step cut off by the step limit is wrong; the limit is the first error where nothing else was."""
    found = await walked(boat_conversation, [GET, "Shall I?"], max_steps=2)
    assert steps(found) == [(1, True, True, False, False), (2, False, False, False, False)]
    assert found.first == FirstError(depth=2, tool="move_booking", category=Category.STEP_LIMIT)
