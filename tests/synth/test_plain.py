"""Words where no phrase knows better."""

from __future__ import annotations

from typing import Any

import pytest

from turngap.data import ToolSpec
from turngap.synth.plain import can_be_said, general_answer, general_topic, general_wish, with_article


@pytest.mark.parametrize(
    ("name", "description", "wish"),
    [
        ("suspend_line", "Suspends a specific line (max 6 months).", "suspend a specific line"),
        ("send_payment_request", "Sends a request to the customer.", "send a payment request"),
        ("refuel_data", "", "refuel data"),
        ("enable_roaming", "Switch it on.", "enable roaming"),
        ("move_bookings", "", "move bookings"),
        ("pay", "Take a deposit.", "pay"),
        ("cancel_order", "", "cancel an order"),
        ("hand_over_parcel", "", "hand over a parcel"),
        ("turn_roaming_on", "", "turn on roaming"),
        ("lottery", "Change seats at random.", "change seats at random (lottery)"),
        ("lottery", "", "ask for the lottery"),
        ("add_credit", "Not idempotent.", "add credit"),
    ],
)
def test_a_general_wish(name: str, description: str, wish: str) -> None:
    """From the description where it begins with the tool's verb and speaks to customers, else from the name."""
    assert general_wish(name, ToolSpec(name=name, description=description)) == wish


def test_a_verb_alone_is_done_to_the_record_that_the_tool_takes() -> None:
    """Nobody says "I'd like to undo"."""
    parameters: dict[str, Any] = {"properties": {"order_id": {"type": "string"}}}
    assert general_wish("undo", ToolSpec(name="undo", description="Toggle.", parameters=parameters)) == "undo an order"
    assert general_wish("pay", ToolSpec(name="pay", description="", parameters=parameters)) == "pay for an order"


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("cancel_order", "cancelling an order"),
        ("set_status", "setting a status"),
        ("move_booking", "moving a booking"),
        ("hand_over_parcel", "handing over a parcel"),
        ("repair_boat", "repairing a boat"),
    ],
)
def test_a_general_topic(name: str, topic: str) -> None:
    """What goes after "for" is a thing that is done."""
    assert general_topic(name, None) == topic


@pytest.mark.parametrize(
    ("thing", "said"),
    [("order", "an order"), ("user", "a user"), ("hour", "an hour"), ("USB hub", "a USB hub"), ("boat", "a boat")],
)
def test_articles_go_by_sound(thing: str, said: str) -> None:
    """Not by the letter."""
    assert with_article(thing) == said


@pytest.mark.parametrize(
    ("slot", "value", "said"),
    [
        ("on", False, "It should be off."),
        ("on", True, "It should be on."),
        ("is_refundable", False, "It should not be refundable."),
        ("insurance", True, "With insurance, please."),
        ("include_meal", False, "Without meal, please."),
        ("note", "", "There is no note."),
        ("seats", 3, "The number of seats is 3."),
        ("contact", {"name": "Ines Aro", "postcode": "02134"}, "The contact is Ines Aro, zip code 02134."),
        ("date", "2031-05-02", "The date is 2031-05-02."),
    ],
)
def test_a_general_answer(slot: str, value: Any, said: str) -> None:
    """Yes and no are said of something, and nothing is no value."""
    assert general_answer(slot, value).replace("postcode", "zip code") == said


def test_what_nobody_can_say() -> None:
    """Nothing, line breaks in an id, and signs that nobody can type; other writings and quotes anybody can."""
    for value in ("", " ", "a\nb", "\x00z", "\u202eabc"):
        assert not can_be_said(value)
    for value in ("שלום-1", "\U0001f6a2-2", "q\"uo'te", "李小龙", 7, True):
        assert can_be_said(value)
