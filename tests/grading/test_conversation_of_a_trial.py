"""A finished trial as a recorded conversation: what the agent saw and did, and nothing else."""

from __future__ import annotations

import msgspec
from talk import trial

from turngap.data import (
    Acted,
    Action,
    AssistantMessage,
    Criteria,
    Instructions,
    Spoken,
    Task,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from turngap.data.conversation import check, decisions
from turngap.grading.conversation import conversation

CALL = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042"})
TASK = Task(
    id="boat",
    instructions=Instructions(reason="You want to move BK-1042."),
    criteria=Criteria(
        actions=(
            Action(name="move_booking", arguments={"booking_id": "BK-1042"}, compare_args=("booking_id",)),
            Action(name="pay", arguments={"amount": 1}),
            Action(name="pay", arguments={"amount": 2}, compare_args=()),
            Action(name="look", requestor="user", compare_args=()),
        )
    ),
)


def test_it_holds_what_the_agent_saw_and_did() -> None:
    """Policy, goal, reward and messages; the user's own calls and the mark of leaving are not in it."""
    looked = Spoken(
        message=UserMessage(content="It says BK-1042."),
        calls=(ToolCall(name="look", arguments={}),),
        results=(ToolMessage(name="look", content="BK-1042"),),
    )
    played = trial(
        "Hello.",
        AssistantMessage(content="Which one?"),
        looked,
        AssistantMessage(calls=(CALL,)),
        AssistantMessage(content="Done."),
        "Thank you. ###STOP###",
    )
    events = [
        msgspec.structs.replace(one, results=(ToolMessage(name="move_booking", content="{}"),))
        if isinstance(one, Acted) and one.message.calls
        else one
        for one in played.events
    ]
    played = msgspec.structs.replace(played, events=tuple(events))
    found = conversation(TASK, played, policy="Be kind.", tools=(), reward=1.0)
    assert check(found) is None
    assert [message.content for message in found.messages if isinstance(message, UserMessage)] == [
        "Hello.", "It says BK-1042.", "Thank you.",
    ]  # fmt: skip
    assert [one.reference.calls for one in decisions(found)] == [(), (CALL,), ()]
    assert (found.id, found.policy, found.goal, found.reward) == (
        "boat/0", "Be kind.", "You want to move BK-1042.", 1.0,
    )  # fmt: skip
    assert found.compare_args == {"move_booking": ("booking_id",)}
    assert found.metadata["scenario"] == "general"


def test_what_was_said_before_comes_first_and_silence_is_left_out() -> None:
    """Given messages open it; a bare mark and an empty answer leave no message behind."""
    given = (UserMessage(content="Hi."), AssistantMessage(content="Hello, what is it?"))
    task = msgspec.structs.replace(TASK, given=given)
    found = conversation(task, trial("Move it.", AssistantMessage(content="")), policy="", tools=())
    assert [message.content for message in found.messages] == ["Hi.", "Hello, what is it?", "Move it."]
    found = conversation(task, trial("Move it.", AssistantMessage(content="No."), "###STOP###"), policy="", tools=())
    assert [message.content for message in found.messages][-1] == "No."
    assert check(found) is None
