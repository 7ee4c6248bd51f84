"""The seam's own promises: places and the documented oddities."""

from __future__ import annotations

from pathlib import Path

from turngap.formats import REGISTRY
from turngap.formats.base import ODDITIES, Place


def test_every_oddity_is_documented() -> None:
    """The page on recordings lists each kind of oddity with its meaning, and each format."""
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    missing = [kind for kind, meaning in ODDITIES.items() if f"| `{kind}` | {meaning} |" not in page]
    assert missing == []
    assert [name for name in REGISTRY.names() if f"### {name}\n" not in page] == []


def test_places() -> None:
    """A place writes paths from the top of its document."""
    place = Place(file="f.json", line=3, record=2, root="[2]")
    assert str(place.error("bad", "messages[0].role")) == "f.json:3: [2].messages[0].role: bad"
    assert str(Place(file="f.jsonl", line=3).error("bad")) == "f.jsonl:3: bad"
    assert (place.source().line, place.source().record) == (None, 2)
