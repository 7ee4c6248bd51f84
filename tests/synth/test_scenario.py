"""From explorations to drafts: what each scenario makes, and what it gives up."""

from __future__ import annotations

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
    MUG,
    PENDING,
    RETURN,
    USER,
    a_booking,
    call,
    explored,
    shop,
)
from synthtasks import ADA, SHOPPING, drafted

from turngap.data.task import Scenario
from turngap.synth import scenario
from turngap.synth.ablation import backbone
from turngap.synth.outline import name_of
from turngap.synth.plan import Fact, LostError, Origin
from turngap.synth.replay import replay
from turngap.synth.scenario.ambiguous import luck

LATE = call("return_delivered_order_items", order_id="#W1", item_ids=["11"], payment_method_id="g2")
"""The return of an order that is still pending."""


def test_general_is_the_plan_as_it_is() -> None:
    """Nothing is withheld, changed or refused."""
    draft = drafted(Scenario.GENERAL)
    assert draft.plan == backbone(shop(), explored(SHOPPING))
    assert (draft.withheld, draft.abandoned, draft.added_from, draft.refusal) == ((), None, None, None)


def test_ambiguous_withholds_precisely_what_only_the_user_knows() -> None:
    """Every value from the user or from a choice, and no value that a result gives without one."""
    draft = drafted(Scenario.AMBIGUOUS)
    withheld = {draft.plan.arguments[index] for index in draft.withheld}
    for argument in draft.plan.arguments:
        assert (argument in withheld) == (argument.source.origin in (Origin.USER, Origin.CHOICE))
    assert {"email", "order_id", "reason", "payment_method_id"} <= {name_of(one) for one in withheld}


def test_what_can_be_guessed_is_not_ambiguous() -> None:
    """Two orders and three ways to get the money back are too little to ask for."""
    with pytest.raises(LostError) as lost:
        scenario.draft(shop(), explored((FIND, USER, DELIVERED, RETURN)), Scenario.AMBIGUOUS)
    assert lost.value.loss.reason == "too few choices"


def test_luck_counts_what_makes_a_difference() -> None:
    """One of two orders and one of three ways to pay is one chance in six; a new address cannot be guessed."""
    assert luck(shop(), backbone(shop(), explored((FIND, USER, DELIVERED, RETURN)))) == pytest.approx(1 / 6)
    assert luck(shop(), backbone(shop(), explored((FIND, USER, PENDING, CANCEL)))) == pytest.approx(1 / 4)
    assert luck(shop(), backbone(shop(), explored((FIND, USER, HOME)))) == 0


def test_drift_begins_with_another_plan_of_the_same_customer() -> None:
    """It can be done and ends elsewhere; what is wanted in the end is the draft's plan alone."""
    for seed in range(6):
        draft = drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, MUG, EXCHANGE), seed)
        assert draft.abandoned is not None
        assert draft.abandoned.customer == draft.plan.customer
        first = replay(shop(), draft.abandoned.steps)
        assert not first.refused
        assert not first.breaching
        assert first.digest == draft.abandoned.digest != draft.plan.digest
        assert replay(shop(), draft.plan.steps).digest == draft.plan.digest


def test_a_return_may_come_before_the_exchange() -> None:
    """Another tool about the same order is what people change their minds from."""
    names = set()
    for seed in range(12):
        draft = drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, MUG, EXCHANGE), seed)
        assert draft.abandoned is not None
        names.add(draft.abandoned.steps[draft.abandoned.writes()[0]].call.name)
    assert "return_delivered_order_items" in names


def test_an_addition_has_its_second_issue_behind_the_first() -> None:
    """The steps from `added_from` on are the second issue's, and the whole comes to the same."""
    found = [drafted(Scenario.CHANGING, (FIND, USER, DELIVERED, RETURN, HAND_OVER), seed) for seed in range(12)]
    draft = next(one for one in found if one.added_from is not None)
    assert draft.added_from is not None
    assert [draft.plan.steps[index].call for index in draft.plan.writes()] == [RETURN, HAND_OVER]
    assert draft.plan.writes()[0] < draft.added_from <= draft.plan.writes()[1]
    assert draft.plan.digest == backbone(shop(), explored((FIND, USER, DELIVERED, RETURN, HAND_OVER))).digest


def test_what_is_asked_about_the_first_issue_stays_with_it() -> None:
    """The difference in price is reckoned before the exchange that it is about, not after the issue that comes later."""
    fact = Fact(step=4, path="", value="0.05", about="the difference in price")
    reckon = call("calculate", expression="1.05 - 1.00")
    calls = (FIND, USER, DELIVERED, MUG, reckon, EXCHANGE, PENDING, CANCEL)
    found = [scenario.draft(shop(), explored(calls, facts=(fact,)), Scenario.CHANGING, seed) for seed in range(12)]
    draft = next(one for one in found if one.added_from is not None)
    assert draft.added_from is not None
    assert draft.plan.steps[draft.plan.facts[0].step].call == reckon
    assert draft.plan.facts[0].step < draft.plan.writes()[0] < draft.added_from


def test_one_thing_without_an_alternative_does_not_change() -> None:
    """A hand-over alone can be no change of course."""
    with pytest.raises(LostError) as lost:
        drafted(Scenario.CHANGING, (FIND, USER, HAND_OVER))
    assert lost.value.loss.reason == "no change of course"


def test_what_the_world_refuses_is_infeasible_for_the_tool() -> None:
    """SYN-04: refused as things are in the beginning; the diagnosis shows it, and any such call on the order is meant."""
    draft = drafted(Scenario.INFEASIBLE, (FIND, USER, PENDING, LATE))
    refusal = draft.refusal
    assert refusal is not None
    assert (refusal.kind, refusal.call, refusal.compare_args) == ("tool", LATE, ("order_id",))
    assert refusal.reason == "Only a delivered order can be returned; this one is 'pending'."
    required = [draft.plan.steps[index].call for index in refusal.diagnosis]
    assert required == [FIND, PENDING]
    assert draft.plan.digest == shop().world().digest()


def test_what_only_failed_since_something_was_done_before_is_no_refusal() -> None:
    """A second return fails in the exploration, and would go through in the world as the customer finds it."""
    again = call("exchange_delivered_order_items", **EXCHANGE.arguments or {})
    with pytest.raises(LostError) as lost:
        drafted(Scenario.INFEASIBLE, (FIND, USER, DELIVERED, MUG, RETURN, again))
    assert lost.value.loss.reason == "nothing infeasible"


def test_somebody_else_s_order_is_infeasible_by_policy() -> None:
    """The tool would do it, a rule that looks back forbids it; who asks has to be found out, and no more."""
    found = call("find_user_id_by_name_zip", first_name="Ada", last_name="Vega", zip="83702")
    exploration = explored((found, PENDING, CANCEL), customer=ADA)
    draft = scenario.draft(shop(), exploration, Scenario.INFEASIBLE)
    refusal = draft.refusal
    assert refusal is not None
    assert (refusal.kind, refusal.compare_args) == ("policy", ("order_id",))
    assert "somebody else's" in refusal.evidence
    assert [draft.plan.steps[index].call for index in refusal.diagnosis] == [found]


def test_a_customer_who_does_not_say_who_they_are_is_refused() -> None:
    """P2's own example: a cancellation without authentication. Nothing is required, the change is forbidden."""
    found = None
    for seed in range(200):
        try:
            found = drafted(Scenario.INFEASIBLE, (FIND, USER, PENDING, CANCEL), seed)
            break
        except LostError:
            continue
    assert found is not None
    assert found.refusal is not None
    assert found.plan.steps == ()
    assert found.refusal.kind == "policy"
    assert found.refusal.diagnosis == ()
    assert "before anything else" in found.refusal.evidence


def test_a_domain_without_people_has_drafts_too() -> None:
    """At the boat desk a booking takes the person's place, and a past one cannot be moved."""
    look = call("get_booking", booking_id="BK-1042")
    move = call("move_booking", booking_id="BK-1042", date="2031-05-09")
    exploration = explored((look, move, call("pay", booking_id="BK-1042", amount=5)), boats(), a_booking())
    for wanted in (Scenario.GENERAL, Scenario.CHANGING):
        draft = scenario.draft(boats(), exploration, wanted)
        assert replay(boats(), draft.plan.steps).digest == draft.plan.digest
    past = call("get_booking", booking_id="BK-7")
    late = call("move_booking", booking_id="BK-7", date="2031-05-09")
    customer = msgspec.structs.replace(a_booking(), key="BK-7", record={"date": "2031-04-01"})
    draft = scenario.draft(boats(), explored((past, late), boats(), customer), Scenario.INFEASIBLE)
    assert draft.refusal is not None
    assert draft.refusal.call == late
    assert draft.refusal.kind == "tool"


def test_the_same_seed_gives_the_same_draft() -> None:
    """Nothing else decides."""
    one, other = (drafted(Scenario.CHANGING, seed=3) for _ in range(2))
    assert one == other
