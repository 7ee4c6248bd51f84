"""Names of implementations: short, dotted, unknown."""

from __future__ import annotations

import pytest

from turngap import jsonio
from turngap.errors import UsageError
from turngap.registry import Registry

REGISTRY = Registry("models", {"digest": "turngap.jsonio:digest"})


def test_short_and_dotted_names_load() -> None:
    """Both lead to the object itself."""
    assert REGISTRY.load("digest") is jsonio.digest
    assert REGISTRY.load("turngap.jsonio:canonical") is jsonio.canonical


def test_unknown_names_list_the_known_ones() -> None:
    """The message says what would work."""
    with pytest.raises(UsageError, match=r"unknown model 'nope'; known: digest"):
        REGISTRY.load("nope")


@pytest.mark.parametrize("name", ["os:system", "json:loads", "os:sep"])
def test_what_is_no_factory_says_so(name: str) -> None:
    """A dotted name that leads to something else is wrong usage, not our internal error."""
    with pytest.raises(UsageError, match="should be a factory that takes 3 arguments"):
        REGISTRY.make(name, 1, 2, 3)


@pytest.mark.parametrize(("name", "words"), [("no_such_module:x", "cannot import"), ("turngap.jsonio:x", "has no 'x'")])
def test_dotted_names_that_lead_nowhere_say_so(name: str, words: str) -> None:
    """One line, no traceback."""
    with pytest.raises(UsageError, match=words):
        REGISTRY.load(name)
