"""The reward of a trial: what counts, and what is only looked at."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from boats import DOMAIN, task

from turngap.data import (
    Acted,
    AssistantMessage,
    Spoken,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    UserMessage,
)
from turngap.data.reward import Mismatch, Reward
from turngap.data.task import Action, Component, Criteria, EnvAssertion
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.api import Domain, State, Table, assertion, write
from turngap.errors import DataFault, JudgeError
from turngap.grading.grader import RewardGrader
from turngap.judges.sentences import ScriptedSentenceJudge

WANTED = "2031-05-02"
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": WANTED})
SAID = f"It is on {WANTED}."


def _trial(
    *steps: ToolCall | str, ending: Termination = Termination.USER_STOP, domain: LiveDomain = DOMAIN
) -> tuple[Trajectory, LiveWorld]:
    """What an agent did and said, and the world after it."""
    world = domain.world()
    events: list[Any] = [Spoken(message=UserMessage(content="Please move BK-1."))]
    for step in steps:
        if isinstance(step, str):
            events.append(Acted(message=AssistantMessage(content=step)))
        else:
            events.append(Acted(message=AssistantMessage(calls=(step,)), results=(world.call(step),)))
    return Trajectory(conversation="t", events=tuple(events), metadata={"termination": ending.value}), world


def _grade(
    one: Task, *steps: ToolCall | str, grader: RewardGrader | None = None, domain: LiveDomain = DOMAIN, **settings: Any
) -> Reward:
    trajectory, world = _trial(*steps, domain=domain, **settings)
    return asyncio.run((grader or RewardGrader()).grade(one, domain, trajectory, world))


def _with(**criteria: Any) -> Task:
    one = task(1)
    return msgspec.structs.replace(one, criteria=msgspec.structs.replace(one.criteria, **criteria))


def test_doing_and_saying_what_is_wanted_gets_all() -> None:
    """Database and facts right: the reward is 1, and nothing is missing."""
    reward = _grade(task(1), MOVE, SAID)
    assert (reward.value, reward.detail) == (1.0, "")


def test_what_counts_is_apart_from_what_is_only_observed() -> None:
    """ENV-07: another way to the same state has reward 1, and the unmatched reference stands beside it as observed."""
    away = ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-06-01"})
    one = _with(actions=(Action(name="get_booking", arguments={"booking_id": "BK-2"}), *task(1).criteria.actions))
    reward = _grade(one, away, MOVE, SAID)
    assert reward.value == 1.0
    assert {name: (grade.counted, grade.value) for name, grade in reward.components.items()} == {
        "DB": (True, 1.0),
        "COMMUNICATE": (True, 1.0),
        "ACTION": (False, 0.0),
    }
    assert 'get_booking(booking_id="BK-2")' in reward.components["ACTION"].detail
    assert reward.detail == ""


def test_a_wrong_state_is_explained_by_record_and_field() -> None:
    """The detail of the database names what was wanted and what was found."""
    other = ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-05-03"})
    reward = _grade(task(1), other, SAID)
    assert reward.value == 0.0
    assert reward.detail == 'DB: wanted -> found: bookings[BK-1].date: "2031-05-02" -> "2031-05-03"'


def test_places_that_differ_are_kept_field_by_field() -> None:
    """Beside the line for readers: record, field, what was wanted and what was found; none where all is as wanted."""
    other = ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-05-03"})
    reward = _grade(task(1), other, SAID)
    assert reward.mismatches == (
        Mismatch(record="bookings[BK-1]", field="date", wanted='"2031-05-02"', found='"2031-05-03"'),
    )
    assert reward.mismatched == 1
    assert _grade(task(1), MOVE, SAID).mismatches == ()


def test_a_fact_that_is_not_said_costs_the_reward_and_is_named() -> None:
    """Database right and fact not said: 0, and the component that says so."""
    reward = _grade(task(1), MOVE, "Done.")
    assert reward.value == 0.0
    assert reward.detail == f"COMMUNICATE: not said: {WANTED}"


def test_what_the_task_asks_nothing_of_holds() -> None:
    """A component that counts and has no material is 1."""
    reward = _grade(_with(communicate=(), reward_basis=(Component.DB, Component.NL_ASSERTION)), MOVE)
    assert reward.value == 1.0
    assert reward.components["NL_ASSERTION"].counted


def test_an_agent_that_never_came_to_an_end_gets_nothing() -> None:
    """At the step limit the reward is 0 although every component holds."""
    reward = _grade(task(1), MOVE, SAID, ending=Termination.STEP_LIMIT)
    assert reward.value == 0.0
    assert all(grade.value == 1 for grade in reward.components.values())


def test_each_action_needs_a_call_of_its_own() -> None:
    """One call does not do two equal actions, and a failed call does none."""
    action = task(1).criteria.actions[0]
    one = _with(actions=(action, action), reward_basis=(Component.ACTION,))
    assert _grade(one, MOVE, SAID).value == 0.0
    assert _grade(one, MOVE, MOVE, SAID).value == 1.0


def test_compared_arguments_decide_and_a_missing_one_never_matches() -> None:
    """compare_args leaves others aside; a call that lacks a compared argument is no match."""
    action = msgspec.structs.replace(task(1).criteria.actions[0], compare_args=("booking_id",))
    one = _with(actions=(action,), reward_basis=(Component.ACTION,))
    assert _grade(one, ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-07-07"})).value == 1
    assert _grade(one, ToolCall(name="move_booking", arguments={"date": WANTED})).value == 0


def test_calls_are_shared_out_so_that_most_actions_are_done() -> None:
    """A call that could do either of two actions is left to the one that nothing else does."""
    loose = Action(name="get_booking", compare_args=())
    strict = Action(name="get_booking", arguments={"booking_id": "BK-1"})
    one = _with(actions=(loose, strict), reward_basis=(Component.ACTION,))
    first, second = (ToolCall(name="get_booking", arguments={"booking_id": f"BK-{n}"}) for n in (1, 2))
    assert _grade(one, first, second).value == 1
    assert _grade(one, second, first).value == 1


def test_constraints_want_the_required_done_and_the_forbidden_not_even_tried() -> None:
    """A forbidden call counts also where the domain refuses it, or its arguments cannot be read."""
    one = _with(
        actions=(),
        communicate=(),
        required=(Action(name="hand_over", compare_args=()),),
        forbidden=(Action(name="move_booking", compare_args=()),),
        reward_basis=(Component.DB, Component.CONSTRAINT),
    )
    over = ToolCall(name="hand_over", arguments={"summary": "wants more"})
    assert _grade(one, over, "Sorry.").value == 1
    assert "required, not done: hand_over" in _grade(one, "Sorry.").detail
    unknown = ToolCall(name="move_booking", arguments={"booking_id": "BK-9", "date": WANTED})
    assert "forbidden, attempted: move_booking" in _grade(one, unknown, over).detail
    broken = ToolCall(name="move_booking", arguments=None, raw="{", error="ends early")
    assert _grade(one, broken, over).value == 0


def test_a_reference_that_the_domain_refuses_is_nobodys_duty() -> None:
    """What cannot be done need not be done, and where the state differs the reader is told of it."""
    impossible = Action(name="move_booking", arguments={"booking_id": "BK-9", "date": WANTED})
    one = _with(actions=(impossible, *task(1).criteria.actions), reward_basis=(Component.DB, Component.ACTION))
    assert _grade(one, MOVE).value == 1
    assert "the domain refuses reference action 1, move_booking" in _grade(one).detail


class Pier(State):
    """A pier with berths."""

    berths: Table[dict[str, Any]]


@write
def close_berth(pier: Pier, berth: str) -> str:
    """Close a berth."""
    pier.berths.change(berth, open=False)
    return "closed"


@assertion
def is_open(pier: Pier, berth: str) -> bool:
    """Whether a berth is open."""
    return bool(pier.berths[berth]["open"])


PIER = Domain(
    name="pier", policy="", state=Pier, tools=[close_berth], rules=[is_open], database={"berths": {"A": {"open": True}}}
)


def test_assertions_are_asked_of_the_final_state() -> None:
    """An assertion holds or not by the world as it was left; its message explains it; an unknown one is a data fault."""
    closed = EnvAssertion(name="is_open", arguments={"berth": "A"}, expected=False, message="berth A should be closed")
    one = Task(id="p", criteria=Criteria(env_assertions=(closed,), reward_basis=(Component.ENV_ASSERTION,)))
    close = ToolCall(name="close_berth", arguments={"berth": "A"})
    assert _grade(one, close, domain=PIER).value == 1
    wrong = _grade(one, domain=PIER).detail
    assert wrong == 'ENV_ASSERTION: is_open(berth="A") is True, wanted False: berth A should be closed'
    unknown = Criteria(env_assertions=(EnvAssertion(name="is_wet"),), reward_basis=(Component.ENV_ASSERTION,))
    with pytest.raises(DataFault, match="is_wet"):
        _grade(Task(id="p", criteria=unknown), domain=PIER)


@write
def storm(pier: Pier) -> str:
    """Take all berths away."""
    for berth in list(pier.berths):
        pier.berths.remove(berth)
    return "gone"


def test_of_many_places_the_first_are_kept_and_all_are_counted() -> None:
    """A trial that ruins a whole table does not fill the run with it; a record that is gone has no other value."""
    berths = {f"{number:03}": {"open": True, "note": "x" * 1000} for number in range(100)}
    long = Domain(name="pier", policy="", state=Pier, tools=[storm], database={"berths": berths})
    one = Task(id="p", criteria=Criteria(reward_basis=(Component.DB,)))
    reward = _grade(one, ToolCall(name="storm", arguments={}), domain=long)
    assert (len(reward.mismatches), reward.mismatched) == (40, 100)
    first = reward.mismatches[0]
    assert (first.record, first.field, first.found) == ("berths[000]", "", None)
    assert first.wanted is not None
    assert len(first.wanted) < 500


def test_sentences_go_to_the_judge_with_the_conversation() -> None:
    """Each sentence gets an answer; one that does not hold costs the reward and is named with the reason."""
    one = _with(nl_assertions=("The agent is polite.", "The agent lies."), reward_basis=(Component.NL_ASSERTION,))
    judge = ScriptedSentenceJudge(lambda _case, sentence: "polite" in sentence)
    reward = _grade(one, MOVE, SAID, grader=RewardGrader(judge))
    assert reward.value == 0
    assert reward.detail == "NL_ASSERTION: does not hold: The agent lies. (as the script says)"
    assert judge.cases[0].policy == DOMAIN.policy
    assert RewardGrader(judge).identity() != RewardGrader().identity()


def test_sentences_that_count_cannot_go_without_a_judge() -> None:
    """Without a model the trial is no failure of the agent: there is no verdict; where they do not count, none is needed."""
    with pytest.raises(JudgeError, match="--judge"):
        _grade(_with(nl_assertions=("x",), reward_basis=(Component.NL_ASSERTION,)), MOVE)
    assert "NL_ASSERTION" not in _grade(_with(nl_assertions=("x",)), MOVE, SAID).components
