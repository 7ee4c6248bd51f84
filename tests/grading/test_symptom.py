"""What went wrong in a trial: each detector on a trial made for it, and none on a good one."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from boatdomain import domain as boat_desk
from boats import DOMAIN, task
from retailshop import small_shop

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Event,
    Spoken,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    UserMessage,
)
from turngap.data.reward import Reward, Symptom, SymptomKind
from turngap.data.task import Action, Change, Component, Criteria, Fact, Intent, Scenario
from turngap.domains import LiveDomain
from turngap.domains.retail.domain import retail
from turngap.grading.grader import RewardGrader

WANTED = "2031-05-02"
SAID = f"It is on {WANTED}."


def _move(booking: str = "BK-1", date: str = WANTED) -> ToolCall:
    return ToolCall(name="move_booking", arguments={"booking_id": booking, "date": date})


def _grade(
    one: Task,
    *steps: ToolCall | str | UserMessage,
    domain: LiveDomain = DOMAIN,
    opening: str = f"Please move BK-1 to {WANTED}.",
    **known: Any,
) -> Reward:
    """Grade what an agent did and said; user messages in between stand as they are."""
    world = domain.world()
    events: list[Event] = [Spoken(message=UserMessage(content=opening))]
    for step in steps:
        if isinstance(step, str):
            events.append(Acted(message=AssistantMessage(content=step)))
        elif isinstance(step, UserMessage):
            events.append(Spoken(message=step))
        else:
            reply = world.reply(step)
            verdict = CallVerdict(accepted=reply.category is None, category=reply.category, detail=reply.detail)
            message = AssistantMessage(calls=(step,))
            events.append(Acted(message=message, results=(reply.message,), verdicts=(verdict,)))
    metadata = {"termination": Termination.USER_STOP.value, **known}
    trajectory = Trajectory(conversation="t", events=tuple(events), metadata=metadata)
    return asyncio.run(RewardGrader().grade(one, domain, trajectory, world))


def _found(one: Task, *steps: ToolCall | str | UserMessage, **known: Any) -> dict[SymptomKind, Symptom]:
    return {symptom.kind: symptom for symptom in _grade(one, *steps, **known).symptoms}


def test_a_good_trial_has_no_symptom() -> None:
    """What was wanted was done and said."""
    assert _grade(task(1), _move(), SAID).symptoms == ()


def test_another_record_is_a_wrong_entity() -> None:
    """The right change of another booking; the call is the evidence."""
    found = _found(task(1), _move("BK-2"), SAID)
    assert set(found) == {SymptomKind.WRONG_ENTITY}
    assert found[SymptomKind.WRONG_ENTITY].event == 1
    assert 'booking_id: reference "BK-1", prediction "BK-2"' in found[SymptomKind.WRONG_ENTITY].detail
    assert found[SymptomKind.WRONG_ENTITY].evidence.startswith('agent: move_booking(booking_id="BK-2"')


def test_another_value_is_a_wrong_argument() -> None:
    """The right booking on a wrong day."""
    found = _found(task(1), _move(date="2031-05-03"), SAID)
    assert set(found) == {SymptomKind.WRONG_ARGUMENT}
    assert "2031-05-03" in found[SymptomKind.WRONG_ARGUMENT].detail


def test_a_change_that_was_never_made_is_missing() -> None:
    """Nothing was done: the last message of the agent shows it."""
    found = _found(task(1), SAID)
    assert found[SymptomKind.MISSING_WRITE].event == 1
    assert found[SymptomKind.MISSING_WRITE].evidence == f'agent: "{SAID}"'


def test_a_missing_change_that_was_tried_says_what_the_tool_answered() -> None:
    """The agent cancelled the booking first, so that it could no longer be moved."""
    cancel = ToolCall(name="cancel", arguments={"booking_id": "BK-1042"})
    move = Action(name="move_booking", arguments={"booking_id": "BK-1042", "date": WANTED})
    one = Task(id="p", criteria=Criteria(actions=(move,), reward_basis=(Component.DB,)))
    found = _grade(one, cancel, move.call(), "Done.", domain=boat_desk()).symptoms
    assert [symptom.kind for symptom in found] == [SymptomKind.EXTRA_WRITE, SymptomKind.MISSING_WRITE]
    assert 'refused: {"error":"there is no booking BK-1042"}' in found[1].detail


def test_what_the_domain_refuses_to_the_reference_is_not_missing() -> None:
    """A past booking cannot be moved by anyone."""
    past = Action(name="move_booking", arguments={"booking_id": "BK-7", "date": WANTED})
    pay = Action(name="pay", arguments={"booking_id": "BK-1042", "amount": 5})
    one = Task(id="p", criteria=Criteria(actions=(past, pay), reward_basis=(Component.DB,)))
    found = _grade(one, "Done.", domain=boat_desk()).symptoms
    assert [symptom.detail for symptom in found] == ['never done: pay(booking_id="BK-1042", amount=5)']


def test_a_change_beyond_the_reference_is_an_extra_write() -> None:
    """The reference was done, and something else besides."""
    found = _found(task(1), _move(), _move("BK-3"), SAID)
    assert set(found) == {SymptomKind.EXTRA_WRITE}
    assert found[SymptomKind.EXTRA_WRITE].event == 2


def test_equal_reference_actions_take_a_call_each() -> None:
    """Of two equal actions of which one was done, one is missing, and the done one is not extra."""
    desk = boat_desk()
    pay = Action(name="pay", arguments={"booking_id": "BK-1042", "amount": 5})
    one = Task(id="p", criteria=Criteria(actions=(pay, pay), reward_basis=(Component.DB,)))
    found = _grade(one, pay.call(), "Done.", domain=desk).symptoms
    assert [symptom.kind for symptom in found] == [SymptomKind.MISSING_WRITE]


def test_forbidden_calls_are_attempts_even_when_refused() -> None:
    """The call counts, not what came of it."""
    criteria = Criteria(
        forbidden=(Action(name="move_booking", compare_args=()),), reward_basis=(Component.DB, Component.CONSTRAINT)
    )
    found = _found(Task(id="f", scenario=Scenario.INFEASIBLE, criteria=criteria), _move("BK-99"), "No.")
    assert found[SymptomKind.FORBIDDEN_ATTEMPT].event == 1


def test_rules_that_the_domain_checks_are_seen_in_failed_trials() -> None:
    """A call against a rule of the domain is a forbidden attempt, in the state as it was then."""
    move = ToolCall(name="move_booking", arguments={"booking_id": "BK-7", "date": WANTED})
    one = Task(id="r", criteria=Criteria(communicate=("sorry",), reward_basis=(Component.COMMUNICATE,)))
    found = _grade(one, move, "Done.", domain=boat_desk()).symptoms
    assert found[0].kind is SymptomKind.FORBIDDEN_ATTEMPT
    assert "past bookings stay as they are" in found[0].detail


def test_rules_that_look_back_see_what_the_agent_did_before() -> None:
    """Here the retail rule that the customer is found first: broken by the first look, and not by the one after it."""
    look = ToolCall(name="get_order_details", arguments={"order_id": "#W1"})
    find = ToolCall(name="find_user_id_by_email", arguments={"email": "noor@example.com"})
    one = Task(id="r", criteria=Criteria(communicate=("sorry",), reward_basis=(Component.COMMUNICATE,)))
    symptoms = _grade(one, look, find, look, "Done.", domain=retail(small_shop())).symptoms
    forbidden = [symptom for symptom in symptoms if symptom.kind is SymptomKind.FORBIDDEN_ATTEMPT]
    assert [symptom.event for symptom in forbidden] == [1]
    assert "before anything else" in forbidden[0].detail


def test_a_guess_in_place_of_a_question_is_no_clarification() -> None:
    """A value that only the user knew was wrong, and the user had not told it; once told, it is a wrong argument only."""
    one = msgspec.structs.replace(task(1), scenario=Scenario.AMBIGUOUS)
    vague = {"opening": "Please move BK-1."}
    guessed = _found(one, _move(date="2031-05-03"), SAID, **vague)
    assert guessed[SymptomKind.NO_CLARIFICATION].detail == "the user was never asked for date"
    told = _found(one, "When?", UserMessage(content=f"On {WANTED}."), _move(date="2031-05-03"), SAID, **vague)
    assert set(told) == {SymptomKind.WRONG_ARGUMENT}


def test_a_value_that_was_taken_back_is_a_stale_intent() -> None:
    """After the change of mind the old date is stale; before it, it is not."""
    intent = Intent(
        opening="Move BK-1 to 2031-05-09.",
        facts=(Fact(slot="date", value="2031-05-09"),),
        changes=(Change(says="Wait, 2031-05-02 is better.", facts=(Fact(slot="date", value=WANTED),)),),
    )
    one = msgspec.structs.replace(task(1), scenario=Scenario.CHANGING, intent=intent)
    turn = UserMessage(content="Wait, 2031-05-02 is better.")
    late = _found(one, "Shall I?", turn, _move(date="2031-05-09"), SAID)
    assert "which the user had changed to 2031-05-02" in late[SymptomKind.STALE_INTENT].detail
    assert SymptomKind.STALE_INTENT not in _found(one, _move(date="2031-05-09"), turn, SAID)


def test_each_fact_that_was_not_said_is_named() -> None:
    """The last message of the agent is the evidence."""
    found = _found(task(1), _move(), "Done.")
    assert set(found) == {SymptomKind.FACT_NOT_SAID}
    assert WANTED in found[SymptomKind.FACT_NOT_SAID].detail


def test_handing_over_is_needless_unless_the_reference_does() -> None:
    """By tool or in words alone; where the reference hands over, it is right."""
    over = ToolCall(name="hand_over", arguments={"summary": "x"})
    assert _found(task(1), _move(), SAID, over)[SymptomKind.NEEDLESS_TRANSFER].event == 3
    said = _found(task(1), _move(), SAID, termination=Termination.TRANSFER.value)
    assert said[SymptomKind.NEEDLESS_TRANSFER].evidence == f'agent: "{SAID}"'
    due = msgspec.structs.replace(task(1).criteria, required=(Action(name="hand_over", compare_args=()),))
    assert not _found(msgspec.structs.replace(task(1), criteria=due), _move(), SAID, over)


def test_the_same_step_three_times_is_a_loop() -> None:
    """Calls by what comes of them; words only as answers to the same words."""
    look = ToolCall(name="get_booking", arguments={"booking_id": "BK-1"})
    assert _found(task(1), look, look, look, _move(), SAID)[SymptomKind.LOOP].event == 3
    assert not _found(task(1), look, look, _move(), look, SAID)
    no = ("No.", UserMessage(content="But I need it."), "No.", UserMessage(content="Really?"), "No.")
    assert SymptomKind.LOOP not in _found(task(1), *no, _move(), SAID)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Termination.STEP_LIMIT, SymptomKind.STEP_LIMIT),
        (Termination.ERROR_LIMIT, SymptomKind.BROKE_OFF),
        (Termination.EMPTY_ANSWER, SymptomKind.BROKE_OFF),
        (Termination.CONTEXT_OVERFLOW, SymptomKind.BROKE_OFF),
    ],
)
def test_an_agent_without_an_end_is_named(ending: Termination, kind: SymptomKind) -> None:
    """Each way of not coming to an end is a symptom."""
    assert set(_found(task(1), _move(), SAID, termination=ending.value)) == {kind}


def test_calls_that_could_not_be_run_are_malformed() -> None:
    """Arguments that cannot be read, that the schema refuses, and unknown tools."""
    broken = ToolCall(name="move_booking", arguments=None, raw="{", error="line 1: ends early")
    unknown = ToolCall(name="fly", arguments={})
    misfit = ToolCall(name="get_booking", arguments={"booking": 1})
    found = _grade(task(1), broken, unknown, misfit, _move(), SAID).symptoms
    assert [(symptom.kind, symptom.event) for symptom in found] == [(SymptomKind.MALFORMED_CALL, n) for n in (1, 2, 3)]


def test_faults_of_the_user_are_named_and_not_the_agents() -> None:
    """A user that breaks its role is found, with its message as the evidence."""
    turn = UserMessage(content="As an AI language model I cannot want that.")
    found = _found(task(1), _move(), "Done?", turn, SAID)
    assert set(found) == {SymptomKind.USER_FAULT}
    assert found[SymptomKind.USER_FAULT].evidence.startswith('user: "As an AI')
