"""States: copy-on-write tables whose digest depends on their content alone."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from boatdomain import Booking, Contact, Desk, database
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from turngap.domains.api import Record, State, StateError, Table
from turngap.domains.difference import differences

_KEYS = st.sampled_from(["P-1", "P-2", "P-3"])
_PAPERS = st.dictionaries(
    st.sampled_from("abc"), st.sampled_from([0, 1, 1.5, "1", None, True, [1, {"d": 2}]]), max_size=3
)


class Histories(RuleBasedStateMachine):
    """A state and its forks do what a plain dict and its copies do, and have the digest of what they hold."""

    def __init__(self) -> None:
        super().__init__()
        start = {"P-1": {"a": 1}, "P-2": {"b": [1, {"d": 2}]}}
        self.pairs: list[tuple[Desk, dict[str, Any]]] = [(Desk.of({"papers": start}), dict(start))]

    @rule(at=st.integers(0), key=_KEYS, paper=_PAPERS)
    def put(self, at: int, key: str, paper: dict[str, Any]) -> None:
        state, model = self.pairs[at % len(self.pairs)]
        state.papers.put(key, paper)
        model[key] = paper

    @rule(at=st.integers(0), key=_KEYS, value=st.sampled_from([0, 1.0, "x"]))
    def change(self, at: int, key: str, value: Any) -> None:
        state, model = self.pairs[at % len(self.pairs)]
        if key in model:
            state.papers.change(key, a=value)
            model[key] = {**model[key], "a": value}

    @rule(at=st.integers(0), key=_KEYS)
    def remove(self, at: int, key: str) -> None:
        state, model = self.pairs[at % len(self.pairs)]
        if key in model:
            state.papers.remove(key)
            del model[key]
        else:
            with pytest.raises(KeyError):
                state.papers.remove(key)

    @rule(at=st.integers(0))
    def fork(self, at: int) -> None:
        if len(self.pairs) < 4:
            state, model = self.pairs[at % len(self.pairs)]
            self.pairs.append((state.fork(), dict(model)))

    @invariant()
    def states_hold_what_their_models_hold(self) -> None:
        for state, model in self.pairs:
            assert dict(state.papers) == model
            assert len(state.papers) == len(model)
            assert set(state.papers) == set(model)
            assert all((key in state.papers) == (key in model) for key in ("P-1", "P-2", "P-3"))

    @invariant()
    def content_alone_decides_the_digest(self) -> None:
        for state, model in self.pairs:
            fresh = Desk.of({"papers": dict(reversed(model.items()))})
            assert state.digest() == fresh.digest()
            assert state == fresh

    @invariant()
    def digest_and_diff_agree(self) -> None:
        first = self.pairs[0][0]
        for state, _ in self.pairs:
            assert (state.digest() == first.digest()) is (differences(first, state) == ()) is (state == first)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)


@given(st.permutations([("0.10", "BK-1"), ("0.20", "BK-1"), ("0.30", "BK-1"), ("7", "BK-2")]))
def test_the_order_of_writes_does_not_matter(writes: list[tuple[str, str]]) -> None:
    """ENV-03: the same sums in another order give the same digest, in decimals and in floats."""
    digests = set()
    for of in (Decimal, float):
        desk = Desk.of({"bookings": {"BK-1": {"date": "d"}, "BK-2": {"date": "d"}}, "papers": {"T": {"sum": 0}}})
        for amount, key in writes:
            desk.bookings.change(key, deposit=desk.bookings[key].deposit + Decimal(amount))
            desk.papers.change("T", sum=of(amount) + of(desk.papers["T"]["sum"]))
        digests.add(desk.digest())
    assert len(digests) == 1
    assert digests == {
        Desk.of(
            {
                "bookings": {"BK-2": {"deposit": 7.0, "date": "d"}, "BK-1": {"date": "d", "deposit": "0.600"}},
                "papers": {"T": {"sum": 7.6}},
            }
        ).digest()
    }


def test_a_declared_number_may_be_spelled_as_text() -> None:
    """ENV-03: 30, 30.0 and "30.00" are one deposit where the field is declared a number; an undeclared "30" is text."""

    def digest(deposit: Any, paper: Any = 30) -> str:
        return Desk.of({"bookings": {"B": {"date": "d", "deposit": deposit}}, "papers": {"P": {"n": paper}}}).digest()

    assert digest(30) == digest(30.0) == digest("30.00")
    assert digest(30) != digest(30, "30")


def test_forks_do_not_see_each_other() -> None:
    """A fork has the content of its moment; what either writes afterwards stays its own, fields included."""
    desk = Desk.of(database())
    desk.bookings.change("BK-7", seats=3)
    twin = desk.fork()
    desk.bookings.change("BK-7", seats=4)
    twin.bookings.remove("BK-1042")
    twin.tally = {"moves": {"all": 9}}
    assert (desk.bookings["BK-7"].seats, twin.bookings["BK-7"].seats) == (4, 3)
    assert ("BK-1042" in desk.bookings, "BK-1042" in twin.bookings) == (True, False)
    assert (desk.tally, twin.tally) == ({"moves": {"all": 0}}, {"moves": {"all": 9}})


def test_iteration_depends_on_the_content_alone() -> None:
    """Records come in the database's order, added ones behind them by key, however they came to be there."""
    desk = Desk.of(database())
    for key in ("BK-9", "BK-8"):
        desk.bookings.put(key, Booking(date="d"))
    desk.bookings.remove("BK-1042")
    desk.bookings.put("BK-1042", Booking(date="e"))
    assert list(desk.bookings) == ["BK-1042", "BK-7", "BK-8", "BK-9"]


def test_a_table_may_be_written_while_it_is_iterated() -> None:
    """The keys are those at the beginning of the loop."""
    desk = Desk.of(database())
    for key in desk.bookings:
        desk.bookings.remove(key)
        desk.bookings.put(f"{key}-new", Booking(date="d"))
    assert list(desk.bookings) == ["BK-1042-new", "BK-7-new"]


def test_records_are_read_by_type() -> None:
    """JSON becomes records with typed fields; defaults fill what the data does not hold."""
    found = Desk.of(database()).bookings["BK-1042"]
    assert found.contact == Contact(name="Ines", postcode="02134")
    assert (found.deposit, type(found.deposit)) == (30, Decimal)
    assert list(found.tags) == ["dog", "late", "pier 4"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"boats": {}}, "Desk has no table 'boats'; it has bookings, papers, tally, today"),
        ({"bookings": []}, "bookings: should be an object of records by their key, not list"),
        ([], "the data should be an object of tables, not list"),
        ({"bookings": {"B": {"seats": 1}}}, r"bookings\['B'\]: Object missing required field `date`"),
        ({"bookings": {"B": {"date": "d", "seats": "2"}}}, r"bookings\['B'\].seats: Expected `int`, got `str`"),
        ({"bookings": {"B": {"date": "d", "sets": 2}}}, r"bookings\['B'\]: Object contains unknown field `sets`"),
        (
            {"bookings": {"B": {"date": "d", "notes": ["a", 1]}}},
            r"bookings\['B'\].notes\[1\]: Expected `str`, got `int`",
        ),
        ({"bookings": {3: {"date": "d"}}}, "bookings: the key 3 is no text"),
        ({"papers": {"P": {"a": object()}}}, r"papers\['P'\].a: builtins.object has no JSON form"),
        ({"today": 5}, "today: Expected `str`, got `int`"),
    ],
)
def test_data_that_does_not_fit_is_refused_with_its_place(data: Any, problem: str) -> None:
    """What is wrong with a database is said with table, record and field."""
    with pytest.raises(StateError, match=problem):
        Desk.of(data)


def test_writes_that_do_not_fit_are_refused() -> None:
    """A write of the wrong type, of an unknown field or of what cannot be stored names the place and changes nothing."""
    desk = Desk.of(database())
    before = desk.digest()
    for write, problem in (
        (lambda: desk.bookings.change("BK-7", seats="3"), r"bookings\['BK-7'\].seats: Expected `int`, got `str`"),
        (lambda: desk.bookings.change("BK-7", boat=1), r"bookings\['BK-7'\]: Booking has no field 'boat'"),
        (lambda: desk.bookings.put("BK-8", {"seats": 1}), r"bookings\['BK-8'\]: Object missing required field `date`"),
        (
            lambda: desk.papers.put("P-2", {"f": print}),
            r"papers\['P-2'\].f: builtins.builtin_function_or_method has no",
        ),
        (lambda: setattr(desk, "today", 5), "today: Expected `str`, got `int`"),
        (lambda: setattr(desk, "weather", 5), "Desk has no field 'weather'"),
        (
            lambda: setattr(desk, "bookings", {}),
            "Desk has no field 'bookings'; records are written with put and change",
        ),
    ):
        with pytest.raises(StateError, match=problem):
            write()
    with pytest.raises(KeyError):
        desk.bookings.change("BK-0", seats=1)
    with pytest.raises(AttributeError, match="Desk has no table or field 'weather'"):
        _ = desk.weather
    assert desk.digest() == before


def test_a_stored_record_does_not_follow_its_source() -> None:
    """A list that was put into a record may change afterwards; the record does not."""
    desk = Desk.of(database())
    notes = ["a"]
    stored = desk.bookings.change("BK-7", notes=notes)
    notes.append("b")
    assert stored.notes == desk.bookings["BK-7"].notes == ["a"]


def test_a_sealed_state_refuses_writes() -> None:
    """After `seal` nothing is written; the reason is told, and a fork may be written again."""
    desk = Desk.of(database())
    desk.seal("it is over")
    with pytest.raises(StateError, match=r"bookings\['BK-7'\] cannot be written: it is over"):
        desk.bookings.remove("BK-7")
    with pytest.raises(StateError, match="today cannot be written: it is over"):
        desk.today = "2031-06-01"
    desk.fork().bookings.remove("BK-7")


def test_merging_lays_data_over_the_state() -> None:
    """Objects are merged key by key, null deletes a record or empties a field, lists are replaced."""
    desk = Desk.of(database())
    desk.merge(
        {
            "bookings": {
                "BK-1042": {"contact": {"name": "Olu"}, "notes": ["b"], "deposit": 5},
                "BK-7": None,
                "BK-0": None,
                "BK-8": {"date": "2031-07-01"},
            },
            "papers": {"P-1": {"open": False}},
            "tally": {"moves": {"late": 2}},
        }
    )
    merged = desk.bookings["BK-1042"]
    assert merged.contact == Contact(name="Olu", postcode="02134")
    assert (merged.notes, merged.deposit, merged.seats) == (["b"], 5, 2)
    assert list(desk.bookings) == ["BK-1042", "BK-8"]
    assert desk.papers["P-1"] == {"lines": [{"text": "hull", "sum": 1.5}], "open": False}
    assert desk.tally == {"moves": {"all": 0, "late": 2}}
    with pytest.raises(StateError, match="Desk has no table 'boats'"):
        desk.merge({"boats": {}})
    with pytest.raises(StateError, match="bookings: should be an object"):
        desk.merge({"bookings": [1]})


class _Broken(Record):
    name: Nowhere  # type: ignore[name-defined] # noqa: F821 - that is the case


def test_declarations_that_make_no_sense_are_refused() -> None:
    """A table called like something that states have, a field without value, a record that can be changed."""

    class Clash(State):
        digest: Table[Booking]

    class Bare(State):
        today: str

    class Untyped(State):
        things: Table  # type: ignore[type-arg]

    class Broken(State):
        things: Table[_Broken]

    class Unknown(State):
        things: Table[Nowhere]  # type: ignore[name-defined] # noqa: F821 - that is the case

    for kind, problem in (
        (Clash, "Clash.digest: states have something of this name already"),
        (Bare, "Bare.today: the data does not hold it, and it has no default"),
        (Untyped, r"Untyped.things: a table needs the type of its records, such as Table\[Booking\]"),
        (Broken, "Broken.things: its type cannot be used: name 'Nowhere' is not defined"),
        (Unknown, "Unknown: a type hint cannot be resolved: name 'Nowhere' is not defined"),
    ):
        with pytest.raises(StateError, match=problem):
            kind.of({})


def test_state_types_can_be_derived() -> None:
    """A derived state type has the tables and defaults of its base, and its own."""

    class Wide(Desk):
        boats: Table[dict[str, Any]]
        today: str = "2032-01-01"

    wide = Wide.of({**database(), "boats": {"X": {}}})
    assert (wide.today, wide.tally, len(wide.boats), len(wide.bookings)) == ("2032-01-01", {"moves": {"all": 0}}, 1, 2)
    assert Desk.of(database()).today == "2031-05-01"


def test_a_state_in_use_cannot_reach_the_next_one() -> None:
    """A nested default of the state type is nobody's to change (ENV-01)."""
    desk = Desk.of(database())
    with pytest.raises(TypeError):
        desk.tally["moves"]["all"] = 5
    assert Desk.of(database()).tally == {"moves": {"all": 0}}


class _Tagged(Record, tag="card", tag_field="kind", rename="camel"):
    card_number: str


def test_tagged_and_renamed_records_survive_writing() -> None:
    """A record that JSON spells in its own way is read, changed and put like any other."""

    class Till(State):
        cards: Table[_Tagged]

    till = Till.of({"cards": {"C": {"kind": "card", "cardNumber": "1"}}})
    till.cards.change("C", card_number="2")
    till.cards.put("D", _Tagged(card_number="3"))
    assert [card.card_number for card in till.cards.values()] == ["2", "3"]
    assert till == Till.of(
        {"cards": {"D": {"kind": "card", "cardNumber": "3"}, "C": {"kind": "card", "cardNumber": "2"}}}
    )


def test_digests_do_not_collide_where_records_move() -> None:
    """The place of a record is part of its share: swapping two records, or two tables, is seen."""
    rng = random.Random(3)
    seen = set()
    for _ in range(200):
        rows = {f"P-{rng.randrange(4)}": {"n": rng.randrange(3)} for _ in range(3)}
        content = tuple(sorted((key, row["n"]) for key, row in rows.items()))
        seen.add((content, Desk.of({"papers": rows}).digest()))
    assert len({content for content, _ in seen}) == len({digest for _, digest in seen}) == len(seen)
