"""Whether a fact was said."""

from __future__ import annotations

import pytest

from turngap.data import Acted, AssistantMessage, Spoken, ToolCall, ToolMessage, Trajectory, UserMessage
from turngap.grading.saying import says, spoken, unsaid


def test_facts_are_read_and_not_searched_for() -> None:
    """ENV-08: a number is found as a number with its borders, whatever separators either side uses."""
    texts = ("Your booking BK-1042 is set", "It is 1500 in total", "On 02/05")
    assert unsaid(("10", "1,500", "2 May"), texts) == ("10",)
    assert says("It is 1 500 in total", "1,500")
    assert says("It is 1.500 in total", "1,500")
    assert not says("It is 1.500,25 in total", "1,500")


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("1,234.50", "You get $1234.5 back."),
        ("$1234.5", "That makes 1,234.50 USD."),
        ("54.04 dollars", "The refund is $54.04."),
        ("20 May", "It arrives on 2024-05-20."),
        ("2024-05-20", "It arrives on May 20, 2024."),
        ("#W2378156", "Order W2378156 is pending."),
        ("20 hours", "It runs 20 hours."),
        ("20 hours", "Its battery life is about 20 Hours of use"),
        ("64GB", "with 64 GB of storage"),
        ("943 Maple Drive", "We send it to 943 maple drive, Suite 356."),
        ("mastercard", "It is a Mastercard ending in 60."),
        ("credit_card", "Paid by credit card."),
        ("3", "There are three options."),
        ("11:30 am", "The train leaves at 11:30."),
    ],
)
def test_common_writings_meet(fact: str, text: str) -> None:
    """One fact in two usual spellings is said."""
    assert says(text, fact)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("10", "It is 100."),
        ("10", "It is 10.50."),
        ("10", "Order #W1042 with 3 items."),
        ("481.50", "It is 481.05."),
        ("2 May", "It arrives on 3 May."),
        ("2024-05-20", "It arrives on 20 May 2023."),
        ("20 hours", "It costs 20 dollars."),
        ("943 Maple Drive", "We send it to 943 Oak Drive."),
        ("white", "It is off-track, whitest of all."),
        ("cotton", ""),
    ],
)
def test_other_facts_stay_apart(fact: str, text: str) -> None:
    """A different value, or half of the words, is not said."""
    assert not says(text, fact)


def test_only_what_the_user_hears_counts() -> None:
    """Words beside a call, words of the user and results of tools tell the user nothing."""
    call = ToolCall(name="get_booking", arguments={})
    events = (
        Spoken(message=UserMessage(content="Is it 10?")),
        Acted(message=AssistantMessage(content="10", calls=(call,)), results=(ToolMessage(content="10"),)),
        Acted(message=AssistantMessage(content="It is 11.")),
    )
    assert list(spoken(Trajectory(conversation="t", events=events))) == [(2, "It is 11.")]
