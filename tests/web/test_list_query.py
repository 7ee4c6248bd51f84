"""The address of a list: what it may hold, and that no search reaches the index other than as words."""

from __future__ import annotations

import sqlite3
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as some

from turngap.web.query import SORTS, Query, QueryError, expression, read, words

VALUE = some.text(min_size=1, max_size=8)
QUERIES = some.builds(
    Query,
    q=VALUE.map(str.strip),
    within=some.sampled_from(("recorded", "own")),
    results=some.dictionaries(
        some.sampled_from(("text", "turn", "replay")), some.sampled_from(("passed", "failed", "none")), max_size=3
    ).map(lambda found: tuple(found.items())),
    categories=some.lists(VALUE, unique=True, max_size=3).map(tuple),
    tools=some.lists(VALUE, unique=True, max_size=3).map(tuple),
    scenarios=some.lists(VALUE, unique=True, max_size=1).map(tuple),
    least=some.none() | some.integers(0, 99),
    most=some.none() | some.integers(0, 99),
    sort=some.sampled_from(("", "id", "-length", "first_error")),
    at=some.integers(0, 10**6),
)


def of(text: str) -> Query:
    """The query of an address."""
    return read(parse_qsl(text, keep_blank_values=True))


@given(QUERIES)
def test_an_address_reopens_what_it_was_made_from(query: Query) -> None:
    """Writing a query and reading it again changes nothing; where words are looked for goes with the words."""
    again = of(query.address())
    assert again == (query if query.q else Query(**{**_fields(query), "within": ""}))


def _fields(query: Query) -> dict[str, object]:
    return {name: getattr(query, name) for name in query.__struct_fields__}


def test_a_form_sends_every_protocol_and_only_wishes_count() -> None:
    """Pairs go together in order; a protocol with an empty result wishes for nothing, and the last wish wins."""
    form = "protocol=text&result=&protocol=turn&result=passed&protocol=replay&result=failed&q=&min=&tool="
    assert of(form) == Query(results=(("turn", "passed"), ("replay", "failed")))
    assert of("protocol=replay").results == (("replay", "failed"),)
    assert of("result=errored").results == (("", "errored"),)
    assert of("protocol=turn&result=passed&protocol=turn&result=failed").results == (("turn", "failed"),)
    assert of("protocol=turn") == of("protocol=turn&result=failed")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sort=name", "sort"),
        ("in=both", "in"),
        ("result=good", "result"),
        ("min=-1", "min"),
        ("max=many", "max"),
        ("at=1e9", "at"),
        ("min=" + "9" * 5000, "min"),
        ("min=٣", "min"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(text: str, named: str) -> None:
    """The line names the field."""
    with pytest.raises(QueryError, match=f"^{named}=") as caught:
        of(text)
    assert "\n" not in str(caught.value)


def test_words_phrases_and_beginnings() -> None:
    """What is quoted is a phrase, a star asks for a beginning, and what holds no letter or number is nothing."""
    assert words('refund "order  LF-1" canc* ... "!!" *') == (
        ("refund", False),
        ("order  LF-1", False),
        ("canc", True),
    )
    assert words('"never closed') == (("never closed", False),)
    assert expression("") == expression("?!") == ""
    assert expression('say "hi there"', "own") == '{own} : ("say" AND "hi there")'


@pytest.fixture(scope="module")
def full_text() -> sqlite3.Connection:
    """A full-text index with one row."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(recorded, own, tokenize='unicode61 remove_diacritics 2')")
    connection.execute("INSERT INTO words VALUES ('order near a hill', 'not own')")
    return connection


@given(
    some.text(max_size=40)
    | some.lists(some.sampled_from([*'"*()^:{}+-', "AND", "OR", "NOT", "NEAR(", "own:", "a", "\0", "日"])).map(" ".join)
)
def test_no_search_breaks_the_index(full_text: sqlite3.Connection, text: str) -> None:
    """SEC-07: whatever is typed is an expression that the index understands, or nothing."""
    for within in ("", "own"):
        found = expression(text, within)
        if found:
            full_text.execute("SELECT rowid FROM words WHERE words MATCH ?", (found,)).fetchall()


def test_operators_are_words(full_text: sqlite3.Connection) -> None:
    """`NOT`, `NEAR` and names of columns have no meaning of their own."""

    def finds(text: str, within: str = "") -> bool:
        return bool(
            full_text.execute("SELECT 1 FROM words WHERE words MATCH ?", (expression(text, within),)).fetchall()
        )

    assert finds("order NOT")
    assert finds("order NEAR hill")
    assert not finds("order NOT absent")
    assert not finds("order OR absent")
    assert not finds("own:order")
    assert finds("not own", "own")
    assert not finds("order", "own")


def test_every_order_is_known() -> None:
    """Each name that `SORTS` has can be asked for, both ways."""
    for name in SORTS:
        assert of(f"sort={name}").sort == name
        assert of(f"sort=-{name}").sort == f"-{name}"
