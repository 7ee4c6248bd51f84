"""The boat-hire desk as a live domain, for tests: every kind of tool, record and rule."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import msgspec

from turngap.data import ToolCall
from turngap.domains.api import Domain, Record, State, Table, ToolError, assertion, check, generic, read, write

POLICY = "Look a booking up before you change it. Past bookings stay as they are."


class Contact(Record):
    """Who comes."""

    name: str
    postcode: str = ""


class Booking(Record):
    """A boat on a day."""

    date: str
    seats: int = 1
    deposit: Decimal = Decimal(0)
    contact: Contact | None = None
    tags: frozenset[str] = frozenset()
    notes: list[str] = msgspec.field(default_factory=list)


class Desk(State):
    """Everything the desk knows."""

    bookings: Table[Booking]
    papers: Table[dict[str, Any]]
    tally: dict[str, dict[str, int]] = {"moves": {"all": 0}}  # noqa: RUF012 - a State takes its defaults off the class
    today: str = "2031-05-01"


def find(desk: Desk, booking_id: str) -> Booking:
    """A booking, or the tool's no."""
    if booking_id not in desk.bookings:
        raise ToolError(f"there is no booking {booking_id}")
    return desk.bookings[booking_id]


@read
def get_booking(desk: Desk, booking_id: str) -> Booking:
    """Look a booking up.

    Args:
        desk: the state, of which the agent is told nothing.
        booking_id: such as BK-1042.
    """
    return find(desk, booking_id)


@read
def list_tags(desk: Desk) -> set[str]:
    """List all tags in use."""
    return {tag for booking in desk.bookings.values() for tag in booking.tags}


@write
def move_booking(desk: Desk, booking_id: str, date: str, seats: int = 1) -> Booking:
    """Move a booking to another day."""
    found = find(desk, booking_id)
    desk.tally = {"moves": {"all": desk.tally["moves"]["all"] + 1}}
    if found.date < desk.today:
        raise ToolError("a past booking cannot be moved")
    return desk.bookings.change(booking_id, date=date, seats=seats)


@write
async def set_contact(desk: Desk, booking_id: str, contact: Contact) -> str:
    """Note who comes. Takes a moment."""
    find(desk, booking_id)
    desk.bookings.change(booking_id, contact=contact)
    await asyncio.sleep(0.001)
    noted = desk.bookings[booking_id].contact
    return noted.name if noted else "nobody"


@write
def pay(desk: Desk, booking_id: str, amount: Decimal) -> Booking:
    """Take a deposit."""
    return desk.bookings.change(booking_id, deposit=find(desk, booking_id).deposit + amount)


@write
def cancel(desk: Desk, booking_id: str) -> str:
    """Cancel a booking."""
    find(desk, booking_id)
    desk.bookings.remove(booking_id)
    return "cancelled"


@generic
def hand_over(summary: str) -> str:
    """Hand over to a person."""
    return f"handed over: {summary}"


@read
def look_at_ticket(desk: Desk) -> str:
    """What stands on the ticket in the user's hands."""
    return f"{len(desk.bookings)} bookings"


@check
def past_stays(desk: Desk, call: ToolCall) -> str | None:
    """Past bookings stay as they are."""
    booking = desk.bookings.get((call.arguments or {}).get("booking_id", ""))
    past = call.name in ("move_booking", "cancel") and booking is not None and booking.date < desk.today
    return "past bookings stay as they are" if past else None


@assertion
def is_on(desk: Desk, booking_id: str, date: str) -> bool:
    """Whether a booking is on a day."""
    return desk.bookings[booking_id].date == date


def database() -> dict[str, Any]:
    """A fresh copy of the desk's data."""
    return {
        "bookings": {
            "BK-1042": {
                "date": "2031-05-02",
                "seats": 2,
                "deposit": 30,
                "contact": {"name": "Ines", "postcode": "02134"},
                "tags": ["late", "pier 4", "dog"],
                "notes": ["window seat"],
            },
            "BK-7": {"date": "2031-04-01"},
        },
        "papers": {"P-1": {"lines": [{"text": "hull", "sum": 1.5}], "open": True}},
    }


def domain(**changed: Any) -> Domain:
    """The desk, with other settings where given."""
    settings: dict[str, Any] = {
        "name": "boats",
        "policy": POLICY,
        "state": Desk,
        "tools": [get_booking, list_tags, move_booking, set_contact, pay, cancel, hand_over],
        "user_tools": [look_at_ticket],
        "rules": [past_stays, is_on],
        "database": database(),
    }
    return Domain(**{**settings, **changed})


def call(name: str, **arguments: Any) -> ToolCall:
    """A call of a tool."""
    return ToolCall(name=name, arguments=arguments)
