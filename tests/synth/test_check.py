"""Verifying tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from boatdomain import domain as boats
from explorations import CANCEL, EXCHANGE, FIND, HAND_OVER, HOME, MOVE, PAY, PENDING, RETURN, USER, call, shop
from tau2peer import absent

from turngap.data import ToolCall
from turngap.data.task import (
    Action,
    Change,
    Component,
    Criteria,
    EnvAssertion,
    Fact,
    Instructions,
    Intent,
    Scenario,
    Task,
)
from turngap.domains import build
from turngap.formats import tasks as task_files
from turngap.synth.check import check, check_all
from turngap.synth.finding import Finding, Flaw

WORDS = "You are Noor Vega, noor@example.com. You want to cancel order #W1, which you no longer need."


def action(made: ToolCall, **changed: Any) -> Action:
    """A call as an action."""
    return Action(name=made.name, arguments=made.arguments or {}, **changed)


def task(*calls: ToolCall, words: str = WORDS, **changed: Any) -> Task:
    """A task in the small shop with this reference; criteria and all else can be changed."""
    criteria = {name: changed.pop(name) for name in Criteria.__struct_fields__ if name in changed and name != "actions"}
    return Task(
        id="t",
        instructions=Instructions(reason=words),
        criteria=Criteria(actions=tuple(map(action, calls)), **criteria),
        **changed,
    )


def flaws(found: Sequence[Finding]) -> list[tuple[str, str, int | None]]:
    """What was found, without the words."""
    return [(one.flaw.value, one.severity, one.action) for one in found]


def test_a_good_task_has_no_flaw() -> None:
    """The customer says what is wanted, and the reference does it."""
    assert check(task(FIND, USER, PENDING, CANCEL), shop()) == ()


def test_rep_02_a_failing_write_is_an_error_and_a_failing_read_a_warning() -> None:
    """REP-02: the action's index and the error's text are told."""
    past = Task(
        id="past",
        instructions=Instructions(reason="Please move my booking BK-7 to 2031-06-01 and look at BK-8."),
        criteria=Criteria(
            actions=(
                action(call("get_booking", booking_id="BK-8")),
                action(call("move_booking", booking_id="BK-7", date="2031-06-01")),
            )
        ),
    )
    found = [one for one in check(past, boats()) if one.flaw is Flaw.REFUSED]
    assert flaws(found) == [("refused", "warning", 0), ("refused", "error", 1)]
    assert "a past booking cannot be moved" in found[1].detail
    assert str(found[1]).startswith("error: task past, action 2: refused: move_booking(")


def test_syn_04_gold_that_breaks_the_policy_is_an_error() -> None:
    """SYN-04: a write that the tools allow and a rule forbids, and one that the balance does not cover."""
    itself = call(
        "exchange_delivered_order_items", order_id="#W2", item_ids=["11"], new_item_ids=["11"], payment_method_id="c1"
    )
    words = "You are Noor, noor@example.com, and want to exchange the mug of order #W2."
    assert ("policy", "error", 1) in flaws(check(task(FIND, itself, words=words), shop()))
    poor = call("modify_pending_order_payment", order_id="#W1", payment_method_id="g1")
    words = "You are Noor, noor@example.com, and want to change the payment of order #W1 to your gift card."
    assert ("refused", "error", 2) in flaws(check(task(FIND, USER, poor, words=words), shop()))


def test_an_unknown_tool_and_arguments_that_do_not_fit_are_errors() -> None:
    """Whatever the database holds, such a call cannot be made."""
    found = check(task(call("cancel_order", order_id="#W1"), call("cancel_pending_order", order_id="#W1")), shop())
    assert [one for one in flaws(found) if one[0] == "refused"] == [("refused", "error", 0), ("refused", "error", 1)]


def test_an_initial_state_that_does_not_fit_is_an_error() -> None:
    """Nothing else is looked at then."""
    start = {"initialization_data": {"agent_data": {"parcels": {}}}}
    assert flaws(check(task(CANCEL, initial_state=start), shop())) == [("start", "error", None)]


@pytest.mark.parametrize(
    ("calls", "index"),
    [
        ([FIND, USER, USER, CANCEL], 2),
        ([FIND, USER, call("list_all_product_types"), CANCEL], 2),
        ([FIND, call("calculate", expression="1 + 2"), CANCEL], 1),
        ([FIND, USER, call("modify_user_address", **{**(HOME.arguments or {}), "city": "Elko"}), HOME, CANCEL], 2),
    ],
)
def test_what_nothing_needs_is_a_warning(calls: list[ToolCall], index: int) -> None:
    """A repeated look, one that has nothing to do with the rest, a calculation for nobody, an overwritten change."""
    words = f"{WORDS} You also want to change your address to 9 Oak Row, Reno or Elko, NV 89501, USA."
    found = check(task(*calls, words=words), shop())
    assert ("unnecessary", "warning", index) in flaws(found)


def test_looking_at_what_is_changed_is_not_unnecessary() -> None:
    """To look at an order before it is cancelled, and at the others to find it, is what an agent should do."""
    found = check(task(FIND, USER, call("get_order_details", order_id="#W2"), PENDING, CANCEL), shop())
    assert found == ()


def test_a_value_that_nobody_can_know_is_an_error() -> None:
    """A new address of which the words say nothing; half of it said is a warning."""
    words = "You are Noor, noor@example.com, and want to change the address of order #W1."
    found = check(task(FIND, USER, MOVE, words=words), shop())
    assert {one.severity for one in found if one.flaw is Flaw.UNKNOWABLE} == {"error"}
    assert any("'9 Oak Row'" in one.detail for one in found)
    half = check(task(FIND, USER, MOVE, words=f"{words} The new one is 9 Oak Street, Reno, 89501."), shop())
    assert {one.severity for one in half if one.flaw is Flaw.UNKNOWABLE} == {"warning"}
    whole = check(task(FIND, USER, MOVE, words=f"{words} The new one is 9 Oak Row, Reno, 89501."), shop())
    assert whole == ()


def test_what_stands_in_the_customers_own_records_can_be_known() -> None:
    """A reference that leaves out look-ups is none the worse: the payment method can be looked up."""
    words = "You are Noor, noor@example.com, and want to return one of the mugs of order #W2 to your card."
    assert check(task(RETURN, words=words), shop()) == ()


def test_an_id_of_somebody_elses_record_cannot_be_known() -> None:
    """The order of another customer is neither in the words nor anywhere where one can look."""
    theirs = call("cancel_pending_order", order_id="#W3", reason="no longer needed")
    found = check(task(FIND, USER, theirs), shop())
    assert any(one.flaw is Flaw.REFUSED for one in found)
    looked = check(task(FIND, USER, call("get_order_details", order_id="#W3"), CANCEL), shop())
    assert ("unknowable", "warning", 2) in flaws(looked)


def test_a_choice_that_the_words_leave_open_is_a_warning() -> None:
    """Of two reasons for a cancellation, the words say neither."""
    found = check(task(FIND, CANCEL, words="You are Noor, noor@example.com. Cancel order #W1."), shop())
    assert flaws(found) == [("unknowable", "warning", 1)]
    assert "no longer needed, ordered by mistake" in found[0].detail


@pytest.mark.parametrize(("fact", "known"), [("20.0", True), ("$15", True), ("25", True), ("1234.56", False)])
def test_a_fact_can_be_looked_up_or_worked_out(fact: str, known: bool) -> None:
    """A price of a result, the difference of two, a small number; a number from nowhere cannot."""
    lamp = call("get_product_details", product_id="2")
    found = check(task(FIND, USER, PENDING, lamp, CANCEL, communicate=(fact,)), shop())
    assert (Flaw.UNKNOWABLE not in {one.flaw for one in found}) is known


@pytest.mark.parametrize(
    ("basis", "severity"),
    [(Component.NL_ASSERTION, "warning"), (Component.ENV_ASSERTION, "warning"), (Component.CONSTRAINT, "warning")],
)
def test_a_component_with_nothing_to_hold_against_is_told(basis: Component, severity: str) -> None:
    """It would count as fulfilled whatever happened."""
    found = check(task(FIND, CANCEL, reward_basis=(Component.DB, basis)), shop())
    assert flaws(found) == [("contradiction", severity, None)]


def test_an_assertion_that_the_reference_does_not_fulfil_is_an_error() -> None:
    """The reference moves the booking to another day than the assertion wants."""
    move = call("move_booking", booking_id="BK-1042", date="2031-06-01", seats=2)
    asked = Task(
        id="t",
        instructions=Instructions(reason="Please move BK-1042 to 2031-06-01, for 2."),
        criteria=Criteria(
            actions=(action(move),),
            env_assertions=(EnvAssertion(name="is_on", arguments={"booking_id": "BK-1042", "date": "2031-06-02"}),),
            reward_basis=(Component.ENV_ASSERTION,),
        ),
    )
    assert flaws(check(asked, boats())) == [("contradiction", "error", None)]
    wrong = msgspec.structs.replace(asked.criteria, env_assertions=(EnvAssertion(name="is_off"),))
    assert flaws(check(msgspec.structs.replace(asked, criteria=wrong), boats())) == [("contradiction", "error", None)]


def infeasible(forbidden: ToolCall, *required: ToolCall, **changed: Any) -> Task:
    """An infeasible task in the small shop."""
    settings: dict[str, Any] = {
        "words": "You are Noor, noor@example.com, and want to return the lamp of order #W1.",
        "scenario": Scenario.INFEASIBLE,
        "required": tuple(map(action, required)),
        "forbidden": (action(forbidden),),
        "reward_basis": (Component.CONSTRAINT, Component.DB),
    }
    return task(**(settings | changed))


REFUSED = call("return_delivered_order_items", order_id="#W1", item_ids=["21"], payment_method_id="c1")


def test_an_infeasible_task_is_one() -> None:
    """What is forbidden is refused by the tool, or is against a rule; what is required works."""
    assert check(infeasible(REFUSED, FIND, USER, PENDING), shop()) == ()
    nothing = call("return_delivered_order_items", order_id="#W2", item_ids=[], payment_method_id="c1")
    assert check(infeasible(nothing, FIND, USER), shop()) == ()


def test_syn_04_what_is_forbidden_must_not_go_through() -> None:
    """SYN-04: an infeasible task whose forbidden action the world takes is none."""
    assert ("not as said", "error", None) in flaws(check(infeasible(RETURN, FIND, USER), shop()))


def test_what_is_required_has_to_work() -> None:
    """A required action that the domain refuses can be done by nobody."""
    lost = call("get_order_details", order_id="#W9")
    assert ("refused", "error", None) in flaws(check(infeasible(REFUSED, FIND, lost), shop()))


def test_wanted_and_forbidden_at_once_is_a_contradiction() -> None:
    """The same call is required and forbidden; arguments that do not count are passed over."""
    found = check(infeasible(PENDING, FIND, PENDING), shop())
    assert ("contradiction", "error", None) in flaws(found)
    any_order = Action(name="get_order_details", arguments={"order_id": "#W2"}, compare_args=())
    settings = {"forbidden": (any_order,), "required": (action(FIND), action(PENDING))}
    found = check(msgspec.structs.replace(infeasible(PENDING), criteria=Criteria(**settings)), shop())
    assert ("contradiction", "error", None) in flaws(found)


def test_constraints_have_to_count() -> None:
    """Forbidden actions that no component looks at are for nothing."""
    found = check(infeasible(REFUSED, FIND, reward_basis=(Component.DB,)), shop())
    assert ("contradiction", "error", None) in flaws(found)


@pytest.mark.parametrize("scenario", [Scenario.INFEASIBLE, Scenario.CHANGING, Scenario.AMBIGUOUS])
def test_a_task_is_what_its_scenario_says(scenario: Scenario) -> None:
    """Nothing forbidden, nothing that changes, nothing to ask for: each is an error."""
    intent = Intent(opening=f"{WORDS}".replace("You are", "I am"))
    found = check(task(FIND, CANCEL, scenario=scenario, intent=intent), shop())
    assert ("not as said", "error", None) in flaws(found)


def test_a_changing_task_changes() -> None:
    """With a change of mind in the intent it is what it says; what was wanted first needs no action."""
    intent = Intent(
        opening="I am Noor, noor@example.com, and want to cancel order #W1.",
        changes=(Change(says="Actually, change the payment of order #W1 to my visa card instead."),),
        facts=(Fact(slot="email", value="noor@example.com"),),
    )
    assert check(task(FIND, USER, PAY, words="", scenario=Scenario.CHANGING, intent=intent), shop()) == ()


@pytest.mark.parametrize(
    ("says", "facts"),
    [
        ("Never mind, go on as before.", ()),
        ("Never mind, go on as before.", (Fact(slot="email", value="noor@example.com"),)),
    ],
)
def test_a_change_that_changes_nothing_is_named(says: str, facts: tuple[Fact, ...]) -> None:
    """Neither a new value, nor a question, nor a word for what any action does: no task in which somebody changes."""
    intent = Intent(
        opening="I am Noor, noor@example.com, and want to cancel order #W1.",
        changes=(Change(says=says, facts=facts),),
        facts=(Fact(slot="email", value="noor@example.com"),),
    )
    found = check(task(FIND, USER, CANCEL, scenario=Scenario.CHANGING, intent=intent), shop())
    assert ("not as said", "warning", None) in flaws(found)


def test_an_ambiguous_task_leaves_something_to_ask_for() -> None:
    """Values that the opening tells, by its own account or word for word, are none; nor is who the user is."""
    order = Fact(slot="order_id", value="#W1")
    who = Fact(slot="email", value="noor@example.com")
    for opening, facts in (
        ("I am Noor and want to cancel an order.", (msgspec.structs.replace(order, told=True), who)),
        ("I am Noor and want to cancel order #W1.", (order, who)),
    ):
        made = task(FIND, USER, CANCEL, scenario=Scenario.AMBIGUOUS, intent=Intent(opening=opening, facts=facts))
        assert ("not as said", "error", None) in flaws(check(made, shop()))
    fine = Intent(opening="I am Noor and want to cancel an order that I no longer need.", facts=(order, who))
    assert check(task(FIND, USER, CANCEL, words="", scenario=Scenario.AMBIGUOUS, intent=fine), shop()) == ()


def test_somebody_says_why_they_make_contact() -> None:
    """An empty opening, and instructions without a reason where there is no opening, are errors."""
    silent = task(FIND, USER, CANCEL, intent=Intent(opening=" "))
    assert ("wish", "error", None) in flaws(check(silent, shop()))
    assert ("wish", "error", None) in flaws(check(task(FIND, USER, CANCEL, words=""), shop()))


def test_something_is_graded(tmp_path: Path) -> None:
    """No component that counts, and no criteria at all: whatever the agent does passes, which is an error."""
    found = check(task(FIND, USER, CANCEL, reward_basis=()), shop())
    assert ("contradiction", "error", None) in flaws(found)
    file = tmp_path / "tasks.json"
    for criteria, graded in (("null", False), ('{"actions": [], "nl_assertions": ["Refuses."]}', True)):
        said = '{"reason_for_call": "You ask what it costs.", "domain": "retail", "task_instructions": "Ask."}'
        text = f'[{{"id": "1", "user_scenario": {{"instructions": {said}}}, "evaluation_criteria": {criteria}}}]'
        file.write_text(text, encoding="utf-8")
        found = check_all(task_files.read(file).tasks, shop())
        assert ("contradiction" in [one.flaw.value for one in found if one.severity == "error"]) is not graded


def test_syn_06_every_write_is_asked_for() -> None:
    """SYN-06: two payments and one move, and the words speak of the move only."""
    move = call("move_booking", booking_id="BK-1042", date="2031-06-01", seats=2)
    pay = call("pay", booking_id="BK-1042", amount=5)
    asked = Task(
        id="t",
        instructions=Instructions(reason="Move BK-1042 to 2031-06-01, for 2 people, at noon, on pier 5."),
        criteria=Criteria(actions=(action(pay), action(move), action(pay))),
    )
    found = check(asked, boats())
    assert flaws(found) == [("wish", "warning", 0)]
    own = msgspec.structs.replace(asked, intent=Intent(opening=asked.instructions.reason))
    assert flaws(check(own, boats())) == [("wish", "error", 0)]


def test_syn_06_every_wish_has_its_action() -> None:
    """SYN-06: the words want a cancellation and a return, the reference only cancels."""
    words = f"{WORDS} You also want to return a mug from order #W2."
    assert flaws(check(task(FIND, CANCEL, words=words), shop())) == [("wish", "warning", None)]
    unsure = f"{WORDS} You also want to return a mug from order #W2. If that cannot be done, leave it."
    assert check(task(FIND, CANCEL, words=unsure), shop()) == ()


def test_syn_06_what_the_user_can_tell_is_taken() -> None:
    """SYN-06: the user can tell an order that no action is about; who the user is need not be taken by any."""
    facts = (Fact(slot="order_id", value="#W1"), Fact(slot="first_name", value="Noor"))
    intent = Intent(opening="I am Noor, noor@example.com; cancel an order, I no longer need it.", facts=facts)
    assert check(task(FIND, USER, CANCEL, words="", intent=intent), shop()) == ()
    more = msgspec.structs.replace(intent, facts=(*facts, Fact(slot="order_id", value="#W2")))
    found = check(task(FIND, USER, CANCEL, words="", intent=more), shop())
    assert flaws(found) == [("wish", "warning", None)]
    assert "order_id (#W2)" in found[0].detail


def test_a_reference_of_ours_has_no_step_to_spare() -> None:
    """A look at the order before it is cancelled is forgiven to others, and not to a task that says how it was made."""
    assert check(task(FIND, USER, PENDING, CANCEL), shop()) == ()
    found = check(task(FIND, USER, PENDING, CANCEL, made={"seed": 1}), shop())
    assert flaws(found) == [("unnecessary", "warning", 2)]
    assert check(task(FIND, USER, CANCEL, made={"seed": 1}), shop()) == ()
    # What is required finds out that something cannot be, and is needed for that.
    diagnosis = (FIND, USER, PENDING)
    assert check(msgspec.structs.replace(infeasible(REFUSED, *diagnosis), made={"seed": 1}), shop()) == ()


def test_a_reference_of_ours_obeys_rules_that_look_back() -> None:
    """Nobody has been identified when the order is cancelled; others leave that out of their references."""
    assert check(task(CANCEL), shop()) == ()
    assert ("policy", "error", 0) in flaws(check(task(CANCEL, made={"seed": 1}), shop()))


def test_the_same_task_twice_is_told() -> None:
    """Another id does not make another task; other words or another reference do."""
    one = task(FIND, CANCEL)
    tasks = [one, msgspec.structs.replace(one, id="again"), msgspec.structs.replace(task(CANCEL), id="other")]
    found = [finding for finding in check_all(tasks, shop()) if finding.flaw is Flaw.DUPLICATE]
    assert [(finding.task, finding.detail) for finding in found] == [
        ("again", "the same words and reference as task t")
    ]


def test_a_hand_over_leaves_wishes_open() -> None:
    """What is handed over need not be done."""
    words = "You are Noor, noor@example.com, and want to exchange a mug of order #W2."
    assert check(task(FIND, HAND_OVER, words=words), shop()) == ()
    assert ("wish", "warning", None) in flaws(check(task(FIND, words=words), shop()))
    assert check(task(EXCHANGE, words=f"{words} It should be the blue one; charge your visa."), shop()) == ()


@pytest.mark.skipif(absent() is not None, reason="tau2 is not installed")
@pytest.mark.parametrize(
    ("name", "errors"),
    [("retail", {("12", 4), ("13", 4), ("64", 6), ("105", 0)}), ("airline", set()), ("mock", set())],
)
def test_finds_the_failing_writes_of_tau2(name: str, errors: set[tuple[str, int]]) -> None:
    """Of all tasks of tau2's package, exactly those have errors whose reference the domain refuses."""
    domain: Any = build(f"tau2:{name}")
    found = check_all(task_files.read(domain.task_file).tasks, domain)
    severe = [one for one in found if one.severity == "error"]
    assert {(one.task, one.action) for one in severe} == errors
    assert {one.flaw for one in severe} <= {Flaw.REFUSED}


@pytest.mark.skipif(absent() is not None, reason="tau2 is not installed")
def test_finds_what_counts_and_is_not_there(shared: Path) -> None:
    """The retail tasks of 2026 count sentences in 72 tasks that have none."""
    domain = build("tau2:retail")
    found = check_all(task_files.read(shared / "tau2-head" / "retail-tasks.json").tasks, domain)
    assert sum(one.flaw is Flaw.CONTRADICTION for one in found) == 72
