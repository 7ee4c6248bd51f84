"""The prompts: exactly what a judge may see, rejected calls marked, nothing from after a decision."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Conversation,
    Finish,
    Prediction,
    Repaired,
    Spoken,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    decisions,
)
from turngap.judges import prompt
from turngap.judges.base import TurnCase, WorkflowCase


def sections(messages: list[dict[str, str]]) -> dict[str, Any]:
    """The decoded data of a request by its title."""
    assert [message["role"] for message in messages] == ["system", "user"]
    text = messages[1]["content"]
    code = text.split(" request is ", 1)[1].split(".", 1)[0]
    found = {}
    for block in text.split(f"END DATA {code}")[:-1]:
        before, _, content = block.rpartition(f"\nBEGIN DATA {code}\n")
        found[before.rpartition("\n")[2]] = json.loads(content)
    return found


def turn_case(conversation: Conversation, index: int, prediction: Prediction) -> TurnCase:
    """One decision of a conversation with a prediction."""
    return TurnCase(conversation=conversation, decision=list(decisions(conversation))[index], prediction=prediction)


@pytest.fixture
def secretive(boat_conversation: Conversation) -> Conversation:
    """The boat-hire conversation with reasoning, a goal and metadata, none of which a judge may see."""
    messages = tuple(
        msgspec.structs.replace(message, reasoning="HIDDEN-1") if isinstance(message, AssistantMessage) else message
        for message in boat_conversation.messages
    )
    return msgspec.structs.replace(
        boat_conversation, messages=messages, goal="HIDDEN-2", metadata={"instructions": "HIDDEN-3"}, reward=1.0
    )


def test_a_turn_shows_five_things(secretive: Conversation) -> None:
    """JDG-08: policy, tools, history before the decision, reference, prediction; no reasoning, no goal, no future."""
    prediction = Prediction(
        message=AssistantMessage(content="It is on 30 April.", reasoning="HIDDEN-4"), raw="HIDDEN-5"
    )
    messages = prompt.turn(turn_case(secretive, 1, prediction))
    shown = sections(messages)
    assert list(shown) == [
        "The policy:",
        "The tools:",
        "The conversation before this step:",
        "The reference, recorded at this point:",
        "The prediction, to be assessed:",
    ]
    assert shown["The policy:"] == secretive.policy
    assert [tool["name"] for tool in shown["The tools:"]] == [tool.name for tool in secretive.tools]
    history = shown["The conversation before this step:"]
    assert [entry["role"] for entry in history] == ["user", "assistant", "tool"]
    assert history[1]["calls"] == [{"tool": "get_booking", "arguments": {"booking_id": "BK-1042"}}]
    assert shown["The reference, recorded at this point:"]["content"].startswith("It is for two")
    assert shown["The prediction, to be assessed:"] == {"role": "assistant", "content": "It is on 30 April."}
    everything = json.dumps(messages)
    assert "HIDDEN" not in everything
    assert "Done, your booking" not in everything
    assert "move_booking" not in json.dumps([history, shown["The reference, recorded at this point:"]])


def test_broken_and_cut_predictions_are_shown_as_they_came(boat_conversation: Conversation) -> None:
    """The text of arguments that are no JSON stays visible, and an answer that was cut off says so."""
    broken = ToolCall(name="get_booking", arguments=None, raw='{"booking_id', error="unterminated")
    prediction = Prediction(message=AssistantMessage(calls=(broken,)), finish=Finish.LENGTH)
    shown = sections(prompt.turn(turn_case(boat_conversation, 0, prediction)))["The prediction, to be assessed:"]
    assert shown["cut_off"] is True
    assert shown["calls"] == [
        {"tool": "get_booking", "unreadable_arguments": '{"booking_id', "problem": "unterminated"}
    ]


def test_a_workflow_marks_every_call(secretive: Conversation) -> None:
    """JDG-08: two rejected calls and one recovered stand in the prompt with their results, in the order they came."""
    wrong = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042"})
    right = ToolCall(name="get_booking", arguments={"booking_id": "BK-1042"})
    refusal = ToolMessage(content='{"error": "not valid now"}', name="move_booking", error=True)
    rejected = CallVerdict(accepted=False, category=Category.WRONG_TOOL, attempt=1, detail="HIDDEN-6")
    events = (
        Spoken(message=UserMessage(content="Please move BK-1042 to 2 May.")),
        Acted(message=AssistantMessage(calls=(wrong,), reasoning="HIDDEN-7"), results=(refusal,), verdicts=(rejected,)),
        Acted(
            message=AssistantMessage(content="One moment.", calls=(wrong, right)),
            results=(refusal, ToolMessage(content="{}", name="get_booking")),
            verdicts=(rejected, CallVerdict(accepted=True, decision=0)),
            raw="HIDDEN-8",
        ),
        Acted(message=AssistantMessage(content="Shall I?"), finish=Finish.LENGTH),
        Repaired(decision=2, message=AssistantMessage(calls=(right,)), results=(ToolMessage(content="{}"),)),
    )
    trajectory = Trajectory(conversation=secretive.id, events=events, metadata={"x": "HIDDEN-9"})
    messages = prompt.workflow(WorkflowCase(conversation=secretive, trajectory=trajectory))
    shown = sections(messages)
    assert list(shown) == [
        "The policy:",
        "The tools:",
        "The reference conversation:",
        "The candidate's replay, to be assessed:",
    ]
    assert len(shown["The reference conversation:"]) == len(secretive.messages)
    replay = shown["The candidate's replay, to be assessed:"]
    assert [[call["status"] for call in entry.get("calls", [])] for entry in replay] == [
        [],
        ["rejected"],
        ["rejected", "accepted"],
        [],
        ["accepted"],
    ]
    assert replay[1]["calls"][0]["result"] == {"content": '{"error": "not valid now"}', "error": True}
    assert replay[3]["cut_off"] is True
    assert replay[4]["inserted_from_recording"] is True
    assert "HIDDEN" not in json.dumps(messages)


def test_asking_again_changes_the_request(boat_conversation: Conversation) -> None:
    """A second request differs from the first, so no cache can repeat the first reply."""
    case = turn_case(boat_conversation, 1, Prediction(message=AssistantMessage(content="Yes.")))
    first = prompt.turn(case)
    assert prompt.turn(case) == first
    second = prompt.again(first, "it was empty", briefly=True)
    assert second[0] == first[0]
    assert second[1]["content"].startswith(first[1]["content"])
    assert "it was empty" in second[1]["content"]


def test_a_case_that_starts_late_shows_what_was_given(boat_conversation: Conversation) -> None:
    """A judge must not hold against the candidate that it did not do what was done before it began."""
    case = msgspec.structs.replace(boat_conversation, start=2)
    replayed = Trajectory(conversation="boat", events=(Spoken(message=UserMessage(content="Yes.")),))
    shown = sections(prompt.workflow(WorkflowCase(conversation=case, trajectory=replayed)))
    given = shown["The part of it that was given to the candidate:"]
    assert [message["role"] for message in given] == ["user", "assistant", "tool", "assistant"]
    whole = sections(prompt.workflow(WorkflowCase(conversation=boat_conversation, trajectory=replayed)))
    assert len(whole) == len(shown) - 1
