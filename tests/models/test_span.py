"""Values in running text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.models.span import Kind, locate, shape_of, spans


def _values(example: str, where: str, other: str) -> list[str]:
    """What a kind learned from one text finds in another."""
    found = locate(example, where)
    assert found is not None
    return [span.value for span in spans(found[0], other)]


@pytest.mark.parametrize(
    ("example", "where", "other", "values"),
    [
        ("LF-10234", "It's LF-10234.", "LF-99871 and LF-2 or XX-12345", ["LF-99871"]),
        ("#W1234567", "order #W1234567", "my order is #W7654321!", ["#W7654321"]),
        ("ann@example.com", "I am ann@example.com", "write to bo.x@example.org.", ["bo.x@example.org"]),
        ("75164", "zip 75164", "zip 03811 or 1234567", ["03811"]),
        ("ZFA04Y", "booking ZFA04Y", "it is PEKHAT, please", ["PEKHAT"]),
        ("sara_doe_496", "I'm sara_doe_496", "user mia_li_366 here", ["mia_li_366"]),
        ("2", "for 2 people", "three tickets, or 4", ["3", "4"]),
        ("Ruth", "I'm Ruth Feldman, zip 1", "This is Łukasz Hargrove.", ["Łukasz"]),
        ("Feldman", "I'm Ruth Feldman, zip 1", "This is Łukasz Hargrove.", ["Hargrove"]),
        ("San Jose", "restaurants in San Jose please", "I live in Walnut Creek now", ["Walnut Creek"]),
        ("2031-03-04", "on March 4th", "on the 12th of March or Apr 5", ["2031-03-12", "2031-04-05"]),
        ("11:30", "at half past 11 in the morning", "at 6:45 pm, or 7 pm", ["18:45", "19:00"]),
        ("14:30:00", "at 2:30 pm", "at 12 am", ["00:00:00"]),
        ("12 Alder Lane", "to 12 Alder Lane now", "to 385 Kiln Street now", ["385 Kiln Street"]),
    ],
)
def test_a_kind_learned_from_one_text_finds_the_like_in_another(
    example: str, where: str, other: str, values: list[str]
) -> None:
    """Ids keep their shape, names their capitals, dates and times are read however they are spoken."""
    assert _values(example, where, other) == values


def test_what_a_text_does_not_hold_is_not_located() -> None:
    """A value inside a longer word, or not at all in the text, has no place there."""
    assert locate("12", "order 1234") is None
    assert locate("2031-03-05", "on March 4th") is None
    assert locate("blue", "the red one") is None


def test_plain_words_are_vague() -> None:
    """Lower-case words and small numbers look like everything else, and say so."""
    for value, text in (("too slow", "it was too slow"), ("2", "for 2 people")):
        found = locate(value, text)
        assert found is not None
        assert found[0].vague
    assert not Kind("date").vague


@given(st.text(min_size=1, max_size=30))
def test_a_shape_matches_its_own_example(value: str) -> None:
    """Whatever has a shape is matched by it, and every shape is a valid expression."""
    shape = shape_of(value)
    if shape:
        assert re.fullmatch(shape, value)


@given(st.text(max_size=80))
def test_any_text_can_be_searched(text: str) -> None:
    """No text makes a search fail, and spans lie inside it in order."""
    for kind in (Kind("date"), Kind("time"), Kind("name", "whole"), Kind("name", "last"), Kind("words", "2")):
        found = list(spans(kind, text))
        assert found == sorted(found)
        assert all(0 <= span.start < span.end <= len(text) for span in found)
