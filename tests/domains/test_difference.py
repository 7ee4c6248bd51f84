"""Differences between states, for a person to read."""

from __future__ import annotations

from decimal import Decimal

from boatdomain import Booking, Contact, Desk, database

from turngap.domains.difference import Difference, differences


def test_every_kind_of_difference_is_named() -> None:
    """Which record, which field, from what to what; added and removed records whole; fields of the state too."""
    before = Desk.of(database())
    after = before.fork()
    after.bookings.change(
        "BK-1042", seats=3, contact=Contact(name="Olu", postcode="02134"), deposit=Decimal("12.50"), notes=["a", "b"]
    )
    after.bookings.remove("BK-7")
    after.papers.put("P-2", {"open": True})
    after.papers.change("P-1", lines=[{"text": "keel", "sum": 1.5, "done": True}])
    after.tally = {"moves": {"all": 1}}
    assert list(map(str, differences(before, after))) == [
        'bookings[BK-1042].contact.name: "Ines" -> "Olu"',
        "bookings[BK-1042].deposit: 30 -> 12.5",
        'bookings[BK-1042].notes: ["window seat"] -> ["a","b"]',
        "bookings[BK-1042].seats: 2 -> 3",
        'bookings[BK-7] removed: {"date":"2031-04-01","seats":1,"deposit":0,"contact":null,"tags":[],"notes":[]}',
        "papers[P-1].lines[0].done added: true",
        'papers[P-1].lines[0].text: "hull" -> "keel"',
        'papers[P-2] added: {"open":true}',
        "tally.moves.all: 0 -> 1",
    ]


def test_differences_are_plain_values() -> None:
    """A difference can be stored: its values are what JSON holds."""
    before = Desk.of(database())
    after = before.fork()
    after.bookings.change("BK-7", tags={"b", "a"}, contact={"name": "Olu"})
    assert differences(before, after) == (
        Difference(table="bookings", key="BK-7", path="contact", kind="changed", after={"name": "Olu", "postcode": ""}),
        Difference(table="bookings", key="BK-7", path="tags", kind="changed", before=[], after=["a", "b"]),
    )


def test_the_way_back_is_the_mirror_image() -> None:
    """Swapping the states swaps before and after, added and removed."""
    one, other = Desk.of(database()), Desk.of(database())
    other.bookings.remove("BK-7")
    other.bookings.put("BK-8", Booking(date="d"))
    kinds = [(found.key, found.kind) for found in differences(one, other)]
    assert kinds == [("BK-7", "removed"), ("BK-8", "added")]
    assert [(found.key, found.kind) for found in differences(other, one)] == [("BK-7", "added"), ("BK-8", "removed")]


def test_a_way_back_leaves_no_difference() -> None:
    """A record that was changed and changed back is no difference, whatever the spelling of its numbers."""
    before = Desk.of(database())
    after = before.fork()
    after.bookings.change("BK-1042", seats=3)
    after.bookings.change("BK-1042", seats=2, deposit="30.00")
    assert differences(before, after) == ()
    assert before.digest() == after.digest()


def test_long_values_are_cut_for_the_reader() -> None:
    """A line of a report stays a line."""
    before = Desk.of(database())
    after = before.fork()
    after.papers.put("P-3", {"text": "x" * 5000})
    assert len(str(differences(before, after)[0])) < 300
