"""What a task does to a world before the conversation begins."""

from __future__ import annotations

from typing import Any

import pytest
from boatdomain import call, domain

from turngap.errors import DataFault


def test_data_actions_and_history_make_the_beginning() -> None:
    """Data is laid over the database, actions of both sides are done, and the history's calls are made again."""
    state = {
        "initialization_data": {
            "agent_data": {"bookings": {"BK-9": {"date": "2031-06-01"}}},
            "user_data": {"today": "2031-05-03"},
        },
        "initialization_actions": [
            {"env_type": "assistant", "func_name": "pay", "arguments": {"booking_id": "BK-9", "amount": 5}},
            {"env_type": "user", "func_name": "look_at_ticket", "arguments": {}},
        ],
        "message_history": [
            {"role": "user", "content": "Cancel it."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "name": "cancel", "arguments": {"booking_id": "BK-7"}, "requestor": "assistant"},
                    {"id": "2", "name": "cancel", "arguments": {"booking_id": "BK-7"}},
                ],
            },
            {"role": "tool", "id": "1", "content": "cancelled"},
        ],
    }
    world = domain().world(initial_state=state)
    told = [str(one).partition(":")[0] for one in domain().world().diff(world)]
    assert told == ["bookings[BK-7] removed", "bookings[BK-9] added", "today"]
    assert world.state.bookings["BK-9"].deposit == 5
    assert world.changes() == ()


def test_worlds_of_one_task_are_equal_and_apart() -> None:
    """Two worlds of a task have one digest until one of them is written to."""
    boats = domain()
    state = {"initialization_data": {"agent_data": {"bookings": {"BK-7": {"date": "2031-06-01"}}}}}
    one, other = boats.world(initial_state=state), boats.world(initial_state=state)
    assert one.digest() == other.digest() != boats.world().digest()
    one.call(call("cancel", booking_id="BK-7"))
    assert other.changes() == ()


@pytest.mark.parametrize(
    "state", [None, {}, {"initialization_data": None, "initialization_actions": None, "message_history": None}]
)
def test_a_task_may_change_nothing(state: dict[str, Any] | None) -> None:
    """Without an initial state, or with an empty one, the world is the database."""
    assert domain().world(initial_state=state).digest() == domain().world().digest()


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (
            {"bookings": {}},
            "unknown field 'bookings'; known: initialization_data, initialization_actions, message_history",
        ),
        (
            {"initialization_actions": [{"arguments": {}}]},
            r"missing required field `func_name` - at `\$.initialization_a",
        ),
        ({"initialization_data": {"agent_data": {"boats": {}}}}, "Desk has no table 'boats'"),
        ({"initialization_data": {"agent_data": {"bookings": {"B": {}}}}}, r"bookings\['B'\]: Object missing required"),
        (
            {"initialization_actions": [{"func_name": "cancel", "arguments": {"booking_id": "X"}}]},
            "cancel gave .*no booking X",
        ),
        ({"initialization_actions": [{"func_name": "sink"}]}, "sink gave .*unknown tool 'sink'"),
    ],
)
def test_an_initial_state_that_does_not_fit_is_the_task_s_fault(state: dict[str, Any], problem: str) -> None:
    """The trial is errored because of its data, and the place is named."""
    with pytest.raises(DataFault, match=f"domain 'boats': initial state: .*{problem}"):
        domain().world(initial_state=state)
