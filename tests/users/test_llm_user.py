"""The user that a model plays."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chatserver import ChatServer, Say
from talk import Phone, play, said, told

from turngap.config import ModelConfig
from turngap.data import (
    Acted,
    Action,
    AssistantMessage,
    Change,
    Criteria,
    Fact,
    Instructions,
    Intent,
    Prediction,
    Scenario,
    Spoken,
    Task,
    Termination,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from turngap.data.asking import GO_AHEAD
from turngap.errors import UserFault
from turngap.models.scripted import Answer, ScriptedModel
from turngap.users import Part, build
from turngap.users.faults import examine
from turngap.users.lapse import LapseKind
from turngap.users.llm import LlmSimulator, LlmUser
from turngap.users.prompt import ASK_AGAIN, NEUTRAL, system_text

MOVE = Action(name="move_booking", arguments={"booking_id": "BK-1042"})
TASK = Task(
    id="boat",
    instructions=Instructions(reason="You want to move BK-1042 to 2 May.", further="Be brief."),
    criteria=Criteria(actions=(MOVE,)),
)
OPENING = Task(id="boat", intent=Intent(opening="Please move BK-1042."), criteria=TASK.criteria)


def cast(*script: Answer, task: Task = TASK, hands: Phone | None = None) -> tuple[LlmUser, ScriptedModel]:
    """A user played by a scripted model, and that model."""
    model = ScriptedModel(script)
    return LlmSimulator(model).user(Part(task=task, hands=hands)), model


async def test_the_user_always_sees_its_own_opening() -> None:
    """USR-03: behind neutral first words stands the opening, in every later request."""
    user, model = cast("Yes.", "Thanks. ###STOP###", task=OPENING)
    trajectory, _ = await play([f"To 2 May? {GO_AHEAD}", MOVE.call(), "Done."], user, OPENING)
    assert said(trajectory) == ["Please move BK-1042.", "Yes.", "Thanks. ###STOP###"]
    opening = (UserMessage(content=NEUTRAL), AssistantMessage(content="Please move BK-1042."))
    assert [request.messages[:2] for request in model.requests] == [opening, opening]
    assert model.requests[1].messages[2:] == (
        UserMessage(content=f"To 2 May? {GO_AHEAD}"),
        AssistantMessage(content="Yes."),
        UserMessage(content="Done."),
    )


async def test_an_opening_of_its_own_is_seen_as_well() -> None:
    """USR-03: without structured intent the model opens, and sees that later."""
    user, model = cast("I want to move BK-1042.", "###STOP###")
    await play(["Done."], user, TASK)
    assert model.requests[0].messages == (UserMessage(content=NEUTRAL),)
    assert model.requests[1].messages[:2] == (
        UserMessage(content=NEUTRAL),
        AssistantMessage(content="I want to move BK-1042."),
    )


async def test_the_agents_calls_are_not_seen() -> None:
    """The customer sees what is said, not what is done at the desk, nor the agent's reasoning."""
    user, model = cast("Hello.", "###STOP###")
    call = AssistantMessage(content="Let me see.", calls=(MOVE.call(),), reasoning="secret")
    await play([call, "Done."], user, TASK)
    texts = [message.content for message in model.requests[1].messages]
    assert texts == [NEUTRAL, "Hello.", "Done."]


async def test_reasoning_is_removed_before_anyone_sees_it() -> None:
    """USR-05: by tag; by channel the model's own parsing does it. It is in no message of the agent's request."""
    thought = "<think>I am the customer, I must not give the code yet</think>Can you move it?"
    user, _ = cast(Prediction(message=AssistantMessage(content=thought, reasoning="hidden")), "###STOP###")
    trajectory, agent = await play(["No."], user, TASK)
    assert said(trajectory)[0] == "Can you move it?"
    assert "must not give" not in str(agent.requests)
    assert "hidden" not in str(agent.requests)
    assert not examine(trajectory, TASK, noticed=user.lapses)


async def test_reasoning_without_tags_marks_the_trial() -> None:
    """USR-05: what cannot be split off is found, and the trial is the user's error."""
    user, _ = cast('We need to act as the user. So send: "move it"', "###STOP###")
    trajectory, _ = await play(["Done."], user, TASK)
    (lapse,) = examine(trajectory, TASK)
    assert (lapse.kind, lapse.turn, lapse.mended) == (LapseKind.REASONING_LEAK, 1, False)


async def test_an_empty_reply_is_asked_for_once_more_in_other_words() -> None:
    """USR-06: once empty, the second request differs, and the trial goes on."""
    user, model = cast("", "Move it.", "###STOP###")
    trajectory, _ = await play(["Done."], user, TASK)
    assert said(trajectory) == ["Move it.", "###STOP###"]
    assert model.requests[0].messages != model.requests[1].messages
    assert model.requests[1].messages[-1].content.endswith(ASK_AGAIN)
    assert ASK_AGAIN not in str(model.requests[2].messages)


async def test_a_user_that_stays_silent_is_a_user_error() -> None:
    """USR-06: two empty replies end the trial with that reason, and what was said before is kept."""
    user, model = cast("Move it.", "", "")
    trajectory, _ = await play([f"Shall I? {GO_AHEAD}"], user, TASK)
    assert trajectory.metadata["termination"] == "user_error"
    assert trajectory.metadata["user_fault"]["kind"] == "empty_user"
    assert len(model.requests) == 3
    assert len(trajectory.events) == 2
    (lapse,) = examine(trajectory, TASK)
    assert (lapse.kind, lapse.turn) == (LapseKind.EMPTY_USER, 2)


async def test_silence_from_the_first_is_a_user_error() -> None:
    """USR-06: reasoning alone is silence, too."""
    user, _ = cast("<think>Hm.</think>", "")
    with pytest.raises(UserFault, match="said nothing in turn 1") as caught:
        await user.speak([])
    assert caught.value.kind == "empty_user"


async def test_an_endpoint_that_is_silent_always_and_once(chat_server: Callable[..., ChatServer]) -> None:
    """USR-06: over the wire, the second request is another one than the first."""
    empty, full = Say({"content": ""}), Say({"content": "Move it."})
    for script, words in (([empty, full], "Move it."), ([empty, empty], None)):
        server = chat_server(script)
        simulator = build(ModelConfig(spec="llm/openai/m", base_url=server.url))
        user = simulator.user(Part(task=TASK))
        if words is None:
            with pytest.raises(UserFault):
                await user.speak([])
        else:
            assert await user.speak([]) == (UserMessage(content=words),)
        await simulator.aclose()


async def test_a_yes_and_good_bye_in_one_breath_is_a_yes() -> None:
    """USR-01: the agent gets its turn and does the write; the lapse is listed as mended."""
    user, _ = cast("Move it.", "Yes please. ###STOP###", "###STOP###")
    trajectory, _ = await play(["Shall I move it to 2 May?", MOVE.call(), "Done."], user, TASK)
    assert said(trajectory) == ["Move it.", "Yes please.", "###STOP###"]
    assert [event.message.calls for event in trajectory.events if isinstance(event, Acted)][1] == (MOVE.call(),)
    (lapse,) = examine(trajectory, TASK, noticed=user.lapses)
    assert (lapse.kind, lapse.turn, lapse.mended) == (LapseKind.ENDS_EARLY, 2, True)


async def test_leaving_is_not_held_back_without_reason() -> None:
    """A no, a finished task, or no question: the user may go."""
    for agent, last in (
        (["Shall I move it to 2 May?"], "No, forget it. ###STOP###"),
        ([MOVE.call(), "Done. Shall I send a note?"], "Yes. ###STOP###"),
        (["It cannot be moved."], "All right. ###STOP###"),
    ):
        user, _ = cast("Move it.", last)
        trajectory, _ = await play(agent, user, TASK)
        assert said(trajectory)[-1] == last
        assert user.left is Termination.USER_STOP
        assert not user.lapses


async def test_tools_of_its_own_are_used_before_it_speaks() -> None:
    """Calls and results stand beside the words, the user sees them, and the agent does not."""
    phone = Phone("check_status_bar")
    call = ToolCall(name="check_status_bar", arguments={})
    user, model = cast("No signal.", call, "It shows no bars.", "###STOP###", hands=phone)
    trajectory, agent = await play(["What does the status bar show?", "Done."], user, TASK)
    spoken = [event for event in trajectory.events if isinstance(event, Spoken)]
    assert spoken[1].calls == (call,)
    assert spoken[1].results == (ToolMessage(name="check_status_bar", content="check_status_bar done"),)
    assert model.requests[0].tools == phone.tools
    assert model.requests[2].messages[-1].content == "check_status_bar done"
    assert model.requests[3].messages[3:5] == (AssistantMessage(calls=(call,)), spoken[1].results[0])
    assert "check_status_bar done" not in str(agent.requests)


async def test_a_user_that_only_acts_has_to_speak_in_the_end() -> None:
    """After ten rounds the tools are taken away for the rest of the turn."""
    call = ToolCall(name="check_status_bar", arguments={})
    user, model = cast("No signal.", *[call] * 10, "Nothing.", hands=Phone("check_status_bar"))
    first = await user.speak([])
    assert first is not None
    await user.speak(told("No signal.", "What does it show?"))
    assert [bool(request.tools) for request in model.requests] == [True] * 11 + [False]


async def test_calls_without_tools_are_no_words() -> None:
    """A model that makes calls although it has no tools has said nothing."""
    user, _ = cast(ToolCall(name="move_booking", arguments={}), "Move it.")
    assert await user.speak([]) == (UserMessage(content="Move it."),)


async def test_usage_is_summed() -> None:
    """What the user costs is known apart from the agent."""
    used = Usage(prompt_tokens=5, completion_tokens=2)
    user, _ = cast(*[Prediction(message=AssistantMessage(content="Hi."), usage=used)] * 2)
    await user.speak([])
    await user.speak(told("Hi.", "Hello?"))
    assert user.usage == Usage(prompt_tokens=10, completion_tokens=4)


async def test_a_given_history_is_seen_with_sides_changed() -> None:
    """It begins with words of the agent whoever spoke first; after the user's own words the agent goes on."""
    user, model = cast("Thanks. ###STOP###")
    assert await user.speak(told("Move it.")) == ()
    await user.speak(told("Move it.", "Done."))
    assert [message.content for message in model.requests[0].messages] == [NEUTRAL, "Move it.", "Done."]
    user, model = cast("Yes.")
    await user.speak(
        [AssistantMessage(content="Welcome."), UserMessage(content="Hi."), AssistantMessage(content="Yes?")]
    )
    assert [message.content for message in model.requests[0].messages] == ["Welcome.", "Hi.", "Yes?"]


async def test_the_agent_is_asked_alike_in_every_turn() -> None:
    """USR-09: policy and tools of turn 1, 2 and 5 are identical, and so is the stored digest of each."""
    user, model = cast(*[f"Words {number}." for number in range(6)], "###STOP###")
    trajectory, agent = await play([f"Answer {number}." for number in range(6)], user, TASK)
    assert len({str((request.policy, request.tools)) for request in agent.requests}) == 1
    assert "MARK-77" in agent.requests[4].policy
    asked = {event.asked for event in trajectory.events if isinstance(event, Acted)}
    assert len(asked) == 1
    assert len({str((request.policy, request.tools)) for request in model.requests}) == 1


def test_the_prompt_holds_persona_scenario_and_intent() -> None:
    """Every part of a task that the scripted user acts out stands in the prompt; a hint at tools only where there are."""
    intent = Intent(
        opening="Hi.",
        facts=(Fact(slot="zip", value="19122"), Fact(slot="date", value="", says="It is for 2 May.")),
        unknown=("order_id",),
        changes=(Change(says="Make it 3 May.", when="done", facts=(Fact(slot="date", value="3 May"),)),),
        insist=("I must have it!",),
        accepts=False,
    )
    task = Task(
        id="t",
        scenario=Scenario.INFEASIBLE,
        persona="A sailor.",
        instructions=Instructions(reason="You want a boat."),
        intent=intent,
    )
    text = system_text(task)
    for part in (
        "A sailor.",
        "You want a boat.",
        "My zip code is 19122.",
        "It is for 2 May.",
        "order id",
        "when the agent says that it is done, say: Make it 3 May. From then on: The date is 3 May.",
        "I must have it!",
        "insist as described",
        "agree to nothing",
        "###OUT-OF-SCOPE###",
    ):
        assert part in text
    assert "Your own tools" not in text
    assert "Your own tools" in system_text(task, hands=True)


def test_identity_names_prompt_and_model() -> None:
    """Another model or wording is another user."""
    simulator = LlmSimulator(ScriptedModel([], label="m"))
    assert simulator.label == "llm/m"
    assert simulator.identity()["model"] == {"kind": "scripted", "label": "m"}
    assert len(simulator.identity()["prompt"]) == 16
