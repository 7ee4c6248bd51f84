"""Replays that begin at a recorded decision, on gold history; and what happens after a first failure."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.config import MatchConfig, ReplayConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    Category,
    Conversation,
    Repaired,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    decisions,
    segments,
)
from turngap.metrics.matching import Matcher
from turngap.models import Model, Request
from turngap.models.scripted import ScriptedModel
from turngap.protocols import replay
from turngap.protocols.replay import Window

GET = ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"})
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02", "seats": 2})
WRONG = ToolCall(name="find_customer", arguments={"email": "a@example.org"})
TOOLS = tuple(
    ToolSpec(name=name, parameters={"type": "object", "properties": {"x": {"type": "integer"}}}) for name in "abc"
)


@st.composite
def recordings(draw: st.DrawFn) -> Conversation:
    """Recordings with at least one decision: openings by either side, instructions, several calls, ends of every kind."""
    messages: list[Any] = [AssistantMessage(content="Hello")] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 4))):
        messages.append(UserMessage(content=f"user {turn}"))
        if draw(st.booleans()):
            messages.append(SystemMessage(content=f"instruction {turn}"))
        for _ in range(draw(st.integers(0, 3))):
            calls = tuple(
                ToolCall(name=draw(st.sampled_from("abc")), arguments={"x": draw(st.integers(0, 2))})
                for _ in range(draw(st.integers(1, 2)))
            )
            messages.append(AssistantMessage(calls=calls))
            messages.extend(ToolMessage(name=one.name, content=f"result {len(messages)}") for one in calls)
        if draw(st.booleans()):
            messages.append(AssistantMessage(content=f"text {turn}"))
    if not any(isinstance(message, AssistantMessage) for message in messages):
        messages.append(AssistantMessage(content="bye"))
    return Conversation(id="made", policy="p", tools=TOOLS, messages=tuple(messages))


def play(model: Model, conversation: Conversation, window: Window | None = None, **rules: Any) -> Trajectory:
    """Replay a window; an errored one fails the test, and wall time is left out."""
    matcher = Matcher(conversation.tools, MatchConfig(), conversation.compare_args)
    result = asyncio.run(replay.run(model, conversation, matcher, ReplayConfig(**rules), window))
    assert isinstance(result, Trajectory), result
    return msgspec.structs.replace(result, seconds=0.0)


def recorded(request: Request) -> AssistantMessage | str:
    """What the recording did."""
    return request.seat.reference or "?"


def erratic(choices: list[int]) -> ScriptedModel:
    """A model that errs as the numbers say, and does what was recorded afterwards."""
    left = iter(choices)

    def answer(request: Request) -> Any:
        wrong = [
            "text",
            ToolCall(name="nope", arguments={}),
            ToolCall(name="a", arguments={"x": 7}),
            AssistantMessage(),
        ]
        choice = next(left, 0)
        return recorded(request) if choice == 0 else wrong[choice % 4]

    return ScriptedModel(answer)


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(recordings(), st.lists(st.integers(0, 8), max_size=20), st.sampled_from(["stop", "continue", "repair-first"]))
def test_a_start_at_the_first_decision_is_a_plain_replay(
    conversation: Conversation, choices: list[int], after: str
) -> None:
    """Whatever the model does, events included."""
    plain = play(erratic(choices), conversation, after_failure=after)
    assert play(erratic(choices), conversation, Window(start=0), after_failure=after) == plain


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(recordings())
def test_from_every_start_the_recording_completes_itself(conversation: Conversation) -> None:
    """Given history, then what the recording did, make the recording again; no attempt is spent."""
    for decision in decisions(conversation):
        trajectory = play(ScriptedModel(recorded), conversation, Window(start=decision.index))
        assert trajectory.completed and trajectory.rejected == 0
        begin = segments(conversation, decision.index)[0].begin
        assert conversation.messages[:begin] + trajectory.messages() == conversation.messages


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(recordings(), st.lists(st.integers(0, 8), max_size=20))
def test_the_given_history_is_exactly_what_was_recorded_before(conversation: Conversation, choices: list[int]) -> None:
    """The first thing a model is asked from a start is asked on gold history, for that decision, at a fresh attempt."""
    for decision in decisions(conversation):
        model = erratic(choices)
        play(model, conversation, Window(start=decision.index))
        first = model.requests[0]
        assert first.messages == conversation.messages[: decision.position]
        assert (first.seat.decision, first.seat.attempt, first.seat.reference) == (
            decision.index,
            1,
            decision.reference,
        )


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(recordings(), st.data(), st.lists(st.integers(0, 8), max_size=20))
def test_a_case_that_starts_late_is_a_replay_from_there(
    conversation: Conversation, data: st.DataObject, choices: list[int]
) -> None:
    """`Conversation.start` means the same as a start that is asked for."""
    start = data.draw(st.integers(0, sum(1 for _ in decisions(conversation)) - 1))
    case = msgspec.structs.replace(conversation, start=start)
    assert next(decisions(case)).index == start
    assert play(erratic(choices), case) == play(erratic(choices), conversation, Window(start=start))


@settings(deadline=None)  # asyncio.run alone can take that long on a busy machine
@given(recordings(), st.data(), st.lists(st.integers(0, 8), max_size=20))
def test_a_stop_only_cuts_what_comes_after(conversation: Conversation, data: st.DataObject, choices: list[int]) -> None:
    """A replay that stops at a decision is the beginning of one that does not, with the same first error before it."""
    stop = data.draw(st.integers(1, 8))
    whole = play(erratic(choices), conversation)
    part = play(erratic(choices), conversation, Window(stop=stop))
    assert part.events == whole.events[: len(part.events)]
    if part.problems:
        assert part == whole
    elif whole.problems:
        assert (whole.problems[0].decision or 0) >= stop


def test_in_the_middle_of_a_turn_nobody_speaks_first(boat_conversation: Conversation) -> None:
    """From the text behind the first call on: the call and its result are given, then the model speaks."""
    trajectory = play(ScriptedModel(["Shall I?", MOVE, "Done."]), boat_conversation, Window(start=1))
    assert trajectory.completed and trajectory.steps == 3
    assert isinstance(trajectory.events[0], Acted)
    assert trajectory.step_limit == 2 * 3 + 10


def test_one_slip_is_repaired_and_the_rest_is_the_models(boat_conversation: Conversation) -> None:
    """repair-first: the recorded decision is put in at the first unresolved error; the workflow stays failed."""
    script = [WRONG, WRONG, WRONG, "Shall I?", MOVE, "Done."]
    trajectory = play(ScriptedModel(script), boat_conversation, after_failure="repair-first")
    assert not trajectory.completed and len(trajectory.problems) == 1
    assert [event.decision for event in trajectory.events if isinstance(event, Repaired)] == [0]
    assert trajectory.messages()[-1] == AssistantMessage(content="Done.")


def test_a_second_unresolved_error_ends_it(boat_conversation: Conversation) -> None:
    """repair-first: who fails again after one repair is not helped twice; continue helps for ever."""
    model = [WRONG, WRONG, WRONG, "Shall I?", WRONG, WRONG, WRONG, "Done."]
    first = play(ScriptedModel(model), boat_conversation, after_failure="repair-first")
    assert [problem.decision for problem in first.problems] == [0, 2]
    assert first.steps == 7
    assert sum(isinstance(event, Repaired) for event in first.events) == 1
    always = play(ScriptedModel(model), boat_conversation, after_failure="continue")
    assert [problem.decision for problem in always.problems] == [0, 2]
    assert sum(isinstance(event, Repaired) for event in always.events) == 2


@pytest.mark.parametrize(
    ("answers", "missing"), [(["Which boat?", GET, "Done."], [2]), (["Which boat?", "One moment."], [0, 2])]
)
def test_calls_that_never_came_are_repaired_at_the_end(
    boat_conversation: Conversation, answers: list[Any], missing: list[int]
) -> None:
    """One missing call is one slip; the second one is a second failure."""
    trajectory = play(ScriptedModel(answers), boat_conversation, after_failure="repair-first")
    assert [problem.decision for problem in trajectory.problems] == missing
    assert {problem.category for problem in trajectory.problems} == {Category.MISSING_CALL}


def test_without_a_repair_only_the_first_missing_call_is_named(boat_conversation: Conversation) -> None:
    """The default: the first error ends the replay."""
    trajectory = play(ScriptedModel(lambda _: "One moment."), boat_conversation)
    assert [problem.decision for problem in trajectory.problems] == [0]
