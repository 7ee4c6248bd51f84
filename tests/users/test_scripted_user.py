"""The scripted user."""

from __future__ import annotations

from pathlib import Path

import pytest
from talk import Phone, play, said, told

from turngap.config import ModelConfig
from turngap.data import (
    Action,
    AssistantMessage,
    Change,
    Criteria,
    Fact,
    Intent,
    Message,
    Remark,
    Scenario,
    Spoken,
    SystemMessage,
    Task,
    Termination,
    ToolCall,
    UserMessage,
)
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD, HANDED_OVER, question
from turngap.errors import UsageError
from turngap.formats import tasks
from turngap.users import Part, build
from turngap.users.scripted import ScriptedUser

INTENT = Intent(
    opening="Please move BK-1042.",
    facts=(Fact(slot="email", value="ada@example.com"), Fact(slot="date", value="2 May")),
    remarks=(Remark(says="It is for a birthday."), Remark(says="I like red.", about="the colour of the boat")),
    unknown=("zip",),
)


async def say(user: ScriptedUser, *texts: str) -> list[str]:
    """Let the agent say `texts` in turn; what the user answers, its opening first."""
    history: list[Message] = []
    answers: list[str] = []
    for text in ("", *texts):
        if text:
            history.append(AssistantMessage(content=text))
        turn = await user.speak(history)
        assert turn is not None
        (words,) = turn
        message = words.message if isinstance(words, Spoken) else words
        assert not isinstance(message, SystemMessage)
        history.append(message)
        answers.append(message.content)
    return answers


def user(intent: Intent = INTENT, *, scenario: Scenario = Scenario.GENERAL) -> ScriptedUser:
    """A user with this intent."""
    return ScriptedUser(Task(id="t", scenario=scenario, intent=intent))


async def test_facts_are_told_when_asked_for_and_not_before() -> None:
    """The opening word for word, then each fact only to a question for it (scenario: ambiguous)."""
    opening, first, second = await say(user(), question(["email"]), question(["date"]))
    assert opening == "Please move BK-1042."
    assert first == "My email is ada@example.com."
    assert second == "The date is 2 May."


async def test_several_facts_and_unknown_ones() -> None:
    """All that is asked for is answered; what the user does not know, it says."""
    *_, answer = await say(user(), question(["email"], ["zip", "date"]))
    assert answer == "My email is ada@example.com. I do not know my zip code. The date is 2 May."


async def test_of_two_facts_of_one_slot_the_one_told_with_its_neighbour() -> None:
    """Asked for name and zip code it tells where it lives, not where it moves to; asked for the zip code alone, both."""
    moving = Intent(
        opening="I am moving.",
        facts=(
            Fact(slot="last_name", value="Byron", says="I am Ada Byron, zip code 83702."),
            Fact(slot="zip", value="83702", says="I am Ada Byron, zip code 83702."),
            Fact(slot="city", value="Reno", says="It is in Reno, 89501."),
            Fact(slot="zip", value="89501", says="It is in Reno, 89501."),
        ),
    )
    *_, answer = await say(user(moving), question(["last_name", "zip"]))
    assert answer == "I am Ada Byron, zip code 83702."
    *_, answer = await say(user(moving), question(["zip"]))
    assert answer == "I am Ada Byron, zip code 83702. It is in Reno, 89501."


async def test_a_question_for_a_yes_gets_one() -> None:
    """And a fact that is asked for beside it is told as well."""
    *_, answer = await say(user(), f"I will move BK-1042. {GO_AHEAD}")
    assert answer == "Yes, please."
    *_, answer = await say(user(), f"I will move BK-1042. {GO_AHEAD} Also, what is your email?")
    assert answer == "Yes, please. My email is ada@example.com."
    *_, answer = await say(user(Intent(opening="Hi.", accepts=False)), GO_AHEAD)
    assert answer == "No, thank you."


async def test_free_questions_find_the_remark_they_touch() -> None:
    """By its words, or by the words it is about."""
    *_, first, second = await say(user(), "Is it for a birthday party?", "What colour of boat shall it have?")
    assert first == "It is for a birthday."
    assert second == "I like red."


async def test_a_drift_comes_at_its_set_point_and_is_held_to() -> None:
    """The change is said once, its facts replace the old ones, and a stale proposal gets a no (scenario: changing)."""
    drift = Change(says="Make it 3 May instead.", when="confirm", facts=(Fact(slot="date", value="3 May"),))
    changing = user(Intent(opening="Hi.", facts=INTENT.facts, changes=(drift,)))
    _, first, stale, right, asked = await say(
        changing,
        f"I move it to 2 May. {GO_AHEAD}",
        f"I move it to 2 May. {GO_AHEAD}",
        f"I move it to 3 May. {GO_AHEAD}",
        question(["date"]),
    )
    assert first == "Make it 3 May instead."
    assert stale == "No. The date is 3 May."
    assert right == "Yes, please."
    assert asked == "The date is 3 May."


async def test_an_added_issue_comes_when_the_agent_is_done() -> None:
    """Instead of leaving; the second time the user leaves."""
    added = Change(says="I also need a life vest.", when="done", kind="addition", facts=(Fact(slot="vest", value="L"),))
    *_, first, fact, last = await say(
        user(Intent(opening="Hi.", changes=(added,))), f"Done. {ANYTHING_ELSE}", question(["vest"]), ANYTHING_ELSE
    )
    assert first == "I also need a life vest."
    assert fact == "The vest is L."
    assert last == "Thank you, that is all. ###STOP###"


async def test_a_change_at_a_numbered_reply() -> None:
    """The set point may be a reply of the user, the opening not counted."""
    change = Change(says="By the way, is there parking?", when="turn", turn=2, kind="addition")
    _, first, second = await say(user(Intent(opening="Hi.", changes=(change,))), GO_AHEAD, GO_AHEAD)
    assert (first, second) == ("Yes, please.", "By the way, is there parking?")


async def test_refusals_are_not_taken_at_once() -> None:
    """All that the user insists with is said, in order, and then the refusal is accepted (scenario: infeasible)."""
    stubborn = user(Intent(opening="Sell me the boat.", insist=("Please!", "I pay double.")))
    no = "I am sorry, that is not possible."
    instead = f"{no} Would you like me to transfer you to a human agent instead?"
    _, first, second, third = await say(stubborn, no, instead, no)
    assert (first, second) == ("Please!", "I pay double.")
    assert third.endswith("###STOP###")
    assert stubborn.left is Termination.USER_STOP


async def test_a_proposal_with_a_warning_is_no_refusal() -> None:
    """A yes to what is wanted is not held back because something cannot be undone."""
    *_, answer = await say(user(Intent(opening="Hi.", insist=("Please!",))), f"This cannot be undone. {GO_AHEAD}")
    assert answer == "Yes, please."


async def test_being_handed_over_ends_it() -> None:
    """With the mark of a transfer, and nothing after."""
    served = user()
    *_, last = await say(served, HANDED_OVER)
    assert last.endswith("###TRANSFER###")
    assert served.left is Termination.TRANSFER
    assert await served.speak([]) is None


async def test_patience_ends() -> None:
    """Questions that it has no answer to get its wish again, and are out of scope after three more; talk that leads nowhere is left after three."""
    lost = user()
    _, wish, *first, last = await say(lost, *["How deep is the sea?"] * 4)
    assert wish == "As I said: Please move BK-1042."
    assert not any("###" in words for words in first)
    assert last.endswith("###OUT-OF-SCOPE###")
    idle = user()
    *_, last = await say(idle, *["I am working on it."] * 3)
    assert last.endswith("###STOP###")
    again = user()
    *_, last = await say(again, *[question(["email"])] * 4)
    assert again.left is Termination.OUT_OF_SCOPE
    assert last.startswith("I have already told you")


async def test_reports_do_not_end_it_at_once() -> None:
    """USR-01: after a report the agent gets another turn, since more may be left to do."""
    served = user()
    *_, answer = await say(served, "Your booking has been moved.")
    assert answer == "Thank you. All right. Please go on if there is anything left to do."
    assert served.left is None


async def test_its_own_tools_are_used_when_asked_for() -> None:
    """By name or in words, with the arguments of its own reference action, and what they show is told.

    Talk about what a tool changes does not use it.
    """
    phone = Phone("toggle_airplane_mode", "check_status_bar", "set_network", "toggle_data")
    action = Action(name="set_network", arguments={"mode": "4g"}, requestor="user")
    served = ScriptedUser(Task(id="t", intent=INTENT, criteria=Criteria(actions=(action,))), hands=phone)
    answers = await say(
        served,
        "Please use toggle_airplane_mode.",
        "Could you look at the status bar and then set the network?",
        "The status bar shows a lot.",
        "Does your mobile data work?",
        "Please turn the data off.",
    )
    assert [call.name for call in phone.used] == [
        "toggle_airplane_mode",
        "check_status_bar",
        "set_network",
        "toggle_data",
    ]
    assert phone.used[2].arguments == {"mode": "4g"}
    assert answers[1] == "toggle_airplane_mode: toggle_airplane_mode done"


async def test_a_tool_that_is_named_is_the_only_one_meant() -> None:
    """The words inside its name use no other tool; of several own actions of it, the one that the agent names is done."""
    phone = Phone("toggle_data", "toggle_data_saver_mode", "grant")
    actions = tuple(
        Action(name="grant", arguments={"permission": name}, requestor="user") for name in ("sms", "storage")
    )
    served = ScriptedUser(Task(id="t", intent=INTENT, criteria=Criteria(actions=actions)), hands=phone)
    await say(served, "Please use toggle_data_saver_mode.", "Please use grant with permission storage.")
    assert [call.name for call in phone.used] == ["toggle_data_saver_mode", "grant"]
    assert phone.used[1].arguments == {"permission": "storage"}


async def test_the_opening_is_said_once() -> None:
    """USR-07: one user message before the first agent turn, sides take turns, and each is stored once."""
    task = Task(id="t", intent=INTENT)
    script = [ToolCall(name="move_booking", arguments={}), f"Shall I move it? {GO_AHEAD}", f"Done. {ANYTHING_ELSE}"]
    trajectory, _ = await play(script, ScriptedUser(task), task)
    sides = [
        "user" if isinstance(message, UserMessage) else "agent"
        for message in trajectory.messages()
        if isinstance(message, UserMessage) or (isinstance(message, AssistantMessage) and not message.calls)
    ]
    assert sides == ["user", "agent", "user", "agent", "user"]
    assert said(trajectory) == ["Please move BK-1042.", "Yes, please.", "Thank you, that is all. ###STOP###"]
    assert trajectory.metadata["termination"] == "user_stop"


async def test_a_given_history_is_gone_on_with() -> None:
    """After the user's own words the agent goes on; after the agent's, the user says what it wants."""
    after_user = told("Hello.")
    assert await user().speak(after_user) == ()
    after_agent = told("Hello.", "Done.")
    assert await user().speak(after_agent) == (UserMessage(content="Please move BK-1042."),)


async def test_the_same_words_get_the_same_answers(shared: Path) -> None:
    """Two users of one real task, in any trial, say the same to the same agent."""
    simulator = build(ModelConfig(spec="scripted"))
    talk = [question(["email"], ["first_name", "last_name", "zip"]), "Which item?", GO_AHEAD, GO_AHEAD, ANYTHING_ELSE]
    for task in tasks.read(shared / "tau2-head" / "retail-tasks.json").tasks[:20]:
        first, second = (simulator.user(Part(task=task, trial=trial)) for trial in (0, 7))
        history: list[Message] = []
        for text in ("", *talk):
            history += [AssistantMessage(content=text)] if text else []
            turn = await first.speak(history)
            assert turn == await second.speak(history)
            history += [words for words in turn or () if isinstance(words, UserMessage)]


def test_options_are_checked() -> None:
    """A typing error is a usage error that names the option."""
    assert build(ModelConfig(spec="scripted?patience=5")).identity()["patience"] == 5
    for spec, problem in (
        ("scripted?patienc=5", "known: patience"),
        ("scripted?patience=0", "whole number from 1"),
        ("llm", "names no model"),
        ("recorded", "names no file"),
        ("nobody", "unknown user 'nobody'; known: llm, recorded, scripted"),
    ):
        with pytest.raises(UsageError, match=problem):
            build(ModelConfig(spec=spec))
