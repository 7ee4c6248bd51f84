"""What is wrong with tasks before anybody has tried them."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from boatdomain import Desk, domain, move_booking

from turngap.data import Action, Change, Criteria, EnvAssertion, Fact, Intent, Task
from turngap.data.task import Component, Scenario
from turngap.domains.api import write
from turngap.grading.soundness import Examiner, Flaw

MOVE = Action(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-09"})
ACTIONS = "evaluation_criteria.actions"


@write
def sink(desk: Desk) -> str:
    """Crash."""
    raise ZeroDivisionError(f"{len(desk.bookings)} / 0")


def _task(*actions: Action, **criteria: Any) -> Task:
    return Task(id="boat", criteria=Criteria(actions=actions, **criteria))


def _found(task: Task, **changed: Any) -> list[tuple[Flaw, str, str]]:
    return [(one.flaw, one.field, one.problem) for one in Examiner(domain(**changed)).examine(task)]


def test_a_task_that_can_be_done_is_sound() -> None:
    """Tools of both sides, optional arguments, an assertion, required and forbidden actions that go together."""
    look = Action(name="look_at_ticket", requestor="user")
    seats = msgspec.structs.replace(MOVE, arguments={**MOVE.arguments, "seats": 3})
    on = EnvAssertion(name="is_on", arguments=dict(MOVE.arguments))
    task = _task(
        seats,
        look,
        env_assertions=(on, msgspec.structs.replace(on, arguments={**MOVE.arguments, "date": "1999"}, expected=False)),
        required=(msgspec.structs.replace(MOVE, compare_args=("booking_id",)),),
        forbidden=(Action(name="cancel", compare_args=()), Action(name="cancel", arguments={"booking_id": "BK-7"})),
    )
    assert _found(task) == []


@pytest.mark.parametrize(
    ("action", "field", "problem"),
    [
        (Action(name="move_bookin"), "name", "the agent has no tool 'move_bookin'; did you mean move_booking?"),
        (Action(name="zz"), "name", "the agent has no tool 'zz'; known: cancel, get_booking, .*"),
        (Action(name="pay", requestor="user"), "name", "the user has no tool 'pay'; the agent has: requestor says"),
        (Action(name="look_at_ticket"), "name", "the agent has no tool 'look_at_ticket'; the user has"),
        (
            Action(name="cancel", arguments={"booking": "BK-7"}),
            "arguments",
            "cancel has no argument 'booking'; did you",
        ),
        (Action(name="cancel"), "arguments", "cancel needs the argument 'booking_id'"),
        (
            msgspec.structs.replace(MOVE, compare_args=("bookingid",)),
            "compare_args",
            "move_booking has no argument 'bookingid'; did you mean booking_id?",
        ),
    ],
)
@pytest.mark.parametrize("place", ["actions", "required", "forbidden"])
def test_names_that_the_domain_does_not_know(action: Action, field: str, problem: str, place: str) -> None:
    """A tool or argument that is unknown, or an argument that is missing, is found wherever actions stand."""
    task = _task(action) if place == "actions" else _task(**{place: (action,)})
    where = ACTIONS if place == "actions" else f"turngap.constraint.{place}"
    found = [one for one in _found(task) if one[0] is Flaw.BROKEN]
    assert found[0][1] == f"{where}[0].{field}"
    assert re.match(problem, found[0][2])


def test_arguments_that_are_compared_are_enough_where_nothing_is_done() -> None:
    """A forbidden action may leave out what does not count, which the reference may not; the remedy is named."""
    part = msgspec.structs.replace(MOVE, arguments={"booking_id": "BK-7"}, compare_args=("booking_id",))
    assert _found(_task(forbidden=(part,))) == []
    assert [flaw for flaw, *_ in _found(_task(part))] == [Flaw.BROKEN]
    ((_, _, problem),) = _found(_task(forbidden=(Action(name="cancel"),)))
    assert "[] that any call of the tool is meant" in problem


def test_values_of_the_wrong_type_are_found_when_the_reference_is_done() -> None:
    """What the schema refuses is broken, once, whatever else the task holds."""
    task = _task(Action(name="pay", arguments={"booking_id": "BK-7", "amount": "much"}), MOVE)
    ((flaw, field, problem),) = _found(task)
    assert (flaw, field) == (Flaw.BROKEN, f"{ACTIONS}[0].arguments")
    assert problem.startswith("pay: ") and "amount" in problem


def test_refusals_of_the_reference_are_told_apart_by_what_they_would_change() -> None:
    """A refused change lets a task pass without it; a refused look-up changes nothing."""
    lost = Action(name="move_booking", arguments={"booking_id": "BK-99", "date": "2031-05-09"})
    look = Action(name="get_booking", arguments={"booking_id": "BK-98"})
    assert _found(_task(look, lost, MOVE)) == [
        (Flaw.IN_VAIN, f"{ACTIONS}[0]", 'get_booking(booking_id="BK-98"): {"error":"there is no booking BK-98"}'),
        (
            Flaw.REFUSED,
            f"{ACTIONS}[1]",
            'move_booking(booking_id="BK-99", date="2031-05-09"): {"error":"there is no booking BK-99"}',
        ),
    ]


def test_a_domain_that_fails_on_the_reference() -> None:
    """A crash of a tool or an assertion is the domain's, and named with its line."""
    ((flaw, field, problem),) = _found(_task(Action(name="sink"), MOVE), tools=[sink, move_booking])
    assert (flaw, field) == (Flaw.FAILING, ACTIONS)
    assert re.match(r"tool sink failed at test_soundness.py:\d+: ZeroDivisionError: 2 / 0", problem)
    broken = EnvAssertion(name="is_on", arguments={"booking_id": "BK-0", "date": "2031-05-09"})
    ((flaw, field, problem),) = _found(_task(MOVE, env_assertions=(broken,)))
    assert (flaw, field) == (Flaw.FAILING, "evaluation_criteria.env_assertions[0]")
    assert re.match(r"assertion is_on failed at boatdomain.py:\d+: KeyError: 'BK-0'", problem)


def test_assertions_and_beginnings_that_do_not_fit() -> None:
    """An unknown assertion, one with wrong arguments, and an initial state of another form are broken."""
    named = EnvAssertion(name="is_onn", arguments={})
    ((flaw, field, problem),) = _found(_task(MOVE, env_assertions=(named,)))
    assert (flaw, field) == (Flaw.BROKEN, "evaluation_criteria.env_assertions[0]")
    assert problem == "domain 'boats' has no assertion 'is_onn'; known: is_on"
    given = EnvAssertion(name="is_on", arguments={"booking_id": "BK-7"})
    assert [flaw for flaw, *_ in _found(_task(MOVE, env_assertions=(given,)))] == [Flaw.BROKEN]
    begun = msgspec.structs.replace(_task(MOVE), initial_state={"initialisation": {}})
    ((flaw, field, problem),) = _found(begun)
    assert (flaw, field) == (Flaw.BROKEN, "initial_state")
    assert "unknown field 'initialisation'" in problem


def test_what_the_reference_does_not_meet() -> None:
    """An assertion that it leaves unmet, a required action that it lacks, a forbidden one that it does."""
    later = EnvAssertion(name="is_on", arguments={"booking_id": "BK-1042", "date": "2031-05-10"})
    pay = Action(name="pay", arguments={"booking_id": "BK-7", "amount": 5})
    found = _found(_task(MOVE, env_assertions=(later,), required=(pay,), forbidden=(MOVE,)))
    assert [(flaw, field) for flaw, field, _ in found] == [
        (Flaw.UNMET, "evaluation_criteria.env_assertions[0]"),
        (Flaw.UNMET, "turngap.constraint.required[0]"),
        (Flaw.UNMET, "turngap.constraint.forbidden[0]"),
    ]


@pytest.mark.parametrize(
    ("task", "field", "problem"),
    [
        (_task(MOVE, reward_basis=()), "reward_basis", "the reward counts nothing, of which"),
        (
            _task(MOVE, reward_basis=(Component.COMMUNICATE, Component.ENV_ASSERTION)),
            "reward_basis",
            "counts COMMUNICATE, ENV_ASSERTION, of which the task has nothing: every trial passes",
        ),
        (_task(reward_basis=(Component.ACTION, Component.NL_ASSERTION)), "reward_basis", "every trial passes"),
        (_task(reward_basis=(Component.CONSTRAINT,)), "reward_basis", "every trial passes"),
        (_task(reward_basis=(Component.DB, Component.CONSTRAINT)), "turngap.constraint", "nothing is required or"),
        (
            msgspec.structs.replace(_task(), scenario=Scenario.INFEASIBLE),
            "turngap.constraint",
            "infeasible, and nothing is required or forbidden: whoever changes nothing passes",
        ),
    ],
)
def test_tasks_that_ask_for_nothing(task: Task, field: str, problem: str) -> None:
    """An empty basis, one whose parts the task leaves empty, and an infeasible task without a constraint."""
    ((flaw, place, said),) = _found(task)
    assert (flaw, place) == (Flaw.VACUOUS, field)
    assert problem in said


def test_tasks_that_ask_for_little() -> None:
    """A database that should stay as it is, and a constraint, are something."""
    hand_over = Action(name="hand_over", compare_args=())
    infeasible = _task(required=(hand_over,), reward_basis=(Component.DB, Component.CONSTRAINT))
    found = [_found(_task()), _found(msgspec.structs.replace(infeasible, scenario=Scenario.INFEASIBLE))]
    assert all(flaw is not Flaw.VACUOUS for one in found for flaw, *_ in one)


def _with(*facts: Fact, changes: tuple[Change, ...] = (), unknown: tuple[str, ...] = ()) -> Task:
    intent = Intent(opening="Hello.", facts=facts, changes=changes, unknown=unknown)
    return msgspec.structs.replace(_task(MOVE), intent=intent)


def test_a_user_who_says_another_value_than_the_reference_takes() -> None:
    """Values are compared as they are said; one that was taken back is no longer the user's, an added one is."""
    booking = Fact(slot="booking_id", value="bk-1042")
    early, late = Fact(slot="date", value="2031-05-08"), Fact(slot="date", value="2031-05-09")
    assert _found(_with(booking, late)) == []
    ((flaw, field, problem),) = _found(_with(booking, early))
    assert (flaw, field) == (Flaw.CONTRADICTED, f"{ACTIONS}[0].arguments.date")
    assert problem == "move_booking takes date 2031-05-09, and the user says 2031-05-08"
    drift = Change(says="Rather on the 9th.", facts=(late,))
    assert _found(_with(booking, early, changes=(drift,))) == []
    back = Change(says="Rather on the 8th.", facts=(early,))
    ((_, _, problem),) = _found(_with(booking, late, changes=(back,)))
    assert problem.endswith("and the user has taken it back")
    added = Change(says="And another on the 8th.", facts=(early,), kind="addition")
    assert _found(_with(booking, late, changes=(added,))) == []


def test_a_value_that_the_reference_takes_elsewhere_contradicts_nothing() -> None:
    """Of two changes the user names one booking, and the other is looked up; one that nobody takes is a finding."""
    other = msgspec.structs.replace(MOVE, arguments={**MOVE.arguments, "booking_id": "BK-2077"})
    one, nobody = Fact(slot="booking_id", value="BK-1042"), Fact(slot="booking_id", value="BK-3000")

    def found(*facts: Fact) -> list[tuple[Flaw, str, str]]:
        task = _with(*facts)
        both = msgspec.structs.replace(task.criteria, actions=(MOVE, other))
        return [each for each in _found(msgspec.structs.replace(task, criteria=both)) if each[0] is Flaw.CONTRADICTED]

    assert found(one) == []
    assert [problem for *_, problem in found(one, nobody)] == [
        "move_booking takes booking_id BK-2077, and the user says BK-3000"
    ]


def test_facts_that_nobody_asks_for() -> None:
    """A name that no argument bears, with the one it comes near; usual names and inner ones are asked for."""
    task = _with(
        Fact(slot="bookingid", value="BK-1042"),
        Fact(slot="colour", value="red"),
        Fact(slot="email", value="a@b.example"),
        Fact(slot="postcode", value="02134"),
        unknown=("depositt",),
    )
    ((flaw, field, problem),) = _found(task)
    assert (flaw, field) == (Flaw.UNASKED, "turngap.intent")
    assert problem == "bookingid (or is it booking_id?), colour, depositt"
