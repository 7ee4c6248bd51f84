"""Pieces of pages: texts that are cut and found again, arguments leaf by leaf, and what cannot be read."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turngap.analysis.evidence import differences
from turngap.config import MatchConfig
from turngap.data import AssistantMessage, ToolCall, ToolMessage, ToolSpec, UserMessage
from turngap.metrics.matching import Matcher
from turngap.web.piece import Call, Ink, brief, flat, turned


def held_against(call: ToolCall, recorded: ToolCall, tools: tuple[ToolSpec, ...] = ()) -> Call:
    """A call with its differences from another one marked."""
    matcher = Matcher(tools, MatchConfig())
    return Ink().call("c", call, differences(call, recorded, matcher))


def marks(call: Call) -> list[tuple[str, str, str, str]]:
    """Path, value, mark and wanted value of the marked leaves."""
    return [(leaf.path, leaf.value, leaf.mark, leaf.wanted) for leaf in call.leaves if leaf.mark]


def made(**arguments: Any) -> ToolCall:
    """A call of one tool."""
    return ToolCall(name="move_booking", arguments=arguments)


def test_another_value_an_extra_one_and_one_that_is_lacking() -> None:
    """Each kind of difference has its mark, and shows what the recorded call has."""
    call = held_against(made(booking_id="BK-1", date="May", gift=True), made(booking_id="BK-1", date="June", seats=2))
    assert marks(call) == [
        ("date", '"May"', "differs", '"June"'),
        ("gift", "true", "extra", ""),
        ("seats", "", "lacking", "2"),
    ]
    assert [leaf.path for leaf in call.leaves] == ["booking_id", "date", "gift", "seats"]


def test_what_matching_holds_to_be_equal_is_not_marked(boat_tools: tuple[ToolSpec, ...]) -> None:
    """A number written as a string, a default written out, and the order of a set are no differences."""
    call = made(booking_id="BK-1", date="x", seats="2", notify=True, tags=["b", "a"])
    recorded = made(booking_id="BK-1", date="x", seats=2, tags=["a", "b"])
    assert marks(held_against(call, recorded, boat_tools)) == []


def test_nested_leaves_and_elements_of_arrays(boat_tools: tuple[ToolSpec, ...]) -> None:
    """A difference deep inside marks that leaf alone; of an array only the element that differs."""
    call = held_against(made(contact={"name": "A", "postcode": "1"}), made(contact={"name": "A", "postcode": "2"}))
    assert marks(call) == [("contact.postcode", '"1"', "differs", '"2"')]
    call = held_against(made(tags=["a", "c"]), made(tags=["a", "b"]))
    assert marks(call) == [("tags[1]", '"c"', "differs", '"b"')]
    call = held_against(made(flights=[{"n": 1}, {"n": 2}]), made(flights=[{"n": 1}, {"n": 3}]))
    assert [leaf[:3] for leaf in marks(call)] == [("flights[1].n", "2", "differs")]


def test_the_same_seen_from_the_other_side() -> None:
    """What one call lacks, the other has too much."""
    ours, theirs = made(date="May"), made(date="June", seats=2)
    found = turned(differences(ours, theirs, Matcher((), MatchConfig())))
    assert marks(Ink().call("c", theirs, found)) == [
        ("date", '"June"', "differs", '"May"'),
        ("seats", "2", "extra", ""),
    ]


def test_view_04_arguments_that_cannot_be_read() -> None:
    """VIEW-04: a malformed call is shown as it was written, with the reason; so is one without anything."""
    call = Ink().call("c", ToolCall(name="x", arguments=None, raw='{"a": ', error="ends early"))
    assert (call.leaves, call.malformed) == ((), "ends early")
    assert call.written is not None
    assert call.written.body == '{"a": '
    nothing = Ink().call("c", ToolCall(name="", arguments=None))
    assert nothing.malformed
    assert brief(AssistantMessage(calls=(ToolCall(name="", arguments=None),))) == "(unreadable)"


def test_very_many_arguments_are_shown_as_written() -> None:
    """A call with more leaves than one can read is JSON text."""
    call = Ink().call("c", made(**{f"a{number}": number for number in range(100)}))
    assert call.leaves == ()
    assert call.written is not None
    assert '"a99"' in call.written.body


def test_long_texts_are_cut_and_kept_whole() -> None:
    """VIEW-04: the first characters, how many more there are, and the whole of it under the address."""
    ink = Ink(longest=10)
    text = ink.text("here", "0123456789abc")
    assert (text.body, text.more, text.at) == ("0123456789", 3, "here")
    assert ink.whole == {"here": "0123456789abc"}
    assert ink.text("there", "0123456789").more == 0


def test_a_page_of_many_long_texts_stays_readable() -> None:
    """Behind the first million characters or so texts are cut much earlier, and none is lost."""
    ink = Ink()
    texts = [ink.text(f"t{number}", "x" * 50_000) for number in range(300)]
    assert sum(len(text.body) for text in texts) < 2_000_000
    assert all(len(text.body) + text.more == 50_000 for text in texts)
    assert len(ink.whole) == 300


def test_messages_that_nothing_is_held_against() -> None:
    """Every kind of message becomes a piece, an empty one too."""
    ink = Ink()
    assert ink.said("a", UserMessage(content="")).text is not None
    assert ink.said("b", ToolMessage(content="{}", name="get", error=True)).bad
    assert ink.said("c", AssistantMessage(calls=(made(date="x"),))).text is None
    assert ink.said("d", AssistantMessage(content="")).brief == "(nothing)"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), _JSON, max_size=4), st.dictionaries(st.text(max_size=4), _JSON, max_size=4))
def test_a_difference_is_never_overlooked(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Two calls are marked exactly where matching says that they differ; a call beside itself never is."""
    one, other = ToolCall(name="f", arguments=ours), ToolCall(name="f", arguments=theirs)
    matcher = Matcher((), MatchConfig())
    assert bool(marks(held_against(one, other))) == (not matcher.same(one, other))
    assert marks(held_against(one, one)) == []
    assert len(list(flat(ours))) >= len(ours) or not ours
