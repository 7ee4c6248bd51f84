"""Domains as their authors write them: tools, arguments, worlds."""

from __future__ import annotations

import json

import msgspec

from turngap.data import ToolCall
from turngap.domains.api import Domain, Record, State, Table, ToolError, read, write


class Booking(Record):
    date: str
    seats: int = 1
    contact: dict[str, str] = msgspec.field(default_factory=dict)


class Desk(State):
    bookings: Table[Booking]
    next_number: int = 7


@read
def get_booking(desk: Desk, booking_id: str) -> Booking:
    """Look a booking up.

    Args:
        desk: not told to the agent.
        booking_id: such as BK-1.
    """
    if booking_id not in desk.bookings:
        raise ToolError(f"there is no booking {booking_id}")
    return desk.bookings[booking_id]


@write
def move_booking(desk: Desk, booking_id: str, date: str, seats: int | None = None) -> Booking:
    """Move a booking to another day."""
    found = get_booking(desk, booking_id)
    return desk.bookings.change(booking_id, date=date, seats=found.seats if seats is None else seats)


def _domain() -> Domain:
    return Domain(
        name="desk",
        policy="Be kind.",
        state=Desk,
        tools=[get_booking, move_booking],
        database={
            "bookings": {"BK-1": {"date": "2031-05-01", "contact": {"name": "A"}}, "BK-2": {"date": "2031-05-02"}}
        },
    )


def _call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def test_a_write_shows_in_result_digest_and_diff() -> None:
    """A tool's write reaches the world: the result, the digest and the diff name it; the next world knows nothing."""
    domain = _domain()
    world, fresh = domain.world(), domain.world()
    result = world.call(_call("move_booking", booking_id="BK-1", date="2031-06-01"))
    assert json.loads(result.content) == {"date": "2031-06-01", "seats": 1, "contact": {"name": "A"}}
    assert not result.error
    assert [str(one) for one in fresh.diff(world)] == ['bookings[BK-1].date: "2031-05-01" -> "2031-06-01"']
    assert world.digest() != fresh.digest() == domain.world().digest()


def test_schemas_come_from_hints_and_docstrings() -> None:
    """The agent is told names, types, defaults and descriptions."""
    get, move = _domain().tools
    assert get.spec.description == "Look a booking up."
    assert get.spec.parameters == {
        "type": "object",
        "properties": {"booking_id": {"type": "string", "description": "such as BK-1."}},
        "required": ["booking_id"],
        "additionalProperties": False,
    }
    assert move.spec.parameters["required"] == ["booking_id", "date"]
    assert (get.kind, move.kind) == ("read", "write")


def test_bad_calls_are_results() -> None:
    """An unknown tool, unfit arguments and the domain's own refusal are results that the agent reads."""
    world = _domain().world()
    told = {
        "unknown": world.call(_call("cancel")).content,
        "missing": world.call(_call("get_booking")).content,
        "type": world.call(_call("move_booking", booking_id="BK-1", date=5)).content,
        "refused": world.call(_call("get_booking", booking_id="BK-9")).content,
    }
    assert {key: json.loads(text)["error"] for key, text in told.items()} == {
        "unknown": "unknown tool 'cancel'; known: get_booking, move_booking",
        "missing": "missing required argument 'booking_id'",
        "type": "argument 'date' should be a string, not 5",
        "refused": "there is no booking BK-9",
    }
