"""Taking out what is not needed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from boatdomain import domain as boats
from explorations import (
    CANCEL,
    DELIVERED,
    EXCHANGE,
    FIND,
    HAND_OVER,
    HOME,
    LAMP,
    MOVE,
    MOVE_BACK,
    MUG,
    PAY,
    PENDING,
    PRODUCTS,
    RETURN,
    STRANGER,
    SUM,
    SWAP,
    USER,
    a_booking,
    call,
    explored,
    shop,
    trajectories,
)
from hypothesis import assume, given, settings

from turngap.data import ToolCall
from turngap.synth.ablation import backbone
from turngap.synth.known import Known
from turngap.synth.offer import at
from turngap.synth.plan import Fact, LostError, Plan
from turngap.synth.provenance import Tracer
from turngap.synth.replay import replay

ONLY_SHOWS = "a change is needed for its result only"
PRICE = Fact(step=3, path='variants["22"].price', value="20", about="the price of the blue lamp")


def names(plan: Plan) -> list[str]:
    """The tools of a plan."""
    return [step.call.name for step in plan.steps]


def kept(*calls: ToolCall, **changed: Any) -> Plan:
    """The backbone of a trajectory in the small shop."""
    return backbone(shop(), explored(calls, facts=changed.pop("facts", ())), **changed)


def test_what_nothing_hangs_on_goes() -> None:
    """Looking at another order and at the products has nothing to do with the cancellation."""
    plan = kept(FIND, USER, DELIVERED, PRODUCTS, MUG, CANCEL)
    assert [step.call for step in plan.steps] == [FIND, USER, CANCEL]
    assert {one.call.name for one in plan.dropped} == {"get_order_details", "get_product_details", PRODUCTS.name}


def test_what_a_later_argument_is_taken_from_stays() -> None:
    """An exchange needs the order that shows the old item and the product that shows the new one."""
    assert [step.call for step in kept(FIND, USER, DELIVERED, MUG, EXCHANGE).steps] == [
        FIND,
        USER,
        DELIVERED,
        MUG,
        EXCHANGE,
    ]


def test_of_two_results_that_would_do_one_stays() -> None:
    """The product's id stands in the order and in the list of products; the list goes."""
    assert PRODUCTS.name not in names(kept(FIND, USER, DELIVERED, PRODUCTS, MUG, EXCHANGE))


def test_what_a_rule_asks_for_stays() -> None:
    """The customer knows the order number, so nothing is taken from the look-up; the policy wants it all the same."""
    assert names(kept(FIND, CANCEL)) == [FIND.name, CANCEL.name]


def test_a_change_that_is_overwritten_goes() -> None:
    """Only the last address is in the final state."""
    other = call("modify_user_address", **{**(HOME.arguments or {}), "city": "Elko"})
    plan = kept(FIND, USER, other, HOME)
    assert [step.call for step in plan.steps] == [FIND, HOME]
    assert plan.dropped[1].reason == "the final state is the same without it"


def test_changes_that_undo_each_other_go_together() -> None:
    """What is left of a change and its opposite is neither of them."""
    assert names(kept(FIND, USER, MOVE, MOVE_BACK, PAY)) == [FIND.name, USER.name, PAY.name]
    with pytest.raises(LostError, match="no effect"):
        kept(FIND, USER, MOVE, MOVE_BACK)


def test_what_was_refused_goes() -> None:
    """A second cancellation is no part of a plan."""
    plan = kept(FIND, USER, CANCEL, CANCEL)
    assert names(plan) == [FIND.name, USER.name, CANCEL.name]
    assert plan.dropped[0].reason == "it was refused"


def test_a_repeated_look_goes() -> None:
    """Once is enough, and it is the first."""
    assert names(kept(FIND, USER, PENDING, USER, LAMP, PENDING, SWAP)).count(PENDING.name) == 1


def test_a_hand_over_is_an_effect() -> None:
    """It stays, though it changes no state."""
    assert names(kept(FIND, USER, HAND_OVER)) == [HAND_OVER.name]


def test_what_is_told_is_found_out() -> None:
    """A fact keeps the step that shows it, and what that step needs; its place is that in the plan."""
    plan = kept(FIND, USER, PENDING, LAMP, facts=[PRICE])
    assert [step.call for step in plan.steps] == [FIND, USER, PENDING, LAMP]
    assert at(plan.steps[plan.facts[0].step].result, plan.facts[0].path) == 20.0
    shifted = kept(FIND, USER, DELIVERED, LAMP, PRODUCTS, HOME, facts=[PRICE])
    assert shifted.steps[shifted.facts[0].step].call == LAMP


def test_a_calculation_is_kept_with_its_numbers() -> None:
    """What was worked out is told, so the results that hold the numbers stay."""
    assert [step.call for step in kept(FIND, USER, PENDING, LAMP, SUM).steps] == [FIND, USER, PENDING, LAMP, SUM]


def test_some_of_the_effects_make_a_plan_too() -> None:
    """Goals pick effects; what only the others needed goes with them."""
    calls = (FIND, USER, PENDING, DELIVERED, LAMP, SWAP, RETURN)
    assert [step.call for step in kept(*calls, goals=[6]).steps] == [FIND, USER, DELIVERED, RETURN]
    assert [step.call for step in kept(*calls, goals=[5]).steps] == [FIND, USER, PENDING, LAMP, SWAP]


def test_a_goal_keeps_the_change_that_it_needs() -> None:
    """A gift card that covers the difference only after a refund makes the refund part of the plan."""
    pay_back = call("cancel_pending_order", order_id="#W1", reason="no longer needed")
    lamp = call(
        "exchange_delivered_order_items",
        order_id="#W2",
        item_ids=["11"],
        new_item_ids=["12"],
        payment_method_id="g1",
    )
    settle = call("modify_pending_order_payment", order_id="#W1", payment_method_id="c1")
    plan = kept(FIND, USER, DELIVERED, MUG, settle, pay_back, lamp, goals=[6])
    assert names(plan)[-1] == lamp.name
    assert pay_back.name not in names(plan)


def test_a_look_can_be_the_point() -> None:
    """The order that shows why it cannot be returned is what the diagnosis is about."""
    assert [step.call for step in kept(FIND, USER, PRODUCTS, PENDING, goals=[3]).steps] == [FIND, USER, PENDING]


@pytest.mark.parametrize(
    ("calls", "goals", "reason"),
    [
        ([FIND, USER, PENDING], None, "no effect"),
        ([CANCEL], None, "every effect is against a rule"),
        ([FIND, USER, CANCEL, CANCEL], [3], "a goal is refused"),
        ([CANCEL], [0], "a needed step is against a rule"),
        ([FIND, STRANGER, HOME], [1, 2], "a value comes from nowhere"),
        ([FIND, USER, MOVE, LAMP, MOVE_BACK, SWAP], None, ONLY_SHOWS),
    ],
)
def test_says_why_there_is_no_plan(calls: list[ToolCall], goals: list[int] | None, reason: str) -> None:
    """Each reason is a short phrase that can be counted."""
    with pytest.raises(LostError) as lost:
        kept(*calls, goals=goals)
    assert lost.value.loss.reason == reason


def test_works_for_a_domain_without_people() -> None:
    """At the boat desk, the booking that is moved need not be looked at, but its seats come from it."""
    look = call("get_booking", booking_id="BK-1042")
    move = call("move_booking", booking_id="BK-1042", date="2031-06-01", seats=2)
    exploration = explored([call("list_tags"), look, move], boats(), a_booking())
    assert [step.call for step in backbone(boats(), exploration).steps] == [look, move]


@settings(max_examples=60, deadline=None)
@given(trajectories(14))
def test_a_plan_is_what_it_claims(calls: list[ToolCall]) -> None:
    """Done again it gives its digest, which is that of the whole; nothing is refused or breaks a rule; all is needed."""
    exploration = explored(calls)
    try:
        plan = backbone(shop(), exploration)
    except LostError as lost:
        assume(lost.loss.reason not in ("no effect", "a value comes from nowhere", ONLY_SHOWS))
        raise
    done = replay(shop(), plan.steps)
    assert (done.digest, done.steps, done.refused, done.breaching) == (plan.digest, plan.steps, (), ())
    assert len(plan.steps) + len(plan.dropped) == len(exploration.steps)
    for index in range(len(plan.steps)):
        assert matters(plan, index), f"{plan.steps[index].call.name} is not needed"


def matters(plan: Plan, index: int) -> bool:
    """Whether the final state, a rule, a later argument or something told is another without a step."""
    rest = [step for place, step in enumerate(plan.steps) if place != index]
    done = replay(shop(), rest)
    step = plan.steps[index]
    if step.changed:
        return done.digest != plan.digest
    traced = Tracer(shop()).trace(Known(plan.customer), plan.steps)
    hangs = any(need == {index} for one in traced for need in one.needs)
    told = step.kind == "generic" or any(fact.step == index for fact in plan.facts)
    return told or bool(done.breaching) or hangs


def test_the_digest_is_that_of_the_whole() -> None:
    """What was dropped did not count: the plan ends where the exploration ended."""
    exploration = explored([FIND, USER, PENDING, MOVE, LAMP, DELIVERED, RETURN, CANCEL, HOME])
    plan = backbone(shop(), exploration)
    assert plan.digest == replay(shop(), exploration.steps).digest
    # The address of a cancelled order is still part of the state, so that change stays.
    assert len(plan.writes()) == 4
    assert msgspec.convert(msgspec.to_builtins(plan), Plan) == plan
