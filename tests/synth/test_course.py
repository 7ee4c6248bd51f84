"""How the program pursues what it is after, in a little ferry office."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from turngap.domains.api import Domain, Record, State, Table, ToolError, generic, read, write
from turngap.synth.customer import Sampler
from turngap.synth.explore import Brief
from turngap.synth.plan import Exploration
from turngap.synth.program import ProgramExplorer


class Passenger(Record):
    """Who travels."""

    name: str
    email: str
    trips: list[str]


class Trip(Record):
    """A crossing."""

    harbour: str
    fare: int
    paid: int = 0
    cancelled: bool = False


class Office(State):
    """What the office knows."""

    passengers: Table[Passenger]
    trips: Table[Trip]


@read
def find_passenger(office: Office, email: str) -> str:
    """Find a passenger."""
    for key, one in office.passengers.items():
        if one.email == email:
            return key
    raise ToolError("nobody")


@read
def show_trip(office: Office, trip_id: str) -> Trip:
    """Look a trip up."""
    if trip_id not in office.trips:
        raise ToolError("there is no such trip")
    return office.trips[trip_id]


@write
def pay_trip(office: Office, trip_id: str, amount: int) -> Trip:
    """Take the fare of a trip."""
    trip = office.trips[trip_id]
    if trip.cancelled:
        raise ToolError("a cancelled trip cannot be paid")
    if amount != trip.fare:
        raise ToolError(f"the fare is {trip.fare}, but {amount} was offered")
    return office.trips.change(trip_id, paid=amount)


@write
def cancel_trip(office: Office, trip_id: str) -> Trip:
    """Cancel a trip."""
    return office.trips.change(trip_id, cancelled=True)


@generic
def hand_over(summary: str) -> str:
    """Hand over."""
    return summary


def _office(**fares: int) -> Domain:
    trips: dict[str, Any] = {
        key: {"harbour": "Oban", "fare": fare, "cancelled": fare < 0} for key, fare in fares.items()
    }
    passenger = {"name": "Ada Vega", "email": "ada@example.com", "trips": list(trips)}
    return Domain(
        name="ferry",
        policy="Be kind.",
        state=Office,
        tools=[find_passenger, show_trip, pay_trip, cancel_trip, hand_over],
        database={"passengers": {"P1": passenger}, "trips": trips},
    )


def _explore(domain: Domain, seeds: range) -> list[Exploration]:
    people, explorer = Sampler(domain), ProgramExplorer(domain)
    tools = tuple(tool.name for tool in domain.tools)

    async def all_of_them() -> list[Exploration]:
        return [
            await explorer.explore(
                Brief(id=f"x{seed}", seed=seed, customer=people.customer("P1"), tools=tools), domain.world()
            )
            for seed in seeds
        ]

    return asyncio.run(all_of_them())


def _calls(exploration: Exploration, name: str) -> list[dict[str, Any]]:
    return [step.call.arguments or {} for step in exploration.steps if step.call.name == name and not step.error]


def test_a_refusal_that_names_what_it_wants_is_taken_at_its_word() -> None:
    """An amount that nobody could guess is paid, since the tool says it."""
    paid = [call for one in _explore(_office(T1=377), range(30)) for call in _calls(one, "pay_trip")]
    assert paid
    assert all(call == {"trip_id": "T1", "amount": 377} for call in paid)


def test_what_is_ended_is_left_alone_and_what_was_changed_is_not_ended() -> None:
    """A cancelled trip is not paid, and a paid one not cancelled, in one visit."""
    for one in _explore(_office(T1=15, T2=25, T3=35), range(40)):
        cancelled = {call["trip_id"] for call in _calls(one, "cancel_trip")}
        paid = {call["trip_id"] for call in _calls(one, "pay_trip")}
        assert not cancelled & paid


def test_nothing_is_refused_for_what_the_visit_itself_did() -> None:
    """Where every trip could be paid in the beginning, no payment is refused in the end."""
    assert not any(step.error for one in _explore(_office(T1=15, T2=25), range(40)) for step in one.steps)


def test_what_could_never_be_done_is_tried_now_and_then() -> None:
    """A trip that was cancelled before the visit cannot be paid, which somebody may want all the same."""
    found = [step for one in _explore(_office(T1=15, T2=-1), range(40)) for step in one.steps if step.error]
    assert found
    assert {step.result for step in found} == {'{"error":"a cancelled trip cannot be paid"}'}


def test_the_customer_is_found_first_and_looked_up_before_a_change() -> None:
    """The first call finds the passenger, and a trip is looked at before anything is done about it."""
    for one in _explore(_office(T1=15, T2=25), range(20)):
        assert one.steps[0].call.name == "find_passenger"
        seen: set[str] = set()
        for step in one.steps:
            trip = (step.call.arguments or {}).get("trip_id", "")
            if step.kind == "read":
                seen.add(trip)
            elif trip:
                assert trip in seen


def test_where_nothing_can_be_changed_the_customer_is_handed_over() -> None:
    """A passenger without trips is passed on to a person."""
    domain = _office()
    for one in _explore(domain, range(5)):
        assert [step.call.name for step in one.steps if step.kind == "generic"] == ["hand_over"]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_small_budget_is_kept_to(most: int) -> None:
    """With room for few steps, what does not fit is not begun."""
    domain = _office(T1=15, T2=25)
    explorer, tools = ProgramExplorer(domain), tuple(tool.name for tool in domain.tools)
    brief = Brief(id="x", seed=1, customer=Sampler(domain).customer("P1"), tools=tools, most_steps=most)
    assert 0 < len(asyncio.run(explorer.explore(brief, domain.world())).steps) <= most
