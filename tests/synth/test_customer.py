"""Who the people of a database are, and what is theirs."""

from __future__ import annotations

import random
from collections import Counter

import boatdomain
import pytest
from explorers import sampler, shop
from retailshop import small_shop

from turngap.domains.retail.domain import retail
from turngap.errors import UsageError
from turngap.synth.customer import Sampler


def test_the_people_are_found_by_name_fields_and_references() -> None:
    """In a shop, users are the customers, not the orders or products."""
    assert sampler().table == "users"


def test_where_there_are_no_people_something_that_tools_are_about_takes_their_place() -> None:
    """At the boat desk most tools take a booking."""
    assert Sampler(boatdomain.domain()).table == "bookings"


def test_the_table_can_be_said() -> None:
    """What is found out can be overridden; a table that is not there is refused by name."""
    assert Sampler(shop(), table="orders").table == "orders"
    with pytest.raises(UsageError, match="no table 'guests'"):
        Sampler(shop(), table="guests")


def test_a_domain_without_records_serves_nobody() -> None:
    """Nothing in the database is a usage error, not an endless search."""
    with pytest.raises(UsageError, match="no records"):
        Sampler(retail({"products": {}, "users": {}, "orders": {}}))


def test_a_customer_has_the_records_that_are_listed_and_those_that_name_them() -> None:
    """An order that names a user who does not list it is theirs too, and in hand."""
    tables = small_shop()
    tables["users"]["u"]["orders"] = ["#W1"]
    people = Sampler(retail(tables))
    noor = people.customer("u")
    assert set(people.records(noor)["orders"]) == {"#W1", "#W2"}
    assert noor.linked == ("#W2",)


def test_draws_are_seeded_and_prefer_those_with_records() -> None:
    """The same generator draws the same customers; who has many orders is drawn more often than who has none."""
    first, again = ([sampler().draw(rng).key for _ in range(400)] for rng in (random.Random(3), random.Random(3)))
    assert first == again
    counts = Counter(first)
    size = {key: len(sampler().records(sampler().customer(key)).get("orders", ())) for key in counts}
    rich = [counts[key] for key in counts if size[key] >= 4]
    poor = [counts[key] for key in counts if size[key] <= 1]
    assert min(rich) > 0
    assert sum(rich) / len(rich) > 3 * sum(poor) / max(1, len(poor))


def test_the_other_is_somebody_else_with_records() -> None:
    """A stranger is never the customer, and has something that could be asked for."""
    rng = random.Random(1)
    for _ in range(50):
        customer = sampler().draw(rng)
        other = sampler().other(customer, rng)
        assert other is not None
        assert other.key != customer.key
        assert sampler().records(other)["orders"]


def test_an_only_customer_has_no_stranger() -> None:
    """Where there is nobody else, there is none."""
    tables = small_shop()
    del tables["users"]["v"], tables["orders"]["#W3"]
    people = Sampler(retail(tables))
    assert people.other(people.customer("u"), random.Random(0)) is None
