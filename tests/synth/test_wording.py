"""Plans in words: every way of asking says what has to be said, and nobody speaks in ids."""

from __future__ import annotations

import random

import pytest
from boatdomain import domain as boats
from explorations import (
    CANCEL,
    DELIVERED,
    EXCHANGE,
    FIND,
    HAND_OVER,
    HOME,
    LAMP,
    MOVE,
    MUG,
    PAY,
    PENDING,
    RETURN,
    SUM,
    SWAP,
    USER,
    a_booking,
    call,
    explored,
    shop,
)

from turngap.data import ToolCall
from turngap.synth.ablation import backbone
from turngap.synth.phrase import Voice, voiced
from turngap.synth.plan import Fact
from turngap.synth.wording import Speech, Wording, mentions, told_identity

LOOKS = (FIND, USER, PENDING, DELIVERED, MUG, LAMP)
SEEDS = range(15)


def _speech(*calls: ToolCall, seed: int = 0, facts: tuple[Fact, ...] = ()) -> Speech:
    plan = backbone(shop(), explored((*LOOKS, *calls), facts=facts))
    return Wording(shop()).speech(plan, random.Random(seed))


def _wish(speech: Speech) -> str:
    step = speech.plan.writes()[0]
    phrase, rest = speech.wish(step)
    return voiced(" ".join((f"I want to {phrase}.", *rest)), Voice.SELF)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (CANCEL, ["#W1", "need|longer"]),
        (RETURN, ["#W2", "the mug", "my Visa|my credit card"]),
        (EXCHANGE, ["#W2", "the mug", "in blue", "my Visa|my credit card"]),
        (SWAP, ["#W1", "the lamp", "in blue", "my gift card|g2|my Visa|credit card"]),
        (PAY, ["#W1", "my Visa|my credit card"]),
        (MOVE, ["#W1", "9 Oak Row, Reno, NV 89501, USA"]),
        (HOME, ["9 Oak Row, Reno, NV 89501, USA"]),
        (HAND_OVER, ["person|somebody|human"]),
    ],
)
def test_every_change_is_asked_for_with_all_its_values(change: ToolCall, words: list[str]) -> None:
    """In any of its wordings, and never by the id of an item or a card."""
    for seed in SEEDS:
        said = _wish(_speech(change, seed=seed))
        for word in words:
            assert any(one in said for one in word.split("|")), (word, said)
        assert not any(mentions(said, value) for value in ("11", "12", "21", "22", "c1")), said
        assert "{" not in said
        assert "<" not in said


def test_a_vague_wish_tells_no_value() -> None:
    """What kind of thing is wanted, and nothing else."""
    for change in (CANCEL, RETURN, EXCHANGE, SWAP, PAY, MOVE, HOME):
        for seed in SEEDS:
            said = _speech(change, seed=seed).vague(_speech(change).plan.writes()[0])
            assert not any(sign.isdigit() for sign in said)
            assert not any(word in said for word in ("mug", "lamp", "Oak"))


def test_an_answer_tells_its_value() -> None:
    """The parts of an address together, whichever is asked for; a variant beside what it takes the place of."""
    speech = _speech(EXCHANGE)
    step = speech.plan.writes()[0]
    assert "#W2" in speech.answer(step, "order_id")
    assert "the mug" in speech.answer(step, "item_ids")
    told = speech.answer(step, "new_item_ids")
    assert "the mug for" in told
    assert "in blue" in told
    moving = _speech(MOVE)
    step = moving.plan.writes()[0]
    assert moving.answer(step, "city") == moving.answer(step, "zip")
    assert "9 Oak Row, Reno, NV 89501, USA" in moving.answer(step, "city")


def test_the_same_generator_gives_the_same_words() -> None:
    """And one speech says the same thing the same way each time."""
    one, other = _speech(EXCHANGE, seed=4), _speech(EXCHANGE, seed=4)
    step = one.plan.writes()[0]
    assert one.wish(step) == other.wish(step) == one.wish(step)
    assert one.answer(step, "order_id") == one.answer(step, "order_id")


def test_two_of_a_kind_are_counted() -> None:
    """Noor has ordered the red mug twice."""
    both = call("return_delivered_order_items", order_id="#W2", item_ids=["11", "11"], payment_method_id="c1")
    assert "the mug (both of them)" in _wish(_speech(both))


def test_cards_that_sound_alike_are_told_apart() -> None:
    """Noor has two gift cards, so "my gift card" would not do."""
    back = call("return_delivered_order_items", order_id="#W2", item_ids=["11"], payment_method_id="g2")
    assert "my gift card" not in _wish(_speech(back))


def test_a_wish_about_somebody_else_s_things_does_not_claim_them() -> None:
    """Neither the order nor the card is "mine"."""
    plan = backbone(shop(), explored((*LOOKS, RETURN)))
    speech = Wording(shop()).speech(plan, random.Random(1), strange=True)
    phrase, _ = speech.wish(plan.writes()[0])
    assert "<my>" not in phrase
    assert "their " in phrase
    assert speech.why(plan.writes()[0]) == ""


def test_facts_are_asked_for_in_plain_words() -> None:
    """By place where the phrases know it; put vaguely where a value must not be said."""
    facts = (
        Fact(step=2, path="status", value="pending", about="the status of order #W1"),
        Fact(step=2, path="payment_history[0].amount", value="6", about="the amount"),
        Fact(step=4, path='variants["12"].price', value="1.05", about="the price"),
    )
    speech = _speech(facts=facts)
    about = [speech.about(fact) for fact in speech.plan.facts]
    assert "#W1" in about[0]
    assert "#W1" in about[1]
    assert "the mug in blue" in about[2]
    vague = speech.about(speech.plan.facts[0], ["#W1"])
    assert vague == "the status of an order"
    assert speech.about(speech.plan.facts[0]) == about[0]


def test_what_no_phrase_speaks_of_is_worded_from_its_specification() -> None:
    """At the boat desk a wish is what the tool's description says, with a sentence for each value."""
    move = call("move_booking", booking_id="BK-1042", date="2031-05-09", seats=3)
    exploration = explored((call("get_booking", booking_id="BK-1042"), move), boats(), a_booking())
    plan = backbone(boats(), exploration)
    phrase, rest = Wording(boats()).speech(plan, random.Random(0)).wish(plan.writes()[0])
    assert phrase == "move a booking to another day"
    assert any("2031-05-09" in sentence for sentence in rest)
    assert any("3" in sentence for sentence in rest)


def test_who_somebody_is_stands_in_sentences() -> None:
    """Name and zip code in one; what no phrase knows in a plain one."""
    phrases = Wording(shop()).phrases
    slots = {"first_name": "Noor", "last_name": "Vega", "zip": "83702", "badge": "77"}
    said = told_identity(phrases, slots, random.Random(0))
    assert [told for told, _ in said] == [("first_name", "last_name", "zip"), ("badge",)]
    assert all(value in said[0][1] for value in ("Noor", "Vega", "83702"))
    assert "77" in said[1][1]


def test_a_calculation_is_asked_for_by_what_it_is_about() -> None:
    """The total of an order names the order whose prices it adds."""
    fact = Fact(step=7, path="", value="6.0", about="the total of the items")
    add = call("calculate", expression="1.00 + 5.00")
    speech = _speech(SUM, add, facts=(fact,))
    assert "#W1" in speech.about(speech.plan.facts[0])
