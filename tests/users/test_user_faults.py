"""What simulated users do wrong."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from talk import play, trial

from turngap.config import DataConfig
from turngap.data import (
    Action,
    AssistantMessage,
    Criteria,
    Fact,
    Instructions,
    Intent,
    Spoken,
    Task,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from turngap.formats import read
from turngap.models.scripted import ScriptedModel
from turngap.users import Part
from turngap.users.faults import examine, is_user_error, undone
from turngap.users.lapse import Lapse, LapseKind
from turngap.users.llm import LlmSimulator

MOVE = Action(name="move_booking", arguments={"booking_id": "BK-10423", "seats": 2})
TASK = Task(
    id="boat",
    persona="You are a retired captain who has seen all the seas there are to be seen.",
    instructions=Instructions(
        reason="You want to move booking BK-10423 to 2 May.",
        known="You are Ada Byron in zip code 19122, your email is ada@example.com.",
        further="If the agent asks you for a reason, you tell it that the weather is bad on that day.",
    ),
    criteria=Criteria(actions=(Action(name="get_booking", arguments={"booking_id": "BK-10423"}), MOVE)),
)


def says(text: str, *calls: ToolCall) -> AssistantMessage:
    """A message of the agent."""
    return AssistantMessage(content=text, calls=calls)


def kinds(trajectory: Trajectory, task: Task = TASK) -> list[tuple[str, int]]:
    """What is found, and in which turn of the user."""
    return [(lapse.kind.value, lapse.turn) for lapse in examine(trajectory, task)]


def test_a_clean_trial_has_no_lapses() -> None:
    """The user tells what it knows, agrees, and leaves when the work is done."""
    trajectory = trial(
        "Hello, please move booking BK-10423 to 2 May.",
        says("Could you tell me your email?"),
        "It is ada@example.com, and I live in 19122.",
        says("Shall I move it to 2 May?"),
        "Yes, please.",
        says("", MOVE.call()),
        says("Done. Anything else?"),
        "No. ###STOP###",
    )
    assert kinds(trajectory) == []


def test_leaving_with_a_yes_while_a_write_is_open() -> None:
    """USR-01: detected in a stored trial; not after the write, not with a no, not where nothing was asked."""
    opening = "Please move booking BK-10423."
    question = says("Shall I move it to 2 May?")
    assert kinds(trial(opening, question, "Yes please. ###STOP###")) == [("ends_early", 2)]
    assert kinds(trial(opening, question, "###STOP###")) == [("ends_early", 2)]
    assert kinds(trial(opening, says("", MOVE.call()), question, "Yes please. ###STOP###")) == []
    assert kinds(trial(opening, question, "No, leave it. ###STOP###")) == []
    assert kinds(trial(opening, says("It cannot be moved."), "All right. ###STOP###")) == []
    other = ToolCall(name="move_booking", arguments={"booking_id": "BK-10423", "seats": 3})
    assert kinds(trial(opening, says("", other), question, "Yes. ###STOP###")) == [("ends_early", 2)]


def test_what_is_undone() -> None:
    """Reads do not count, each call does one action, numbers compare by value, and compared arguments may be few."""
    twice = Task(id="t", criteria=Criteria(actions=(MOVE, MOVE)))
    call = ToolCall(name="move_booking", arguments={"seats": 2.0, "booking_id": "BK-10423"})
    assert undone(TASK, []) == (MOVE,)
    assert undone(TASK, [call]) == ()
    assert undone(twice, [call]) == (MOVE,)
    assert undone(TASK, [], writes={"get_booking"}) == (TASK.criteria.actions[0],)
    loose = Task(id="t", criteria=Criteria(actions=(msgspec.structs.replace(MOVE, compare_args=("booking_id",)),)))
    assert undone(loose, [ToolCall(name="move_booking", arguments={"booking_id": "BK-10423"})]) == ()
    assert undone(loose, [ToolCall(name="move_booking", arguments=None)]) != ()


def test_saying_the_opening_again() -> None:
    """USR-03: word for word, whatever the punctuation; not when the agent asked the same again, nor a short yes."""
    opening = "Please move booking BK-10423 to 2 May."
    assert kinds(trial(opening, says("It is for two."), "please move booking BK-10423 to 2 May")) == [
        ("repeats_itself", 2)
    ]
    asked = says("What is your email?")
    assert kinds(trial("Hello.", asked, "My email is ada@example.com.", asked, "My email is ada@example.com.")) == []
    assert kinds(trial("Hi.", says("Shall I?"), "Yes, please do.", says("And a note?"), "Yes, please do.")) == []


def test_usr_10_waiting_is_no_lapse_however_often() -> None:
    """USR-10: words that name nothing may come again unasked, whoever says them; at the start they may not."""
    waiting = says("I will look into it.")
    for words in ("All right. Please go on if there is anything left to do.", "Okay, thank you, I'll wait."):
        assert kinds(trial("Please move BK-10423.", waiting, words, waiting, words)) == []
    opening = "Hello, can you help me?"
    assert kinds(trial(opening, waiting, opening)) == [("repeats_itself", 2)]
    fact = "It is for two people, by the way."
    assert kinds(trial("Hi.", waiting, fact, waiting, fact)) == [("repeats_itself", 3)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("How can I help you today?", "role_break"),
        ("As an AI, I cannot know that.", "role_break"),
        ("I have processed your refund.", "role_break"),
        ("Hello, I'm a creative AI. I can do whatever you need.", "role_break"),
        ("I\u2019m an AI assistant.", "role_break"),
        ("I am just a virtual assistant and cannot know that.", "role_break"),
        ("I'm an AI designed to serve people.", "role_break"),
        ("Hi, I'm a helpful assistant!", "role_break"),
        ("I'm here to help with whatever you need.", "role_break"),
        ("I'm sorry, I'm unable to provide a job id. I'm here to assist you with whatever you need.", "role_break"),
        ("I'm here to help.", "role_break"),
        ("What can I help you with?", "role_break"),
        ("What can I do for you today?", "role_break"),
        ("How may I be of assistance?", "role_break"),
        ("Sure, I'd be happy to help you with that.", "role_break"),
        ("Let me know how I can assist you.", "role_break"),
        ("I can help you with your booking.", "role_break"),
        ("I'm sorry, but I cannot assist you with that.", "role_break"),
        ("I'm sorry, I'm not an AI. I'm unable to provide you with a response.", "role_break"),
        ("Could you please provide your order number?", "role_break"),
        ("Please confirm your email address.", "role_break"),
        ("Thank you for reaching out!", "role_break"),
        ("Your booking has been moved. Have a nice day.", "role_break"),
        ('We need to act as the user. So send: "move it"', "reasoning_leak"),
        ("</think> Can you move it?", "reasoning_leak"),
        ("As the customer, I should not give the code yet. Move it.", "reasoning_leak"),
        ("The agent asked for my email. Here it is.", "reasoning_leak"),
        ("My instructions say that I should be brief.", "instructions_leak"),
        ("If the agent asks you for a reason, you tell it that the weather is bad.", "instructions_leak"),
        ("You are a retired captain who has seen all the seas there are.", "instructions_leak"),
        ("My email is ada.byron@mail.com.", "invented_fact"),
        ("It is order #W1234567.", "invented_fact"),
        ("My reservation is ZX81QL.", "invented_fact"),
    ],
)
def test_messages_out_of_role(text: str, kind: str) -> None:
    """USR-05: each leak and break has its kind, and points at the turn."""
    assert kinds(trial("Hello.", says("What is it about?"), text)) == [(kind, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "Can you help me? Is there anything else I can do?",
        "I spoke to the agent yesterday, and she told me it was fine.",
        "You said that my booking has been moved, but it was not.",
        "I want to move booking bk 10423 to 2 May, I am Ada Byron in 19122.",
        "The weather is bad on that day.",
        "I think we need to act quickly.",
        "I'm sorry, I'm unable to provide that number, and thank you for your patience.",
        "I am here to help my mother with her booking, how can I help her best?",
        "I'm an AI researcher and an assistant professor.",
        "I'm a virtual assistant for a law firm and I'm an AI developer by night.",
        "I'm an assistant at the harbour office.",
        "Can you provide me with your opening hours? Please tell me your policy on dogs.",
        "Please let me know what else you need from me. Is there anything else you need?",
        "Am I talking to an AI? You said that you are here to help.",
    ],
)
def test_messages_in_role(text: str) -> None:
    """Ordinary talk of customers is no lapse."""
    assert kinds(trial("Hello.", says("What is it about?"), text)) == []


@pytest.mark.parametrize(
    ("name", "least"), [("tau-bench/gpt-4o-airline-tasks-00-24.json", 800), ("sgd", 1700), ("tooltalk/easy", 20)]
)
def test_real_users_do_not_break_their_role(shared: Path, name: str, least: int) -> None:
    """What people and good simulators of people said in recordings is never taken for an assistant's talk."""
    reading = read(DataConfig(paths=(str(shared / name),)))
    said = [one.content for chat in reading for one in chat.messages if isinstance(one, UserMessage) and one.content]
    assert len(said) >= least
    found = [text for text in said if ("role_break", 1) in kinds(trial(text))]
    assert found == []


def test_what_was_heard_or_seen_is_not_invented() -> None:
    """A value from the agent, from the user's own tools, or from structured intent may be said."""
    intent = Intent(opening="Hi.", facts=(Fact(slot="order", value="#W7654321"),))
    task = Task(id="t", intent=intent)
    seen = Spoken(
        message=UserMessage(content="It shows 998877."),
        calls=(ToolCall(name="look", arguments={}),),
        results=(ToolMessage(name="look", content="code 998877"),),
    )
    trajectory = trial(
        "Hi.", says("Is it order #W1234567?"), "No, not #W1234567, #W7654321.", says("And the code?"), seen
    )
    assert kinds(trajectory, task) == []


def test_mended_lapses_do_not_spoil_a_trial() -> None:
    """They are listed, once, and the trial counts."""
    mended = Lapse(kind=LapseKind.ENDS_EARLY, turn=2, detail="held back", mended=True)
    found = examine(trial("Hi.", says("Shall I?"), "Yes."), TASK, noticed=(mended,))
    assert found == (mended,)
    assert not is_user_error(found)
    assert is_user_error((mended, Lapse(kind=LapseKind.ROLE_BREAK, turn=3, detail="")))
    assert not is_user_error(())


async def test_five_of_twenty_trials_are_the_users_fault() -> None:
    """USR-10: exactly the trials in which the user broke its role are found, whatever the agent did."""
    script = ["Please move BK-10423.", "Yes."]
    broken = [*script, "How can I help you today? ###STOP###"]
    spoilt = []
    for number in range(20):
        model = ScriptedModel(broken if number % 4 == 1 else [*script, "Thanks. ###STOP###"])
        user = LlmSimulator(model).user(Part(task=TASK, trial=number))
        agent = ["Shall I?", MOVE.call() if number % 2 else "No.", "Done."]
        trajectory, _ = await play(agent, user, TASK)
        if is_user_error(examine(trajectory, TASK, noticed=user.lapses)):
            spoilt.append(number)
    assert spoilt == [1, 5, 9, 13, 17]
