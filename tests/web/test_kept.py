"""Results that are kept between requests."""

from __future__ import annotations

import pytest

from turngap.web.kept import Kept


def test_a_result_is_made_once() -> None:
    """The same key gives the same result; another key another."""
    kept, made = Kept(), []
    for key in ("a", "a", "b"):
        kept.get(key, lambda: made.append(1) or len(made))
    assert len(made) == 2
    assert kept.get("a", lambda: 99) == 1


def test_the_longest_unused_goes() -> None:
    """Of more than it holds, the one that nobody asked for the longest is made anew."""
    kept = Kept(2)
    for key in (1, 2, 1, 3):
        kept.get(key, lambda key=key: key)
    assert len(kept) == 2
    assert kept.get(1, lambda: "anew") == 1
    assert kept.get(2, lambda: "anew") == "anew"


def test_a_failure_is_not_kept() -> None:
    """What could not be made is tried again."""
    kept = Kept()
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 5) == 5


def test_it_keeps_something() -> None:
    """A store for nothing makes no sense."""
    with pytest.raises(ValueError, match="at least one"):
        Kept(0)
