"""A boat-hire desk as a live domain, with tasks for it: for the tests of rollouts."""

from __future__ import annotations

from typing import Any

from turngap.data import Trajectory
from turngap.data.reward import Grade, Reward
from turngap.data.task import Action, Component, Criteria, Fact, Instructions, Intent, Scenario, Task
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.api import Domain, Record, State, Table, ToolError, generic, read, write

POLICY = (
    "You work for a boat hire. MARKER-17. Look a booking up before you change it. Ask for a yes before you move it."
)


class Booking(Record):
    """One booking."""

    date: str
    seats: int = 1


class Desk(State):
    """All there is."""

    bookings: Table[Booking]


@read
def get_booking(desk: Desk, booking_id: str) -> Booking:
    """Look a booking up."""
    if booking_id not in desk.bookings:
        raise ToolError(f"there is no booking {booking_id}")
    return desk.bookings[booking_id]


@write
def move_booking(desk: Desk, booking_id: str, date: str) -> Booking:
    """Move a booking to another day."""
    if booking_id not in desk.bookings:
        raise ToolError(f"there is no booking {booking_id}")
    return desk.bookings.change(booking_id, date=date)


@write
def break_down(desk: Desk) -> str:
    """Do not use."""
    raise ZeroDivisionError(f"{len(desk.bookings)} / 0")


@generic
def hand_over(summary: str) -> str:
    """Hand over to a person."""
    return f"handed over: {summary}"


def database() -> dict[str, Any]:
    """Three bookings."""
    return {"bookings": {f"BK-{number}": {"date": "2031-04-30", "seats": number} for number in (1, 2, 3)}}


DOMAIN = Domain(
    name="boats",
    policy=POLICY,
    state=Desk,
    tools=[get_booking, move_booking, break_down, hand_over],
    database=database,
)


def task(number: int, *, scenario: Scenario = Scenario.GENERAL, date: str = "2031-05-02") -> Task:
    """The user of a booking wants it on another day, and wants to hear that day."""
    booking = f"BK-{number}"
    actions = (Action(name="move_booking", arguments={"booking_id": booking, "date": date}),)
    return Task(
        id=f"move-{number}",
        domain="boats",
        scenario=scenario,
        instructions=Instructions(reason=f"You want to move booking {booking} to {date}."),
        criteria=Criteria(actions=actions, communicate=(date,), reward_basis=(Component.DB, Component.COMMUNICATE)),
        intent=Intent(
            opening=f"Hello, please move {booking} to {date}.",
            facts=(Fact(slot="booking_id", value=booking), Fact(slot="date", value=date)),
        ),
    )


class DateGrader:
    """1 when the bookings are as the reference actions leave them; remembers what it was given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.graded: list[str] = []
        self.beside: list[bool] = []

    def identity(self) -> dict[str, Any]:
        return {"grader": "date"}

    async def grade(
        self, task: Task, domain: LiveDomain, trajectory: Trajectory, world: LiveWorld, *, beside: bool = True
    ) -> Reward:
        if self.error is not None:
            raise self.error
        self.graded.append(task.id)
        self.beside.append(beside)
        wanted = domain.world(0, task.initial_state)
        for action in task.criteria.actions:
            wanted.call(action.call())
        value = float(wanted.digest() == world.digest())
        missing = "; ".join(map(str, wanted.diff(world)))
        grades = {"DB": Grade(value=value, counted=True, detail=missing), "ACTION": Grade(value=0.0, counted=False)}
        return Reward(value=value, components=grades)

    async def aclose(self) -> None:
        """Nothing to release."""
