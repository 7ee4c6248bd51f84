"""Words that only keep a conversation going."""

from __future__ import annotations

import re

import pytest

from turngap.users.filler import GO_ON, goes_along
from turngap.users.hearing import hear


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


@pytest.mark.parametrize("text", [*GO_ON, "Okay, thank you, I'll wait.", "Yes please, go ahead with that.", ""])
def test_words_that_name_nothing(text: str) -> None:
    """Those of the scripted user among them."""
    assert goes_along(_words(text))


@pytest.mark.parametrize(
    "text", ["Please move BK-1042.", "I want a refund.", "It is for two.", "Okay, thank you for the boat."]
)
def test_words_that_name_something(text: str) -> None:
    """A wish, a fact or a thing is enough."""
    assert not goes_along(_words(text))


def test_waiting_is_no_yes() -> None:
    """An agent that listens for a yes or a no hears neither in what a scripted user says while it waits."""
    for words in GO_ON:
        assert not re.match(r"(yes|no|sure|go ahead)\b", words, re.IGNORECASE)
        assert not hear(words).refuses
