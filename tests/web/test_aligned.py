"""Aligning a replay with its recording: every own message once, in order, beside the decision it was expected for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turngap.config import MatchConfig, ReplayConfig
from turngap.data import (
    AssistantMessage,
    Conversation,
    Spoken,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    decisions,
)
from turngap.metrics.matching import Matcher
from turngap.models.scripted import Answer, ScriptedModel
from turngap.protocols import replay
from turngap.web.aligned import Alignment, State, align

GET = ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"})
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2})
WRONG = ToolCall(name="find_customer", arguments={"email": "a@example.org"})
BROKEN = ToolCall(name="get_booking", arguments=None, raw="{", error="ends early")


def replayed(conversation: Conversation, script: Sequence[Answer], **rules: Any) -> Trajectory:
    """Replay a script."""
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    found = asyncio.run(replay.run(ScriptedModel(script), conversation, matcher, ReplayConfig(**rules)))
    assert isinstance(found, Trajectory), found
    return found


def states(found: Alignment) -> list[str]:
    """What became of each decision, in order."""
    return [row.state.value for row in found.rows()]


def events(found: Alignment) -> list[int]:
    """The events of all rows, in the order of the page."""
    return [at for turn in found.turns for row in turn.rows for at, _ in row.own]


def test_a_clean_replay(boat_conversation: Conversation) -> None:
    """Every decision stands beside the one message that was expected at it."""
    found = align(boat_conversation, replayed(boat_conversation, [GET, "Shall I?", MOVE, "Done."]))
    assert states(found) == ["right"] * 4
    assert events(found) == [1, 2, 4, 5]
    assert found.first is None
    assert [[len(row.own) for row in turn.rows] for turn in found.turns] == [[1, 1], [1, 1]]


def test_a_recovered_error(boat_conversation: Conversation) -> None:
    """Both attempts stand beside the decision; the replay first left the recording there."""
    found = align(boat_conversation, replayed(boat_conversation, [WRONG, GET, "Shall I?", MOVE, "Done."]))
    assert states(found) == ["recovered", "right", "right", "right"]
    assert found.first == 0
    assert [at for at, _ in next(found.rows()).own] == [1, 2]


def test_an_error_that_ends_the_replay(boat_conversation: Conversation) -> None:
    """What comes behind it was never reached, and its turn was never begun."""
    found = align(boat_conversation, replayed(boat_conversation, [GET, "Shall I?", WRONG, WRONG, WRONG]))
    assert states(found) == ["right", "right", "wrong", "unreached"]
    assert [turn.reached for turn in found.turns] == [True, True]
    assert [len(row.problems) for row in found.rows()] == [0, 0, 1, 0]
    early = align(boat_conversation, replayed(boat_conversation, [WRONG, WRONG, WRONG]))
    assert states(early) == ["wrong", "unreached", "unreached", "unreached"]
    assert [turn.reached for turn in early.turns] == [True, False]


def test_what_the_recording_put_in(boat_conversation: Conversation) -> None:
    """A repaired decision says so, and holds the message that was put in behind the attempts."""
    script = [BROKEN, WRONG, WRONG, "Shall I?", MOVE, "Done."]
    found = align(boat_conversation, replayed(boat_conversation, script, after_failure="continue"))
    first = next(found.rows())
    assert states(found) == ["wrong", "right", "right", "right"]
    assert first.repaired
    assert [type(event).__name__ for _, event in first.own] == ["Acted", "Acted", "Acted", "Repaired"]


def test_calls_that_come_a_turn_late(boat_conversation: Conversation) -> None:
    """A carried call stands where it was made, in a row that names its decision, whose own row points there."""
    found = align(boat_conversation, replayed(boat_conversation, ["Hm.", GET, MOVE, "Done."]))
    assert states(found) == ["recovered", "passed", "right", "right"]
    late = [row for turn in found.turns for row in turn.rows if row.late]
    assert [(row.decision.index, [at for at, _ in row.own]) for row in late if row.decision] == [(0, [3])]
    assert next(found.rows()).elsewhere == 3
    assert events(found) == [1, 3, 4, 5]


def test_several_decisions_in_one_message(boat_conversation: Conversation) -> None:
    """A message that makes the calls of two decisions stands beside the first; the second points to it."""
    both = Conversation(
        id="both",
        tools=boat_conversation.tools,
        messages=(
            UserMessage(content="Move it."),
            AssistantMessage(calls=(GET,)),
            ToolMessage(content="{}", name="get_booking"),
            AssistantMessage(calls=(MOVE,)),
            ToolMessage(content="{}", name="move_booking"),
            AssistantMessage(content="Done."),
        ),
    )
    found = align(both, replayed(both, [AssistantMessage(calls=(GET, MOVE)), "Done."]))
    rows = list(found.rows())
    assert states(found) == ["right"] * 3
    assert (rows[1].own, rows[1].elsewhere) == ((), 1)


def test_calls_that_never_come(boat_conversation: Conversation) -> None:
    """Errors that come to light at the end stand at the decisions whose calls are missing."""
    found = align(boat_conversation, replayed(boat_conversation, ["Hm."] * 4, after_failure="continue"))
    rows = list(found.rows())
    assert states(found) == ["missing", "passed", "missing", "passed"]
    assert [problem.category.value for row in rows for problem in row.problems] == ["missing_call", "missing_call"]
    assert found.first == 0


def test_an_agent_that_speaks_first_and_an_instruction_between(boat_conversation: Conversation) -> None:
    """Turns without words of the user, and with several, are cut where the recording cuts them."""
    talk = Conversation(
        id="talk",
        messages=(
            AssistantMessage(content="Good day."),
            SystemMessage(content="Be brief."),
            UserMessage(content="Hello."),
            AssistantMessage(content="Hello."),
        ),
    )
    found = align(talk, replayed(talk, ["Hi.", "Yes?"]))
    assert [(len(turn.spoken), [len(row.own) for row in turn.rows]) for turn in found.turns] == [(0, [1]), (2, [1])]
    assert events(found) == [0, 3]


def test_without_a_replay(boat_conversation: Conversation) -> None:
    """The recording alone can be laid out too; nothing of it was reached."""
    found = align(boat_conversation, None)
    assert states(found) == ["unreached"] * 4
    assert found.walk is None
    assert found.first is None


def test_a_malformed_recorded_call_cannot_be_asked_for(boat_conversation: Conversation) -> None:
    """VIEW-04: what nobody could make is no failure of the model."""
    messages = list(boat_conversation.messages)
    messages[1] = AssistantMessage(calls=(BROKEN,))
    odd = msgspec.structs.replace(boat_conversation, messages=tuple(messages))
    found = align(odd, replayed(odd, ["Shall I?", MOVE, "Done."]))
    assert states(found) == ["unasked", "right", "right", "right"]
    assert found.first is None


def test_given_history_is_apart(boat_conversation: Conversation) -> None:
    """In a cut case what was said before the first decision that counts is history on both sides."""
    cut = msgspec.structs.replace(boat_conversation, start=2)
    found = align(cut, replayed(cut, [MOVE, "Done."]))
    assert found.given == boat_conversation.messages[:4]
    assert [row.decision.index for row in found.rows() if row.decision] == [2, 3]


@pytest.mark.parametrize("after_failure", ["stop", "continue"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(st.sampled_from([GET, MOVE, WRONG, BROKEN, "Hm.", AssistantMessage(calls=(GET, MOVE, WRONG))])))
def test_nothing_is_lost_and_nothing_moves(
    boat_conversation: Conversation, after_failure: str, script: list[Answer]
) -> None:
    """Whatever a model does: each own message stands once, in order; states agree with the walk of the analysis."""
    trajectory = replayed(boat_conversation, [*script, *["Hm."] * 20], after_failure=after_failure)
    found = align(boat_conversation, trajectory)
    own = [at for at, event in enumerate(trajectory.events) if not isinstance(event, Spoken)]
    assert events(found) == own
    assert [row.decision.index for row in found.rows() if row.decision] == [
        one.index for one in decisions(boat_conversation)
    ]
    assert found.walk is not None
    assert (found.first is None) == (found.walk.first is None)
    by_decision = {row.decision.index: row.state for row in found.rows() if row.decision}
    for step in found.walk.steps:
        assert (by_decision[step.decision] is State.RIGHT) == step.right
        assert by_decision[step.decision].failed == (not step.resolved)
    problems = [problem for turn in found.turns for row in turn.rows for problem in row.problems]
    assert len(problems) == len(trajectory.problems)
