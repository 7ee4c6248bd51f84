"""Arguments that fit together."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import boatdomain
import pytest
from explorations import a_booking, noor
from explorations import shop as small
from explorers import sampler, shop

from turngap.domains.api import Domain
from turngap.synth.filling import Filled, Means, Scope, fill
from turngap.synth.invention import Inventor
from turngap.synth.knowhow import Knowhow
from turngap.synth.looking import Library, Looking
from turngap.synth.memory import CUSTOMER, Memory
from turngap.synth.plan import Customer


class _Desk:
    """Everything that calls are filled from, for one customer."""

    def __init__(self, domain: Domain, customer: Customer, seed: int = 0) -> None:
        world = domain.world()
        content = world.content()
        self.knowhow = Knowhow(domain, content)
        looking = Looking(world, Memory(), Library(self.knowhow.keys))
        looking.remember(customer)
        tools = list(self.knowhow.tools.values())
        self.means = Means(self.knowhow, Inventor(content), looking, customer, tools, random.Random(seed))

    def scope(self, name: str, value: Any, **more: Any) -> Scope:
        """A call about a thing, which is opened, as is the customer."""
        tool = self.knowhow.tools[name]
        table = self.means.customer.table
        anchor = self.knowhow.anchor(tool, table)
        sources = () if anchor is None else self._open(anchor.name, value)
        around = self._open("user_id", self.means.customer.key)
        return Scope(tool=tool, anchor=anchor, value=value, sources=sources or (CUSTOMER,), around=around, **more)

    def _open(self, parameter: str, value: Any) -> tuple[int, ...]:
        tools = self.knowhow.openers(parameter, self.means.tools)
        sights = [self.means.looking.look(tool, {tool.required[0].name: value}) for tool in tools]
        return tuple(sight.number for sight in sights if not sight.refused)

    def draws(self, scope: Scope, count: int = 25) -> list[Filled]:
        """Fillings of one scope, as far as there are any."""
        drawn = [fill(self.means, scope) for _ in range(count)]
        return [one for one in drawn if one is not None]


Arguments = dict[str, Any]


def test_an_exchange_takes_items_of_the_order_and_variants_of_their_products() -> None:
    """What comes instead is of the same product, is to be had, and is not the item itself; the customer pays."""
    domain = shop()
    content = domain.world().content()
    product = {item: key for key, one in content["products"].items() for item in one["variants"]}
    customer = next(sampler().customer(key) for key in content["users"] if content["users"][key]["orders"])
    desk = _Desk(domain, customer)
    order = content["orders"][customer.record["orders"][0]]
    drawn = desk.draws(desk.scope("exchange_delivered_order_items", order["order_id"]))
    assert drawn
    for one in drawn:
        old, new = one.arguments["item_ids"], one.arguments["new_item_ids"]
        assert set(old) <= {item["item_id"] for item in order["items"]}
        assert [product[item] for item in old] == [product[item] for item in new]
        assert all(content["products"][product[item]]["variants"][item]["available"] for item in new)
        assert not set(old) & set(new)
        assert one.arguments["payment_method_id"] in customer.record["payment_methods"]
        assert [swap.new["item_id"] for swap in one.swaps] == new


@pytest.mark.parametrize(
    ("instead", "right"),
    [("itself", lambda old, new: old == new), ("gone", lambda old, new: new == ["13"])],
)
def test_what_should_fail_can_be_asked_for(instead: str, right: Callable[[Any, Any], bool]) -> None:
    """A thing in its own place, or one that is not to be had: the green mug."""
    desk = _Desk(small(), noor())
    for one in desk.draws(desk.scope("exchange_delivered_order_items", "#W2", instead=instead)):
        assert right(one.arguments["item_ids"], one.arguments["new_item_ids"])


def test_people_mostly_change_little() -> None:
    """Of a product's variants, those that differ in one option are asked for more often than their share."""
    domain = shop()
    content = domain.world().content()
    nearer = farther = 0
    for key in list(content["orders"])[:40]:
        order = content["orders"][key]
        desk = _Desk(domain, sampler().customer(order["user_id"]))
        for one in desk.draws(desk.scope("exchange_delivered_order_items", key), 3):
            for swap in one.swaps:
                changed = sum(swap.old["options"][name] != value for name, value in swap.new["options"].items())
                nearer, farther = nearer + (changed <= 1), farther + (changed > 2)
    assert nearer > farther


def test_who_makes_an_address_up_mostly_means_it_again() -> None:
    """A person who moves has one new address."""
    desk = _Desk(small(), noor())
    scope = desk.scope("modify_user_address", None)
    first = desk.draws(scope, 1)[0]
    desk.means.made[frozenset(first.bundle)] = {name: first.arguments[name] for name in first.bundle}
    again = [one.arguments == first.arguments for one in desk.draws(scope, 40)]
    assert sum(again) > 20


def test_choices_avoid_what_is_so_already() -> None:
    """Where the call is about a record with a status, another one is asked for."""
    desk = _Desk(small(), noor())
    reasons = {one.arguments["reason"] for one in desk.draws(desk.scope("cancel_pending_order", "#W1"))}
    assert reasons == {"no longer needed", "ordered by mistake"}


def test_dates_and_counts_move_from_what_they_are() -> None:
    """A booking is moved to another day near its own one; seats are more than they were."""
    desk = _Desk(boatdomain.domain(), a_booking())
    for one in desk.draws(desk.scope("move_booking", None)):
        assert one.arguments["booking_id"] == "BK-1042"
        assert "2031-04-28" < one.arguments["date"] < "2031-05-17"
        assert one.arguments["date"] != "2031-05-02"
        assert one.arguments.get("seats", 3) > 2


def test_an_object_is_made_up_as_a_whole() -> None:
    """A contact has the fields that the schema asks for."""
    desk = _Desk(boatdomain.domain(), a_booking())
    (one,) = desk.draws(desk.scope("set_contact", None), 1)
    assert set(one.arguments["contact"]) == {"name", "postcode"}


def test_what_is_not_to_be_had_is_not_guessed() -> None:
    """Without a look at the order, nobody knows its items."""
    desk = _Desk(small(), noor())
    scope = Scope(tool=desk.knowhow.tools["return_delivered_order_items"], anchor=None, value=None, sources=())
    anchor = desk.knowhow.anchor(scope.tool, "users")
    blind = Scope(tool=scope.tool, anchor=anchor, value="#W2", sources=(CUSTOMER,))
    assert fill(desk.means, blind) is None
