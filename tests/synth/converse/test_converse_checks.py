"""The offline judges: what they reject and why, one fault at a time."""

from __future__ import annotations

import boatdomain
import msgspec
import pytest
from converseplay import DONE, GOOD, LOOK, MOVE, PROPOSAL, call, case, kinds, opinion, played

from turngap.data import AssistantMessage, Spoken, Task, ToolCall, UserMessage
from turngap.data.task import Action, Component, Criteria, Fact, Instructions, Intent, Scenario
from turngap.models.scripted import Answer
from turngap.synth.converse.checks import RewardReviewer, RulesReviewer
from turngap.synth.converse.review import Case

RULES, REWARD = RulesReviewer(), RewardReviewer()


def test_a_good_conversation_is_approved_by_both() -> None:
    """Looked up, asked for a yes, moved, told."""
    one = played(GOOD)
    assert opinion(RULES, one).reasons == () and opinion(RULES, one).approved
    assert opinion(REWARD, one).approved


FAULTS: dict[str, tuple[tuple[Answer, ...], str]] = {
    "writes before the yes": ((LOOK, MOVE, DONE), "write without a yes"),
    "takes the opening for a yes": ((MOVE, DONE), "write without a yes"),
    "says it is done and did nothing": (
        (LOOK, "I have moved it to 2031-05-02. Is there anything else that I can do for you?"),
        "change only said",
    ),
    "hands over in words": ((LOOK, "You are being transferred to a human agent. Please hold on."), "hand-over only said"),
    "forgets the move": ((LOOK, "Is there anything else that I can do for you?"), "expected step missing"),
    "moves twice": ((LOOK, PROPOSAL, MOVE, PROPOSAL, MOVE, DONE), "step that nobody expects"),
    "moves what nobody named": (
        (LOOK, PROPOSAL, call("move_booking", booking_id="BK-3", date="2031-05-02"), MOVE, DONE),
        "argument from nowhere",
    ),
    "claims a seat that no result has": (
        (LOOK, PROPOSAL, MOVE, "It is on 2031-05-02, berth 77. Is there anything else that I can do for you?"),
        "claim from nowhere",
    ),
    "calls a tool that there is not": ((call("find_boat"), PROPOSAL, MOVE, DONE), "invalid call"),
    "calls with malformed arguments": (
        (ToolCall(name="get_booking", arguments=None, raw="{", error="not JSON"), PROPOSAL, MOVE, DONE),
        "invalid call",
    ),
    "leaves a refusal unanswered": (
        (call("get_booking", booking_id="1"), PROPOSAL, MOVE, DONE),
        "refusal left unanswered",
    ),
    "goes on and on": ((LOOK,), "it did not end"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named(fault: str) -> None:
    """Conversations that are good but for one fault are rejected by `rules` for that fault."""
    answers, kind = FAULTS[fault]
    assert kind in kinds(opinion(RULES, played(answers)))


@pytest.mark.parametrize("fault", ["forgets the move", "moves what nobody named", "goes on and on"])
def test_the_reward_rejects_what_ends_elsewhere(fault: str) -> None:
    """Another final state, or no end, is no reward; the component is named."""
    found = opinion(REWARD, played(FAULTS[fault][0]))
    assert not found.approved and found.reasons


def test_a_refusal_that_is_told_is_answered() -> None:
    """Telling the customer, or the same tool going through later, settles a refusal."""
    told = (
        call("get_booking", booking_id="1"),
        "I am sorry, I do not find it. What is the booking id?",
        PROPOSAL,
        MOVE,
        DONE,
    )
    assert "refusal left unanswered" not in kinds(opinion(RULES, played(told)))
    again = (call("get_booking", booking_id="1"), LOOK, PROPOSAL, MOVE, DONE)
    assert "refusal left unanswered" not in kinds(opinion(RULES, played(again)))


def test_no_yes_is_asked_for_where_the_policy_does_not_ask_for_one() -> None:
    """Only a policy that speaks of consent makes a write without it a fault."""
    assert not opinion(RULES, _past_and_future("BK-1042", boatdomain.call("get_booking", booking_id="BK-1042"))).reasons


def test_a_rule_of_the_domain_counts_although_the_tool_refuses() -> None:
    """SYN-04: an attempt at what the domain's own check forbids is a breach."""
    assert "policy breach" in kinds(opinion(RULES, _past_and_future("BK-7")))


def _past_and_future(booking: str, *first: Answer) -> Case:
    move = Action(name="move_booking", arguments={"booking_id": booking, "date": "2031-05-09"})
    task = Task(
        id="move",
        instructions=Instructions(reason=f"You want to move {booking} to 2031-05-09."),
        criteria=Criteria(actions=(move,), reward_basis=(Component.DB,)),
        intent=Intent(
            opening=f"Hello, please move {booking} to 2031-05-09.", facts=(Fact(slot="booking_id", value=booking),)
        ),
    )
    script = (*first, move.call(), "I am sorry, that is all. Is there anything else that I can do for you?")
    return played(script, task, boatdomain.domain())


def test_a_wish_that_cannot_be_met_is_refused_and_not_done() -> None:
    """An infeasible task approves the refusal, and rejects the change."""
    task = Task(
        id="no",
        scenario=Scenario.INFEASIBLE,
        instructions=Instructions(reason="You want to move booking BK-1 to 2031-05-02."),
        criteria=Criteria(
            required=(Action(name="get_booking", arguments={"booking_id": "BK-1"}),),
            forbidden=(Action(name="move_booking", compare_args=()),),
            reward_basis=(Component.DB, Component.CONSTRAINT),
            reason="it is full",
        ),
        intent=Intent(opening="Please move BK-1 to 2031-05-02.", insist=("But I have to.",)),
    )
    refused = played((LOOK, "I am sorry, I cannot do that."), task)
    assert opinion(REWARD, refused).approved and opinion(RULES, refused).approved
    moved = played(GOOD, task)
    assert not opinion(REWARD, moved).approved
    assert "step that nobody expects" in kinds(opinion(RULES, moved))


def test_a_user_who_falls_out_of_the_role_spoils_the_conversation() -> None:
    """Whatever users do wrong (`turngap.users.faults`) is a reason."""
    one = played(GOOD)
    said = Spoken(message=UserMessage(content="As an AI I have moved your booking. ###STOP###"))
    spoiled = msgspec.structs.replace(one.trajectory, events=(*one.trajectory.events[:-1], said))
    assert "user fault" in kinds(opinion(RULES, case(one.situation, one.desk, spoiled)))


def test_words_beside_calls_count_as_said() -> None:
    """A claim beside a call is held against what was known before the call."""
    beside = AssistantMessage(content="Berth 77 it is.", calls=(LOOK,))
    assert "claim from nowhere" in kinds(opinion(RULES, played((beside, PROPOSAL, MOVE, DONE))))


def test_what_is_counted_in_a_result_may_be_said() -> None:
    """A number up to the size of a list in a result is a count; a larger one is a claim."""
    words = "It holds {} seats and is on 2031-05-02. Is there anything else that I can do for you?"
    assert opinion(RULES, played((LOOK, PROPOSAL, MOVE, words.format(2)))).approved
    assert "claim from nowhere" in kinds(opinion(RULES, played((LOOK, PROPOSAL, MOVE, words.format(9)))))


def test_identities_name_the_versions() -> None:
    """Opinions are kept under them, so a change of the rules asks again."""
    assert RULES.identity()["version"] and REWARD.identity()["grader"]
