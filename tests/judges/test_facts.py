"""Facts: spellings of one fact meet, different facts stay apart, and no text lacks what it states."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.judges import facts


def says(text: str, required: str) -> bool:
    """Whether `text` says every fact that `required` states (which must state some)."""
    stated = facts.of_text(required)
    assert stated.stated, f"{required!r} states nothing"
    return not stated.missing_from(facts.of_text(text).readings)


@pytest.mark.parametrize(
    ("required", "text"),
    [
        ("1,500", "It is 1500 in total"),
        ("1500", "that makes 1,500.00 euros"),
        ("$1,500.00", "1500"),
        ("1 500", "1,500"),
        ("1500", "1.500 in all"),
        ("1\u00a0500", "1500"),
        ("€12,50", "12.50 euros"),
        ("2 million", "2,000,000"),
        ("two", "for 2 people"),
        ("2 people", "for two"),
        ("1 seat", "just one seat"),
        ("twenty-five", "25"),
        ("two hundred", "$200"),
        ("16 GB", "16GB"),
        ("27 inch", "a 27-inch screen"),
        ("10-20 minutes", "between 10 and 20 minutes"),
        ("707-795-1462", "(707) 795-1462"),
        ("707 795 1462", "7077951462"),
        ("#W2378156", "order w2378156"),
        ("BK-1042", "bk-1042."),
        ("ann@example.org", "write to Ann@Example.org."),
        ("2 May", "On 02/05"),
        ("2 May", "On 05/02"),
        ("2 May", "2031-05-02"),
        ("2031-05-02", "on May 2nd"),
        ("2031-05-02", "2nd of May, 2031"),
        ("02.05.2031", "2 May 2031"),
        ("May 2-5", "from 2 May to 5 May"),
        ("2–5 May", "May 2 until May 5"),
        ("the 14th", "on March 14"),
        ("11:30", "at half past eleven"),
        ("11:30 am", "11:30"),
        ("11:30 a.m.", "half past 11 in the morning"),
        ("23:30", "11:30 pm"),
        ("4 pm", "16:00:00"),
        ("5 o'clock", "5 in the evening"),
        ("seven in the evening", "7 pm"),
        ("quarter to four in the afternoon", "15:45"),
        ("8 to 10 pm", "20:00 until 22:00"),
        ("2031-05-02T09:00:00", "2 May at 9 am"),
    ],
)
def test_spellings_of_one_fact_meet(required: str, text: str) -> None:
    """ENV-08: both sides are normalised, so another spelling of a fact says it too."""
    assert says(text, required)


@pytest.mark.parametrize(
    ("required", "text"),
    [
        ("10", "Your booking BK-1042 is set"),
        ("10", "1042"),
        ("10", "10 May"),
        ("1042", "BK-1042"),
        ("15", "1.5"),
        ("1500", "150"),
        ("12A", "seat 12B"),
        ("12A", "seat 12"),
        ("02134", "2134"),
        ("BK-1042", "BK-1043"),
        ("BK-1042", "BK-10421"),
        ("2 May", "3 May"),
        ("2 May", "2 June"),
        ("2031-05-02", "2032-05-02"),
        ("11:30", "11:40"),
        ("11:30 am", "11:30 pm"),
        ("23:30", "11:30 am"),
        ("two", "three people"),
        ("ann@example.org", "ben@example.org"),
    ],
)
def test_different_facts_stay_apart(required: str, text: str) -> None:
    """ENV-08: facts have borders, and what contradicts does not match."""
    assert not says(text, required)


@pytest.mark.parametrize(
    "text", ["", "Shall I go on?", "That one is fine.", "1. Name\n2. Address\n3) Phone", "Tomorrow, then, Mr. Vale?"]
)
def test_talk_states_nothing(text: str) -> None:
    """Talk, list markers and the pronoun "one" are no facts."""
    assert facts.of_text(text).stated == ()


def test_encoded_blobs_state_nothing() -> None:
    """A picture in base64 or a wall of digits is no fact, and reading it takes no time."""
    assert facts.of_text(f"It is {'1' * 100_000} and {'aB3+' * 50_000}, for 2 people").stated == (
        *facts.of_text("2").stated,
    )


def test_a_year_that_nobody_mentioned_is_invented() -> None:
    """A known day does not vouch for a year."""
    known = facts.of_text("Please move it to 2 May. Today is 2031-05-01.").readings
    assert facts.of_text("It is on 2 May 2031.").invented_beside(known) == []
    invented = facts.of_text("It is on 2 May 2032.").invented_beside(known)
    assert [fact.text for fact in invented] == ["2 May 2032"]


def test_number_words_are_asked_for_but_never_invented() -> None:
    """Number words count things, digits are data."""
    nothing: frozenset[str] = frozenset()
    assert facts.of_text("two").missing_from(nothing)
    assert not facts.of_text("I see two options").invented_beside(nothing)
    assert facts.of_text("I see 2 options").invented_beside(nothing)


def test_capitals_are_identifiers_only_where_data_knows_them() -> None:
    """A reservation code of letters alone is told from shouting by the tool results."""
    data = facts.of_result('{"reservation_id": "VAAOXJ", "status": "ok"}')
    spoken = facts.of_text("Your reservation VAAOXJ. PLEASE wait.")
    missing = spoken.missing_from(facts.of_text("Your reservation. Wait.").readings, data.codes)
    assert [fact.text for fact in missing] == ["VAAOXJ"]


def test_results_are_read_value_by_value() -> None:
    """JSON of a tool result is decoded first, so that neighbours in it do not run together."""
    found = facts.of_result('{"prices":[10,250],"note":"line\\n5","ok":true,"BK-7":{"total":30.0}}').readings
    assert {"number:10", "number:250", "number:5", "number:30", "id:bk-7"} <= found
    assert "number:10250" not in found


@given(st.text(max_size=80) | st.text(alphabet="0123456789 .,:-/#$€abAPMmpyo\n", max_size=60))
def test_no_text_lacks_or_invents_its_own_facts(text: str) -> None:
    """Whatever a text states is among its own readings."""
    found = facts.of_text(text)
    assert found.missing_from(found.readings) == []
    assert found.invented_beside(found.readings) == []


@given(st.integers(0, 10**15))
def test_grouping_does_not_change_a_number(number: int) -> None:
    """1,234,567 and 1234567 are one number."""
    assert says(f"it is {number:,} now", f"{number}")
    assert says(f"it is {number} now", f"{number:,}")


@given(st.dates(), st.sampled_from(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"]))
def test_dates_meet_in_every_spelling(date, spelling: str) -> None:
    """A date is found whichever way it is spelled, and the next day is not."""
    if date.year < 1000 or date.day > 27:
        return
    assert says(date.strftime(spelling), date.isoformat())
    other = date.replace(day=date.day + 1)
    if not (spelling in ("%d.%m.%Y", "%m/%d/%Y") and (other.month, other.day) == (date.day, date.month)):
        assert not says(date.strftime(spelling), other.isoformat())


@given(st.lists(st.text(st.sampled_from("1230 .,:-/aMmpAPBay\n#$€"), max_size=12), max_size=4))
def test_leaves_of_data_are_read_each_apart(leaves: list[str]) -> None:
    """No spelling goes from one value to the next: the facts are those of the leaves together."""
    found = facts.of_value(leaves)
    assert found.readings == frozenset().union(*(facts.of_text(leaf).readings for leaf in leaves))
    assert set(found.stated) == {fact for leaf in leaves for fact in facts.of_text(leaf).stated}


@pytest.mark.parametrize(
    "unit", [" ", "\n", "z ", "1 ", "1,", "a@", "May ", "2 to ", "morning at ", "- 1. ", "1:", "a- "]
)
def test_megabytes_are_read_in_seconds(unit: str) -> None:
    """Of a long text only so much is read, and it says so."""
    began = time.monotonic()
    found = facts.of_text(unit * (5_000_000 // len(unit)))
    assert time.monotonic() - began < 20
    assert facts.UNREAD in found.readings
    assert facts.UNREAD not in facts.of_text(unit * 10).readings


def test_blobs_do_not_use_the_bound_up() -> None:
    """What stands behind an encoded picture of megabytes is read."""
    found = facts.of_result('{"picture": "' + "aB3+" * 1_000_000 + '", "price": 42}')
    assert "number:42" in found.readings
    assert facts.UNREAD not in found.readings


def test_many_leaves_are_bounded_together() -> None:
    """A list of a million numbers is read up to the bound."""
    began = time.monotonic()
    found = facts.of_value({"rows": list(range(300_000))})
    assert time.monotonic() - began < 20
    assert {"number:7", facts.UNREAD} <= found.readings
    assert "number:299999" not in found.readings
