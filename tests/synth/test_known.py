"""What a customer can know."""

from __future__ import annotations

import msgspec
import pytest
from explorations import noor

from turngap.synth.known import Known


@pytest.mark.parametrize("value", ["u", "Noor", "noor@example.com", "83702", "#W1", "0001", "visa"])
def test_people_know_who_they_are_and_what_they_have_in_hand(value: str) -> None:
    """Name, address, order numbers, the brand of a card."""
    assert value in Known(noor())


@pytest.mark.parametrize("value", ["c1", "g1", "#W3", "11"])
def test_people_do_not_know_what_the_system_calls_things(value: str) -> None:
    """Not the key of a payment method, nor somebody else's order, nor the id of an item."""
    assert value not in Known(noor())


def test_people_know_the_records_that_are_theirs() -> None:
    """Records that say whose they are belong to what a person has in hand, and so does what they are told."""
    customer = msgspec.structs.replace(noor(), linked=("T-5",))
    assert "T-5" in Known(customer)
    assert "#W3" in Known(customer, told=["#W3"])
