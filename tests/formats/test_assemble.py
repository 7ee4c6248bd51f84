"""Loose messages become messages that obey the invariants, and every deviation is noted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import ABSENT_RESULT, AssistantMessage, Conversation, SystemMessage, ToolMessage, UserMessage, check
from turngap.formats.assemble import Assembled, WireCall, WireMessage, assemble
from turngap.formats.base import ODDITIES, Findings, Place


def user(text: str = "hi") -> WireMessage:
    """A user message."""
    return WireMessage(role="user", content=text)


def calls(*ids: str | None, content: str = "", at: str = "m") -> WireMessage:
    """An assistant message with one call for each id."""
    made = tuple(WireCall(name=f"tool_{i}", arguments={}, id=call_id, at=f"{at}.{i}") for i, call_id in enumerate(ids))
    return WireMessage(role="assistant", content=content, calls=made, at=at)


def said(text: str) -> WireMessage:
    """A text decision."""
    return WireMessage(role="assistant", content=text)


def result(content: str, call_id: str | None = None, **more: Any) -> WireMessage:
    """A tool result."""
    return WireMessage(role="tool", content=content, call_id=call_id, **more)


def run(*wires: WireMessage) -> tuple[Assembled, list[str]]:
    """Assemble, check the invariants, and return the kinds of oddities beside."""
    findings = Findings(Place(file="log.jsonl", line=1))
    assembled = assemble(wires, (), findings)
    assert check(Conversation(id="x", messages=assembled.messages)) is None
    return assembled, [oddity.kind for oddity in findings.oddities]


def results(assembled: Assembled) -> list[str]:
    """The contents of the tool messages."""
    return [message.content for message in assembled.messages if isinstance(message, ToolMessage)]


@pytest.mark.parametrize(
    ("call_ids", "result_ids", "expected"),
    [
        (("a", "b"), ("b", "a"), ["2", "1"]),
        (("a", "a"), ("a", "a"), ["1", "2"]),
        ((None, None), (None, None), ["1", "2"]),
        (("a", "b"), (None, None), ["1", "2"]),
        ((None, None), ("x", "y"), ["1", "2"]),
        (("a", "b"), ("b", None), ["2", "1"]),
    ],
)
def test_pairing(call_ids: tuple[str | None, ...], result_ids: tuple[str | None, ...], expected: list[str]) -> None:
    """Results find their calls by unique id, else by order."""
    wires = [result(str(number), call_id) for number, call_id in enumerate(result_ids, start=1)]
    assembled, _ = run(user(), calls(*call_ids), *wires)
    assert results(assembled) == expected


def test_one_id_for_different_calls() -> None:
    """An id that is used again for a later call does not pull results away from it."""
    assembled, kinds = run(user(), calls("c"), result("1", "c"), said("x"), user(), calls("c"), result("2", "c"))
    assert results(assembled) == ["1", "2"]
    assert kinds == []


def test_ing_16_unanswered_call() -> None:
    """ING-16: a call without a result keeps its decision and gets the stated stand-in, with its place."""
    findings = Findings(Place(file="log.jsonl", line=7))
    assembled = assemble([user(), calls("a", at="messages[1]"), user("still there?")], (), findings)
    assert assembled.messages[2] == ToolMessage(content=ABSENT_RESULT, name="tool_0", absent=True)
    assert [(o.kind, o.where) for o in findings.oddities] == [("absent_result", "log.jsonl:7: messages[1].0")]


def test_ing_16_leading_orphan() -> None:
    """ING-16: a log that begins with a result loses it, with a note."""
    assembled, kinds = run(result("lost", "z"), user(), said("hello"))
    assert assembled.messages == (UserMessage(content="hi"), AssistantMessage(content="hello"))
    assert kinds == ["orphan_result"]


def test_orphan_in_the_middle() -> None:
    """A result behind a text decision has no call and is dropped."""
    assembled, kinds = run(user(), said("a"), result("lost"), said("b"))
    assert results(assembled) == []
    assert kinds == ["orphan_result", "merged_assistant"]


def test_late_result() -> None:
    """A result behind a later user message is attached when its id names one unanswered call."""
    assembled, kinds = run(user(), calls("a"), user("well?"), result("1", "a"), said("done"))
    assert results(assembled) == ["1"]
    assert isinstance(assembled.messages[2], ToolMessage)
    assert kinds == ["late_result"]


def test_late_result_of_an_ambiguous_id() -> None:
    """A late result whose id names two unanswered calls belongs to neither."""
    assembled, kinds = run(user(), calls("a"), user(), calls("a"), user(), result("1", "a"))
    assert results(assembled) == [ABSENT_RESULT, ABSENT_RESULT]
    assert kinds.count("orphan_result") == 1


def test_parallel_calls_that_were_logged_apart() -> None:
    """Calls in messages of their own, with all results behind the last, still get their own results."""
    assembled, kinds = run(user(), calls("a"), calls("b"), result("1", "a"), result("2", "b"))
    assert results(assembled) == ["1", "2"]
    assert kinds == ["late_result"]


def test_repeated_result() -> None:
    """A second result of an answered call is dropped, not given to another call."""
    assembled, kinds = run(user(), calls("a", "b"), result("1", "a"), result("again", "a"))
    assert results(assembled) == ["1", ABSENT_RESULT]
    assert kinds == ["repeated_result", "absent_result"]


def test_result_of_another_function_is_no_result() -> None:
    """Order alone never pairs a result with a call of another function."""
    assembled, kinds = run(user(), calls("a"), result("1", "z", name="elsewhere"))
    assert results(assembled) == [ABSENT_RESULT]
    assert kinds == ["orphan_result", "absent_result"]


def test_consecutive_texts_are_one_decision() -> None:
    """Assistant messages in a row merge; calls of the second stay its calls."""
    assembled, kinds = run(user(), said("One moment."), calls("a", content="Looking."), result("1", "a"))
    decision = assembled.messages[1]
    assert isinstance(decision, AssistantMessage)
    assert (decision.content, len(decision.calls)) == ("One moment.\nLooking.", 1)
    assert kinds == ["merged_assistant"]


def test_ing_14_text_beside_calls() -> None:
    """ING-14: text beside a call stays in the one tool decision."""
    assembled, kinds = run(user(), calls("a", content="I will check that now."), result("1", "a"))
    decision = assembled.messages[1]
    assert isinstance(decision, AssistantMessage)
    assert (decision.kind, decision.content) == ("tool", "I will check that now.")
    assert kinds == []


def test_empty_assistant_message() -> None:
    """A message without text and calls is dropped; its reasoning goes to the message it leads up to."""
    empty = WireMessage(role="assistant", reasoning="think")
    assembled, kinds = run(user(), empty, user("?"), empty, said("yes"))
    assert assembled.messages[-1] == AssistantMessage(content="yes", reasoning="think")
    assert kinds == ["empty_assistant"]


def test_think_block() -> None:
    """A thought at the beginning of the text is reasoning, not text."""
    assembled, kinds = run(user(), said("<think>hm</think>\n\nYes."))
    assert assembled.messages[1] == AssistantMessage(content="Yes.", reasoning="hm")
    assert kinds == ["think_in_text"]


def test_system_messages() -> None:
    """Leading system texts are the policy; later ones stay in place."""
    system = [WireMessage(role="system", content=text) for text in ("A", "B", "C")]
    assembled, _ = run(system[0], system[1], user(), system[2], said("x"))
    assert assembled.policy == "A\n\nB"
    assert assembled.messages[1] == SystemMessage(content="C")


def test_end_markers_and_final_results() -> None:
    """End markers are user messages; a conversation may end with a result."""
    assembled, kinds = run(user(), calls("a"), result("1", "a"), user("###STOP###"))
    assert assembled.messages[-1] == UserMessage(content="###STOP###")
    assert kinds == []


IDS = st.sampled_from([None, "a", "b", "c"])
WIRES = st.one_of(
    st.builds(user),
    st.builds(said, st.sampled_from(["", "text", "<think>x</think>"])),
    st.lists(IDS, max_size=3).map(lambda ids: calls(*ids)),
    st.builds(result, st.just("r"), IDS, name=st.sampled_from(["", "tool_0", "tool_1"])),
    st.builds(WireMessage, role=st.just("system"), content=st.just("s")),
)


@given(st.lists(WIRES, max_size=12))
def test_invariants_hold_for_anything(wires: list[WireMessage]) -> None:
    """Whatever stands in a file: the invariants hold, no call is lost, every oddity is explained."""
    assembled, kinds = run(*wires)
    made = sum(len(message.calls) for message in assembled.messages if isinstance(message, AssistantMessage))
    assert made == sum(len(wire.calls) for wire in wires)
    assert set(kinds) <= set(ODDITIES)
    present = sum(isinstance(m, ToolMessage) and not m.absent for m in assembled.messages)
    dropped = kinds.count("orphan_result") + kinds.count("repeated_result")
    assert present + dropped == sum(wire.role == "tool" for wire in wires)
