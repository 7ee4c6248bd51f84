"""Marks of the end."""

from __future__ import annotations

import pytest

from turngap.data import Termination
from turngap.users.signals import MEANING, parse, sign


@pytest.mark.parametrize(
    ("text", "words", "ending"),
    [
        ("###STOP###", "", Termination.USER_STOP),
        ("Thanks, bye. ###STOP###", "Thanks, bye.", Termination.USER_STOP),
        ("###TRANSFER###", "", Termination.TRANSFER),
        ("###OUT-OF-SCOPE###", "", Termination.OUT_OF_SCOPE),
        ("Well. ## out of scope ##", "Well.", Termination.OUT_OF_SCOPE),
        ("Thanks!\n###Stop###\n", "Thanks!", Termination.USER_STOP),
        ("Please STOP the order #W1.", "Please STOP the order #W1.", None),
        ("", "", None),
    ],
)
def test_marks_are_understood(text: str, words: str, ending: Termination | None) -> None:
    """tau2's three marks, with small slips of writing; nothing else ends a conversation."""
    assert parse(text) == (words, ending)


def test_signing_and_parsing_are_inverse() -> None:
    """What is signed is parsed as words and ending."""
    for ending in MEANING.values():
        assert parse(sign("That is all.", ending)) == ("That is all.", ending)
        assert parse(sign("", ending)) == ("", ending)
