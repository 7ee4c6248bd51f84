"""The explorer that needs no model."""

from __future__ import annotations

import asyncio
from collections import Counter

import boatdomain
import pytest
from explorers import brief, explore, sampler, shop

from turngap.domains.api import Domain
from turngap.synth import keep
from turngap.synth.ablation import backbone
from turngap.synth.bank import can_be_done
from turngap.synth.customer import Sampler
from turngap.synth.plan import Exploration, LostError
from turngap.synth.program import ProgramExplorer


@pytest.fixture(scope="module")
def many() -> list[Exploration]:
    """A hundred explorations of the shop."""
    return explore([brief(number) for number in range(100)])


def test_what_is_explored_can_be_done_again(many: list[Exploration]) -> None:
    """In a new world, each call gives what the exploration says, changes and breaches included."""
    for one in many[:40]:
        assert can_be_done(shop(), one)


def test_the_same_brief_gives_the_same(many: list[Exploration]) -> None:
    """Neither other explorations nor the order of tools in the offer matter."""
    backwards = [brief(number, tools=tuple(reversed(brief(number).tools))) for number in (30, 7)]
    again = explore(backwards)
    assert [one.steps for one in again] == [many[30].steps, many[7].steps]
    assert [one.facts for one in again] == [many[30].facts, many[7].facts]


def test_chains_are_as_long_as_those_of_agents(many: list[Exploration]) -> None:
    """Twelve steps on average, with few far from it, and never more than allowed."""
    lengths = [len(one.steps) for one in many]
    mean = sum(lengths) / len(lengths)
    assert 11 < mean < 14
    assert sum((length - mean) ** 2 for length in lengths) / len(lengths) < 10
    assert max(lengths) <= 20
    short = explore([brief(number, most_steps=5) for number in range(20)])
    assert max(len(one.steps) for one in short) <= 5


def test_every_write_tool_is_used_and_none_crowds_out_the_rest(many: list[Exploration]) -> None:
    """Each of the shop's seven writes is in at least a twentieth of the explorations."""
    used = Counter(name for one in many for name in {s.call.name for s in one.steps if s.changed and not s.breaches})
    writes = {tool.name for tool in shop().tools if tool.kind == "write"}
    assert set(used) == writes
    assert min(used.values()) >= 5
    assert max(used.values()) <= 70


def test_most_are_of_use_and_become_plans(many: list[Exploration]) -> None:
    """The filter keeps nearly all, and nearly all have a backbone in which every value is traced."""
    kept, plans = 0, 0
    for one in many[:60]:
        try:
            keep.require_use(one)
            kept += 1
            backbone(shop(), one)
            plans += 1
        except LostError:
            continue
    assert kept >= 57
    assert plans >= 55


def test_some_of_what_is_tried_is_refused_or_forbidden(many: list[Exploration]) -> None:
    """A good part tries what the world refuses, another what a rule forbids, and nothing else fails."""
    refused = [step for one in many for step in one.steps if step.error]
    forbidden = [step for one in many for step in one.steps if step.breaches]
    assert 10 <= len(refused) <= 50
    assert 10 <= len(forbidden) <= 50
    assert not any(step.breaches for step in refused)
    assert all(step.changed and len(step.breaches) == 1 for step in forbidden)
    assert all(step.kind == "write" for step in refused + forbidden)


def test_refusals_are_such_as_a_customer_could_run_into(many: list[Exploration]) -> None:
    """What is refused or forbidden in the end would have been so from the beginning."""
    for one in many:
        for step in one.steps:
            if step.error:
                found = [other for other in one.steps if other.kind == "read" and not other.changed]
                before = [done.call for done in found]
                world = shop().world()
                for call in before:
                    world.call(call)
                assert world.call(step.call).error


def test_what_is_forbidden_comes_last(many: list[Exploration]) -> None:
    """Nothing that is wanted rests on what a rule forbids: only a hand-over comes after it."""
    for one in many:
        after = next((one.steps[i + 1 :] for i, step in enumerate(one.steps) if step.breaches), ())
        assert all(step.kind == "generic" for step in after)


def test_facts_stand_where_they_say(many: list[Exploration]) -> None:
    """A fact's step shows its value; a reckoned one is the whole result."""
    facts = [(one, fact) for one in many for fact in one.facts]
    assert len(facts) > 40
    for one, fact in facts:
        result = one.steps[fact.step].result
        assert fact.about
        assert fact.value == result if not fact.path else fact.value.rstrip("0").rstrip(".") in result


def test_nobody_elses_data_is_used_for_what_is_wanted(many: list[Exploration]) -> None:
    """Outside of what is forbidden, no value of an effect stands only in the records of another customer."""
    content = shop().world().content()
    for one in many:
        own = {one.customer.key, *sampler().records(one.customer).get("orders", ())}
        for step in one.steps:
            if step.changed and not step.breaches:
                arguments = step.call.arguments or {}
                assert arguments.get("order_id", one.customer.key) in own
                addresses = [user["address"] for key, user in content["users"].items() if key != one.customer.key]
                assert {name: arguments.get(name) for name in addresses[0]} not in addresses


def test_an_example_leads_to_its_kind_of_chain() -> None:
    """With a trajectory to begin from, more explorations do what it did than without."""
    example = next(
        one
        for one in explore([brief(number) for number in range(100, 130)])
        if [s.call.name for s in one.steps if s.changed and not s.breaches] == ["exchange_delivered_order_items"]
    )

    def share(**more: object) -> int:
        found = explore([brief(number, **more) for number in range(200, 226)])
        return sum(
            any(s.changed and s.call.name == "exchange_delivered_order_items" for s in one.steps) for one in found
        )

    assert share(example=example) > share()
    assert explore([brief(1, example=example)])[0].inspired_by == example.id


def test_only_what_is_offered_is_used() -> None:
    """Neither steps nor looks on trial leave the offer."""
    offer = ("find_user_id_by_email", "get_order_details", "cancel_pending_order")
    for one in explore([brief(number, tools=offer) for number in range(20)]):
        assert {step.call.name for step in one.steps} <= set(offer)
        assert one.offered == offer


def test_without_a_way_to_find_the_customer_nothing_is_done() -> None:
    """A rule says that the customer is found first; an explorer that cannot do that does nothing."""
    with pytest.raises(LostError, match="nothing could be done"):
        explore([brief(1, tools=("get_order_details", "cancel_pending_order"))])


def test_a_domain_of_ones_own_is_explored_too() -> None:
    """At the boat desk every write is found, and so is the rule about past bookings."""
    boats: Domain = boatdomain.domain()
    people = Sampler(boats)
    found = explore([brief(number, boats, people) for number in range(60)], boats)
    used = {step.call.name for one in found for step in one.steps if step.changed and not step.breaches}
    assert used == {"move_booking", "set_contact", "pay", "cancel"}
    assert any(step.breaches for one in found for step in one.steps)
    assert any(step.call.name == "hand_over" for one in found for step in one.steps)
    assert all(can_be_done(boats, one) for one in found)


def test_identity_covers_the_domain_and_the_phrases() -> None:
    """Another database makes another explorer."""
    one, other = ProgramExplorer(shop()), ProgramExplorer(boatdomain.domain())
    assert one.identity() == ProgramExplorer(shop()).identity()
    assert one.identity() != other.identity()
    asyncio.run(one.aclose())
