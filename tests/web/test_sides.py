"""Pairing predicted calls with recorded ones, and where values had been heard."""

from __future__ import annotations

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from turngap.analysis.evidence import Difference
from turngap.config import MatchConfig, ReplayConfig
from turngap.data import Conversation, ToolCall, Trajectory
from turngap.metrics.matching import Matcher
from turngap.models.scripted import ScriptedModel
from turngap.protocols import replay
from turngap.web.hearing import Hearing
from turngap.web.sides import paired

MATCHER = Matcher((), MatchConfig())


def call(name: str, number: int) -> ToolCall:
    """A call with one argument."""
    return ToolCall(name=name, arguments={"n": number})


def test_equal_calls_come_first_then_those_of_the_same_tool() -> None:
    """Whatever the order: an equal call is taken, else the next of that tool, and no recorded call twice."""
    recorded = [call("a", 1), call("a", 2), call("b", 3)]
    made = [call("a", 9), call("a", 1), call("c", 1), call("a", 2), call("a", 7)]
    assert paired(made, recorded, MATCHER) == [None, recorded[0], None, recorded[1], None]
    assert paired(made[:2], recorded, MATCHER) == [recorded[1], recorded[0]]
    assert paired([], recorded, MATCHER) == []
    broken = ToolCall(name="a", arguments=None)
    assert paired([broken], recorded, MATCHER) == [recorded[0]]
    assert paired([call("a", 1)], [broken], MATCHER) == [broken]


_CALLS = st.lists(st.builds(call, st.sampled_from("ab"), st.integers(0, 3)), max_size=8)


@given(_CALLS, _CALLS)
def test_a_pairing_is_one_to_one(made: list[ToolCall], recorded: list[ToolCall]) -> None:
    """No recorded call stands for two, and as many are paired equal as there are equal ones."""
    found = [one for one in paired(made, recorded, MATCHER) if one is not None]
    assert len({id(one) for one in found}) == len(found)
    assert MATCHER.exact(made, recorded) == (
        len(found) == len(made) == len(recorded)
        and all(
            MATCHER.same(one, other) for one, other in zip(made, paired(made, recorded, MATCHER), strict=True) if other
        )
    )


def test_five_hundred_calls_are_paired_at_once() -> None:
    """Time grows with the number of calls, not with its square."""
    calls = [call("a", number) for number in range(500)]
    began = time.process_time()
    assert paired(calls, calls[::-1], MATCHER) == calls
    assert time.process_time() - began < 0.5


def test_where_values_were_heard_before_an_event(boat_conversation: Conversation) -> None:
    """What was said or returned later does not count; what was never given is said to be nowhere."""
    script = [
        ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"}),
        "Shall I?",
        ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2}),
        "Done.",
    ]
    matcher = Matcher(boat_conversation.tools, MatchConfig())
    trajectory = asyncio.run(replay.run(ScriptedModel(script), boat_conversation, matcher, ReplayConfig()))
    assert isinstance(trajectory, Trajectory)
    hearing = Hearing(boat_conversation, trajectory.events)
    assert not hearing.costly
    date = Difference(path="date", predicted="2031-04-30", recorded="BK-1042")
    assert hearing.where(date, 1) == "this value: nowhere in the history; the recorded one: in user (event 0)"
    assert hearing.where(date, 3).startswith("this value: in result of get_booking (event 1)")
    assert hearing.where(Difference(path="notify", predicted=True, recorded=None, absent="recorded"), 3) == ""
    assert Hearing(boat_conversation, trajectory.events * 2_000).costly
