"""Lists: what a query gives, the counts behind every choice, and neighbours."""

from __future__ import annotations

import pytest

from turngap.web.entry import Entry
from turngap.web.index import Index
from turngap.web.listing import MOST, Choice, Listing
from turngap.web.query import Query, QueryError, read

PROTOCOLS = ("turn", "replay")
UNITS = (
    ("d", "pp", ("look",), (), 3, "we have no ship"),
    ("c", "pf", ("look", "move"), ("wrong_tool",), 9, "a ship"),
    ("b", "ff", ("move",), ("wrong_tool", "loop"), 5, "a boat"),
    ("a", "p-", (), (), 4, "a shipyard"),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Four conversations."""
    found = Index(tmp_path_factory.mktemp("index") / "index.sqlite", PROTOCOLS)
    with found.writing() as writer:
        writer.put(
            (
                (
                    at * 10,
                    Entry(item=item, tools=tools, categories=categories, length=length, recorded=words),
                    results,
                )
                for at, (item, results, tools, categories, length, words) in enumerate(UNITS)
            ),
            {},
        )
    found.reload()
    return found


def items(index: Index, address: str) -> list[str]:
    """Ids that an address lists."""
    from urllib.parse import parse_qsl  # noqa: PLC0415 - here only

    return [row.item for row in Listing(index, read(parse_qsl(address))).window(0, 100).rows]


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("", "dcba"),
        ("sort=id", "abcd"),
        ("sort=-length", "cbad"),
        ("protocol=turn&result=passed&protocol=replay&result=failed", "c"),
        ("protocol=replay&result=none", "a"),
        ("result=failed", "cb"),
        ("category=loop&category=wrong_tool", "cb"),
        ("category=wrong_tool&tool=look", "c"),
        ("tool=absent", ""),
        ("min=4&max=5", "ba"),
        ("q=ship", "dc"),
        ("q=ship*&sort=id", "acd"),
        ("q=ship&min=9", "c"),
        ("q=!?", ""),
    ],
)
def test_an_address_lists_what_it_says(index: Index, address: str, wanted: str) -> None:
    """Values of one filter add up, filters narrow each other; a result alone asks the hardest protocol."""
    assert items(index, address) == list(wanted)


def test_counts_are_what_a_choice_would_leave(index: Index) -> None:
    """Each value counts with all other filters as they are, and without those of its own facet."""
    listing = Listing(index, Query(tools=("look",), results=(("replay", "failed"),)))
    facets = {facet.name: facet.choices for facet in listing.facets()}
    assert facets["turn"] == (
        Choice(value="passed", count=1, chosen=False),
        Choice(value="failed", count=0, chosen=False),
    )
    assert facets["replay"] == (
        Choice(value="passed", count=1, chosen=False),
        Choice(value="failed", count=1, chosen=True),
        Choice(value="none", count=0, chosen=False),
    )
    assert facets["tool"] == (Choice(value="look", count=1, chosen=True), Choice(value="move", count=2, chosen=False))
    assert facets["category"] == (Choice(value="wrong_tool", count=1, chosen=False),)
    assert "scenario" not in facets
    assert listing.total == 1


def test_a_chosen_value_is_offered_although_nothing_has_it(index: Index) -> None:
    """So that it can be taken back."""
    facets = {facet.name: facet.choices for facet in Listing(index, Query(tools=("absent",))).facets()}
    assert facets["tool"][0] == Choice(value="absent", count=0, chosen=True)


def test_windows_are_cuts_and_bounded(index: Index) -> None:
    """Past the end there is nothing, and nobody gets more than so many rows at once."""
    listing = Listing(index, Query(sort="id"))
    assert [row.item for row in listing.window(1, 2).rows] == ["b", "c"]
    assert listing.window(4, 10).rows == ()
    assert len(listing.window(-5, 10 * MOST).rows) == 4
    assert listing.window(0, -1).rows == ()
    assert Listing(index, Query(q="?")).window(0, 5).nothing


def test_neighbours_follow_the_list(index: Index) -> None:
    """Filtered and sorted as the list is; a unit that is not in it has the first one behind it."""
    listing = Listing(index, Query(sort="id", results=(("turn", "passed"),)))
    middle = listing.beside("c", None)
    assert (middle.place, middle.total, middle.before, middle.after) == (1, 3, ("a", None), ("d", None))
    assert listing.beside("a", None).before is None
    assert listing.beside("d", None).after is None
    outside = listing.beside("b", None)
    assert (outside.place, outside.before, outside.after) == (-1, None, ("a", None))
    assert listing.beside("absent", 3).place == -1


def test_a_protocol_that_the_run_does_not_have_is_named(index: Index) -> None:
    """With those that there are."""
    with pytest.raises(QueryError, match="this run has turn, replay"):
        Listing(index, Query(results=(("text", "failed"),)))
