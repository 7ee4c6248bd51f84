"""Reads: what tells a reading tool from a writing one, and that doubt means writing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turngap.data import ToolSpec
from turngap.judges.reads import is_read


@pytest.mark.parametrize(
    "name",
    ["get_booking", "find_customer", "list_slots", "findUserByEmail", "SearchHotel", "orders.get", "api__query_x"],
)
def test_reading_verbs_in_front_read(name: str) -> None:
    """A reading verb at the front of the name, behind any namespace, makes a read."""
    assert is_read(name, None)


@pytest.mark.parametrize(
    "name",
    [
        "move_booking",
        "hand_over",
        "get_or_create_customer",
        "find_and_replace",
        "check_in",
        "checkOut",
        "GetRide",
        "get_refund",
        "list_and_delete",
        "booking_get_deleted",
        "",
        "42",
    ],
)
def test_doubt_means_writing(name: str) -> None:
    """No reading verb in front, a second verb, or something one gets by ordering it: not a read."""
    assert not is_read(name, None)


@pytest.mark.parametrize("description", ["Call a taxi to a place.", "Cancels a booking", "Updating the record"])
def test_a_description_that_begins_with_a_change_wins(description: str) -> None:
    """The description may take the benefit of the name away."""
    assert is_read("get_thing", ToolSpec(name="get_thing", description="Get the details of a thing."))
    assert not is_read("get_thing", ToolSpec(name="get_thing", description=description))


def test_no_tool_that_is_known_to_write_passes_as_a_read(shared: Path) -> None:
    """On real tools that say which of them change something, none of those is taken for a read, described or not."""
    writes = [
        (intent["name"], intent["description"])
        for service in json.loads((shared / "sgd" / "dev_schema.json").read_text())
        for intent in service["intents"]
        if intent["is_transactional"]
    ]
    tools = json.loads((shared / "tooltalk" / "tools.json").read_text())
    writes += [(tool["name"], tool["description"]) for tool in tools if tool["is_action"]]
    assert len(writes) > 20
    for name, description in writes:
        assert not is_read(name, None), name
        assert not is_read(name, ToolSpec(name=name, description=description)), name
