"""From "you" to "I"."""

from __future__ import annotations

import pytest

from turngap.users.person import first_person


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("You want to cancel your order.", "I want to cancel my order."),
        ("You are Ada, and you're in a hurry.", "I am Ada, and I'm in a hurry."),
        ("You'd rather keep it; you've paid for it yourself.", "I'd rather keep it; I've paid for it myself."),
        ("The agent told you that it is yours.", "The agent told me that it is mine."),
        ("They sent it to you.", "They sent it to me."),
        ("you were charged twice.", "I was charged twice."),
        ("Do whatever saves you most money.", "Do whatever saves me most money."),
        ("The money for what you ordered.", "The money for what I ordered."),
        ("Nothing to change here: youth, bayou.", "Nothing to change here: youth, bayou."),
    ],
)
def test_instructions_become_the_users_words(told: str, said: str) -> None:
    """Pronouns change, the rest stays."""
    assert first_person(told) == said
