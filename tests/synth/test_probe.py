"""Probing: what tools really recognise, and what is known afterwards."""

from __future__ import annotations

import time

import pytest
from boatdomain import Booking, Desk, domain
from shopgraph import shop
from tau2peer import absent

from turngap.domains import build
from turngap.domains.api import Domain, ToolError, read, write
from turngap.synth.probe import Findings, Flow, probe


def _flows(found: Findings) -> set[tuple[str, str, str, str]]:
    return {tuple(flow) for flow in found.flows}


@read
def overview(desk: Desk) -> list[dict[str, object]]:
    """List all bookings."""
    return [{"number": key, "day": booking.date, "place": "pier 4"} for key, booking in desk.bookings.items()]


@write
def rebook(desk: Desk, ref: str, to: str, place: str) -> Booking:
    """Move a booking."""
    if ref not in desk.bookings:
        raise ToolError(f"nothing is known of {ref}")
    if to < desk.today:
        raise ToolError(f"{to} is past")
    return desk.bookings.change(ref, date=to, notes=[place])


@read
def search(desk: Desk, date: str) -> list[str]:
    """Bookings on a day."""
    return [key for key, booking in desk.bookings.items() if booking.date == date]


def _domain(*tools: object) -> Domain:
    return domain(tools=list(tools), user_tools=[], rules=[])


def test_recognised_values_flow() -> None:
    """A key flows though no name agrees; a place that any text would do for does not."""
    found = probe(_domain(overview, rebook))
    assert ("overview", "[*].number", "rebook", "ref") in _flows(found)
    assert not [flow for flow in found.flows if flow.parameter == "place"]
    assert found.keys == {("rebook", "ref"): 2}


def test_something_instead_of_nothing_is_recognised() -> None:
    """A search that finds nothing is no error; yet it tells a day with bookings from one without."""
    found = probe(_domain(overview, search))
    assert found.flows[Flow("overview", "[*].day", "search", "date")] == 2


def test_what_was_seen_of_results() -> None:
    """Places with the kind of their values; what a call was given is no news."""
    fields = probe(shop()).fields
    assert fields["get_user_details"]["payment_methods[*].id"] == "text"
    assert fields["get_order_details"]["items[*].price"] == "number"
    assert fields["get_product_details"]["variants[*].available"] == "boolean"
    assert "order_id" not in fields["get_order_details"]
    assert set(fields) == {tool.name for tool in shop().tools if tool.kind == "read"}


def test_seeds_agree_where_it_matters() -> None:
    """Other records, the same flows into the tools that look things up."""
    looking = ("get_user_details", "get_order_details", "get_product_details")
    drawn = [{flow[:2] for flow in _flows(probe(shop(), seed)) if flow[2] in looking} for seed in range(3)]
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_tool_that_runs_out_of_time_is_called_no_more() -> None:
    """Each call would wait as long; the other tools are probed as ever."""
    calls = []

    @read
    def ponder(desk: Desk, booking_id: str) -> str:
        """Think about a booking."""
        calls.append(booking_id)
        time.sleep(60)
        return desk.today

    found = probe(domain(tools=[overview, ponder, rebook], user_tools=[], rules=[], time_limit=0.05))
    assert len(calls) == 2, "one call, which a reading tool gets a second chance for"
    assert found.silent == ("ponder",)
    assert ("overview", "[*].number", "rebook", "ref") in _flows(found)


def test_telecom() -> None:
    """In tau2's telecom, names in other words and one parameter for any id are found out, and no chance likeness is."""
    if reason := absent():
        pytest.skip(reason)
    found = probe(build("tau2:telecom"))
    by_name = {flow[1] for flow in _flows(found) if flow[2:] == ("get_customer_by_name", "dob")}
    assert by_name == {"date_of_birth"}
    any_id = {flow[1].rpartition(".")[2] for flow in _flows(found) if flow[2:] == ("get_details_by_id", "id")}
    assert any_id == {"bill_id", "bill_ids[*]", "customer_id", "line_ids[*]"}
    assert found.silent == ()
