"""How agents ask for slots and how it is heard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data.asking import answer, asked, question, slots_known, spell, spoken

_SLOTS = ("email", "zip", "first_name", "last_name", "order_id", "item_ids", "new_item_ids", "boat_size", "deposit")


@given(st.lists(st.sampled_from(_SLOTS), min_size=1, max_size=5, unique=True))
def test_a_question_is_heard_as_exactly_the_slots_it_asks_for(slots: list[str]) -> None:
    """Whatever is put into `question` comes out of `asked`, among all other slots, in order."""
    assert asked(question(slots), _SLOTS) == tuple(slots)


def test_alternatives_are_all_heard() -> None:
    """A question for one of two sets of slots asks for the slots of both."""
    text = question(["email"], ["first_name", "last_name", "zip"])
    assert text == "Could you tell me the email, or else the first name, last name and zip code, please?"
    assert asked(text, _SLOTS) == ("email", "first_name", "last_name", "zip")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "To get started, please provide your e-mail address, or your name and zip code.",
            ("email", "first_name", "last_name", "zip"),
        ),
        ("What's the order number?", ("order_id",)),
        ("Your order number is #W1. It is on its way.", ()),
        ("Which item would you like to return?", ("item_ids",)),
        ("Could you confirm your zip code?", ("zip",)),
        ("Which new items do you want?", ("new_item_ids",)),
        ("How are you?", ()),
    ],
)
def test_free_wording_is_heard_by_usual_names(text: str, expected: tuple[str, ...]) -> None:
    """Sentences that ask are heard; reports are not."""
    assert asked(text, _SLOTS) == expected


def test_a_part_of_a_longer_name_is_not_heard() -> None:
    """Asking for "new item ids" does not ask for item ids, unless these are asked for as well."""
    assert asked("Could you tell me the new item ids?", ["item_ids", "new_item_ids"]) == ("new_item_ids",)
    both = asked("Could you tell me the new item ids and the item ids?", ["item_ids", "new_item_ids"])
    assert both == ("new_item_ids", "item_ids")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("#W12", "#W12"),
        (5, "5"),
        (5.0, "5"),
        (2.5, "2.5"),
        (True, "yes"),
        (False, "no"),
        (None, "none"),
        (["a", "b", "c"], "a, b and c"),
        ([], "none"),
        ({"first_name": "Ada", "dob": "1990-01-01"}, "first name Ada, date of birth 1990-01-01"),
    ],
)
def test_values_are_spelt_alike_everywhere(value: object, text: str) -> None:
    """One spelling per value."""
    assert spell(value) == text


def test_answers_are_sentences_with_the_value_in_them() -> None:
    """What identifies the user is "my", the rest is "the"; several values are told in the plural."""
    assert answer("zip", "19122") == "My zip code is 19122."
    assert answer("order_id", "#W1") == "The order id is #W1."
    assert answer("order_id", ["#W1", "#W2"]) == "The order ids are #W1 and #W2."


@given(st.sampled_from([*slots_known(), "boat_size"]), st.text("abc123", min_size=1, max_size=8))
def test_an_answer_holds_the_spelt_value(slot: str, value: str) -> None:
    """Whoever reads an answer finds the value by its spelling."""
    assert spell(value) in answer(slot, value)
    assert spoken(slot) in answer(slot, value)
