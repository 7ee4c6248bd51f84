"""Trajectories in tau2's form and back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Event,
    Finish,
    Spoken,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from turngap.domains.tau2.messages import Told, read, written

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_SOUND = st.builds(
    ToolCall,
    name=st.sampled_from(["look", "move"]),
    arguments=st.dictionaries(_TEXT, st.integers() | _TEXT, max_size=2),
)
_MALFORMED = st.builds(ToolCall, name=st.just("look"), arguments=st.none(), raw=_TEXT, error=st.just("no JSON"))


def _results(calls: list[ToolCall]) -> tuple[ToolMessage, ...]:
    return tuple(
        ToolMessage(name=one.name, content=f"r{place}", error=place % 2 == 1) for place, one in enumerate(calls)
    )


@st.composite
def _acted(draw: st.DrawFn) -> Acted:
    calls = draw(st.lists(_SOUND | _MALFORMED, max_size=3))
    verdicts = (
        CallVerdict(accepted=True)
        if one.arguments is not None
        else CallVerdict(accepted=False, category=Category.MALFORMED_CALL)
        for one in calls
    )
    return Acted(
        message=AssistantMessage(content=draw(_TEXT), calls=tuple(calls), reasoning=draw(st.none() | _TEXT)),
        results=_results(calls),
        verdicts=tuple(verdicts),
        finish=draw(st.sampled_from(Finish)),
        raw=draw(_TEXT),
    )


@st.composite
def _spoken(draw: st.DrawFn) -> Spoken:
    calls = draw(st.lists(_SOUND | _MALFORMED, max_size=3))
    return Spoken(message=UserMessage(content=draw(_TEXT)), calls=tuple(calls), results=_results(calls))


def _again(events: list[Event]) -> tuple[Event, ...]:
    messages = written(events)
    return read(msgspec.json.decode(msgspec.json.encode(messages), type=list[Told]))


@given(st.lists(_acted() | _spoken(), max_size=6))
def test_nothing_is_lost_either_way(events: list[Event]) -> None:
    """Events written as tau2 messages and read again are the same events, malformed calls and their places included."""
    assert _again(events) == tuple(events)


@given(st.lists(_acted() | _spoken(), max_size=6))
def test_what_is_written_keeps_tau2s_rules(events: list[Event]) -> None:
    """Each call is followed by its result under the same id; ids are unique, and turns are counted."""
    messages = written(events, 3)
    assert [one["turn_idx"] for one in messages] == list(range(3, 3 + len(messages)))
    ids = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        ids += waiting
    assert not waiting
    assert len(set(ids)) == len(ids)


def test_a_users_steps_before_the_words_are_one_event() -> None:
    """tau2's users call in messages of their own; all that happens before they speak is one `Spoken`."""
    call = {"id": "1", "name": "toggle", "arguments": {}, "requestor": "user"}
    result = {"role": "tool", "id": "1", "content": "on", "requestor": "user"}
    messages = [
        {"role": "user", "tool_calls": [call]},
        result,
        {"role": "user", "tool_calls": [{**call, "id": "2"}]},
        {"role": "tool", "tool_messages": [{**result, "id": "2"}]},
        {"role": "user", "content": "It is on."},
    ]
    (event,) = read(msgspec.convert(messages, list[Told]))
    assert isinstance(event, Spoken)
    assert (event.message.content, len(event.calls), [one.content for one in event.results]) == (
        "It is on.",
        2,
        ["on", "on"],
    )


def test_results_out_of_order_go_to_their_calls() -> None:
    """Ids pair results with calls; where ids are missing or doubled, the order does."""

    def messages(ids: list[str]) -> list[Told]:
        calls = [{"id": "a", "name": "one"}, {"id": "b", "name": "two"}]
        results = [{"role": "tool", "id": one, "content": f"of {one}"} for one in ids]
        return msgspec.convert([{"role": "assistant", "tool_calls": calls}, *results], list[Told])

    (swapped,) = read(messages(["b", "a"]))
    (unknown,) = read(messages(["", ""]))
    assert isinstance(swapped, Acted)
    assert isinstance(unknown, Acted)
    assert [(one.name, one.content) for one in swapped.results] == [("one", "of a"), ("two", "of b")]
    assert [one.name for one in unknown.results] == ["one", "two"]


def test_calls_without_results_are_named() -> None:
    """A message whose results do not follow it, and a result from nowhere, are errors that say where."""
    with pytest.raises(ValueError, match="message 0 makes 1 calls"):
        read(msgspec.convert([{"role": "assistant", "tool_calls": [{"name": "look"}]}], list[Told]))
    with pytest.raises(ValueError, match="message 0 is a result without a call"):
        read([Told(role="tool", content="?")])


def test_instructions_between_turns_stay_instructions() -> None:
    """A system message in the middle keeps its role."""
    events: list[Event] = [
        Spoken(message=SystemMessage(content="Be brief.")),
        Spoken(message=UserMessage(content="Hi")),
    ]
    assert _again(events) == tuple(events)
