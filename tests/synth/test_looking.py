"""Looking on trial, and making steps of it."""

from __future__ import annotations

import asyncio
from typing import Any

import boatdomain
from boatdomain import call
from explorations import DELIVERED, noor, shop

from turngap.domains.live import LiveWorld
from turngap.synth.knowhow import Knowhow
from turngap.synth.looking import Library, Looking
from turngap.synth.memory import CUSTOMER, Memory


class _Boats:
    def __init__(self) -> None:
        domain = boatdomain.domain()
        self.world: LiveWorld = domain.world()
        knowhow = Knowhow(domain, self.world.content())
        self.tools = knowhow.tools
        self.looking = Looking(self.world, Memory(), Library(knowhow.keys))

    def look(self, booking: str) -> Any:
        return self.looking.look(self.tools["get_booking"], {"booking_id": booking})

    def keep(self, *sights: Any) -> bool:
        return asyncio.run(self.looking.keep(*sights))


def test_a_look_on_trial_is_no_step_and_can_be_forgotten() -> None:
    """What was looked at is known, until it is forgotten; nothing was done."""
    boats = _Boats()
    sight = boats.look("BK-1042")
    assert boats.looking.memory.best("seats")
    boats.looking.forget()
    assert not boats.looking.memory.best("seats")
    assert boats.looking.steps == []
    assert sight.value["seats"] == 2


def test_what_is_kept_becomes_steps_once() -> None:
    """Two looks at one thing are one step, and the others on trial are forgotten."""
    boats = _Boats()
    past = boats.look("BK-7")
    boats.look("BK-1042")
    assert boats.keep(past)
    assert boats.keep(past)
    assert [step.call.arguments for step in boats.looking.steps] == [{"booking_id": "BK-7"}]
    assert [(step, sight.number) for step, sight in boats.looking.kept] == [(0, past.number)]
    assert boats.looking.was_seen(boats.tools["get_booking"], {"booking_id": "BK-7"})
    assert not boats.looking.was_seen(boats.tools["get_booking"], {"booking_id": "BK-1042"})


def test_a_refused_look_teaches_nothing() -> None:
    """A booking that is not there is no step, and not looked for again."""
    boats = _Boats()
    sight = boats.look("BK-0")
    assert sight.refused
    assert boats.keep(sight)
    assert boats.looking.steps == []
    assert boats.looking.was_seen(boats.tools["get_booking"], {"booking_id": "BK-0"})


def test_a_probe_leaves_nothing_behind() -> None:
    """What a call would do is found out without doing it; also as if nothing had been done yet."""
    boats = _Boats()
    cancel, before = call("cancel", booking_id="BK-1042"), boats.world.digest()
    assert boats.looking.probe(cancel).changed
    assert boats.world.digest() == before
    asyncio.run(boats.looking.do(cancel, "write"))
    assert boats.looking.probe(cancel).error
    assert boats.looking.probe(cancel, before_all=True).changed
    assert boats.looking.probe(cancel).error


def test_a_call_that_no_tool_can_take_is_no_refusal() -> None:
    """A mistake of the explorer has no words that a customer could be told."""
    step = _Boats().looking.probe(call("cancel", boat="BK-1042"))
    assert step.error
    assert step.result == ""


def test_what_a_look_would_show_now_follows_the_changes() -> None:
    """A fact can be asked whether it still holds."""
    boats = _Boats()
    sight = boats.look("BK-1042")
    boats.keep(sight)
    asyncio.run(boats.looking.do(call("pay", booking_id="BK-1042", amount=5), "write"))
    assert boats.looking.now(sight)["deposit"] == 35
    assert sight.value["deposit"] == 30


def test_looks_that_a_rule_forbids_are_not_kept() -> None:
    """Before the customer is found, an order is not looked at."""
    domain = shop()
    knowhow = Knowhow(domain, domain.world().content())
    looking = Looking(domain.world(), Memory(), Library(knowhow.keys))
    sight = looking.look(knowhow.tools["get_order_details"], DELIVERED.arguments or {})
    assert not asyncio.run(looking.keep(sight))
    assert looking.steps == []


def test_a_customer_says_their_name_and_orders_but_no_ids_of_payment_methods() -> None:
    """What only the desk's record knows by an id has to be read there."""
    domain = shop()
    knowhow = Knowhow(domain, domain.world().content())
    looking = Looking(domain.world(), Memory(), Library(knowhow.keys))
    looking.remember(noor())
    assert [leaf.value for leaf in looking.memory.best("order_id", (CUSTOMER,))] == ["#W1", "#W2"]
    assert looking.memory.best("email", (CUSTOMER,))
    assert not looking.memory.best("payment_method_id", (CUSTOMER,))


def test_a_library_reads_a_text_once() -> None:
    """The same result of the same call has one page, another result another one."""
    library = Library({})
    first, again = library.read("a {}", '{"x":1}', {}), library.read("a {}", '{"x":1}', {})
    assert first[1] is again[1]
    assert library.read("a {}", '{"x":2}', {})[1] is not first[1]
