"""Sets of examples: splits that share nothing, mixes that count, duplicates and malformed calls named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainingsets import conversations, sources

from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage, check
from turngap.errors import UsageError
from turngap.training.making import MIXES, Options, group_of, make, mixed, with_single_calls

_SPLITS = ("train", "validation", "evaluation")


_OPTIONS = st.builds(
    Options,
    validation=st.sampled_from([0.0, 0.2, 0.4]),
    evaluation=st.sampled_from([0.0, 0.3, 0.5]),
    mix=st.sampled_from(MIXES),
    count=st.none() | st.integers(1, 30),
    seed=st.integers(0, 5),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources(), _OPTIONS)
def test_no_task_and_no_example_stands_in_two_splits(found: list[Conversation], options: Options) -> None:
    """Neither a task, nor a conversation, nor an equal example is in more than one split, whatever is asked for."""
    made = make(found, options)
    of = {one.id: group_of(one) for one in found}
    groups = [{of[one.conversation] for one in made.of(split)} for split in _SPLITS]  # type: ignore[arg-type]
    digests = [{one.digest() for one in made.of(split)} for split in _SPLITS]  # type: ignore[arg-type]
    for sets in (groups, digests):
        assert sum(map(len, sets)) == len(set().union(*sets))
    for split in _SPLITS:
        assert {one.conversation for one in made.of(split)} == {one.id for one in made.conversations[split]}  # type: ignore[arg-type, index]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources(), _OPTIONS)
def test_the_same_sources_make_the_same_set(found: list[Conversation], options: Options) -> None:
    """Twice the same set; and more sources leave every conversation in its split."""
    assert make(found, options) == make(found, options)
    fewer, all_of_them = make(found[:-1], options), make(found, options)
    place = {one.id: split for split in _SPLITS for one in all_of_them.conversations[split]}  # type: ignore[index]
    for split in _SPLITS:
        # With a mix or a count the draw differs, and some conversations may give nothing.
        assert all(place.get(one.id, split) == split for one in fewer.conversations[split])  # type: ignore[index]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources(), _OPTIONS)
def test_every_decision_is_an_example_or_is_left_out(found: list[Conversation], options: Options) -> None:
    """With the natural mix nothing vanishes: the counts of examples and of what was left out add up."""
    options = msgspec.structs.replace(options, mix="natural", count=None)
    made = make(found, options)
    decisions = sum(isinstance(one, AssistantMessage) for each in found for one in each.messages)
    assert decisions == sum(len(made.of(split)) for split in _SPLITS) + len(made.left_out)  # type: ignore[arg-type]
    for split, counted in made.counts().items():
        assert counted["text"] + counted["tool"] == counted["examples"] == len(made.of(split))  # type: ignore[arg-type]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversations(several=True), st.integers(0, 3))
def test_single_calls(conversation: Conversation, start: int) -> None:
    """Split calls keep every call and every result in order, one each, and what is evaluated begins at the same place."""
    decisions = [one for one in conversation.messages if isinstance(one, AssistantMessage)]
    start = min(start, len(decisions) - 1)
    split = with_single_calls(msgspec.structs.replace(conversation, start=start))
    assert check(split) is None
    after = [one for one in split.messages if isinstance(one, AssistantMessage)]
    assert all(len(one.calls) <= 1 for one in after)
    assert [call for one in after for call in one.calls] == [call for one in decisions for call in one.calls]
    results = [[one for one in each.messages if isinstance(one, ToolMessage)] for each in (conversation, split)]
    assert results[0] == results[1]
    first, before = after[split.start], decisions[start]
    assert (first.calls[:1], first.content) == (before.calls[:1], before.content)


@pytest.mark.parametrize(("mix", "share"), [("balanced", 0.5), ("tools", 0.75)])
@pytest.mark.parametrize("count", [None, 8, 100])
def test_a_mix_has_its_shares(boat_conversation: Conversation, mix: str, share: float, count: int | None) -> None:
    """As many examples as asked for, or as there are; the rarer kind is drawn as often as it takes, evenly."""
    # Two of three text decisions are left, so that the kinds differ in number.
    natural = make([boat_conversation], Options(validation=0)).train[:3]
    made = mixed(natural, Options(mix=mix, count=count))  # type: ignore[arg-type]
    assert len(made) == (count or 3)
    assert sum(one.kind == "tool" for one in made) == round(share * len(made))
    often = Counter(one.id for one in made if one.kind == "tool")
    assert max(often.values()) - min(often.values()) <= 1 or len(often) == 1


def test_syn_08_malformed_calls_and_first_calls(
    boat_conversation: Conversation, numbered: Callable[[int], Conversation]
) -> None:
    """SYN-08: of ten conversations one has a malformed call, one begins with a call: nothing vanishes, one is named."""
    whole = [numbered(at) for at in range(8)]
    broken = ToolCall(name="get_booking", arguments=None, raw="{oops", error="no JSON")
    messages = list(numbered(8).messages)
    messages[1] = AssistantMessage(calls=(broken,))
    malformed = msgspec.structs.replace(numbered(8), messages=tuple(messages))
    opening = msgspec.structs.replace(numbered(9), messages=numbered(9).messages[1:])
    made = make([*whole, malformed, opening], Options(validation=0))
    assert [(one.id, one.reason) for one in made.left_out] == [("boat8#0", "malformed call")]
    assert len(made.train) == 4 * 10 - 1
    assert len(made.conversations["train"]) == 10
    first = next(one for one in made.train if one.id == "boat9#0")
    assert first.context == () and first.target.calls
    # The text behind the leading call is there, and the malformed call stays as such in what comes after it.
    assert [one.kind for one in made.train if one.conversation == "boat9"] == ["tool", "text", "tool", "text"]
    later = next(one for one in made.train if one.id == "boat8#1")
    assert later.context[1] == AssistantMessage(calls=(broken,))


@pytest.fixture
def numbered(boat_conversation: Conversation) -> Callable[[int], Conversation]:
    """The boat-hire conversation over and over, about different bookings."""

    def make_one(number: int) -> Conversation:
        first = UserMessage(content=f"Please move BK-{number} to 2 May.")
        return msgspec.structs.replace(
            boat_conversation, id=f"boat{number}", messages=(first, *boat_conversation.messages[1:])
        )

    return make_one


def test_duplicates_are_left_out_and_named(boat_conversation: Conversation) -> None:
    """A second recording of the same conversation gives no example, in whatever split, and is no conversation of it."""
    again = msgspec.structs.replace(boat_conversation, id="again")
    made = make([boat_conversation, again], Options(validation=0))
    assert [one.id for one in made.left_out] == [f"again#{at}" for at in range(4)]
    assert [one.id for one in made.conversations["train"]] == ["boat"]


def test_reasoning_is_kept_on_request(boat_conversation: Conversation) -> None:
    """Recorded reasoning is learnt where it is asked for; else no message holds any."""
    thought = msgspec.structs.replace(boat_conversation.messages[1], reasoning="I look it up.")
    one = msgspec.structs.replace(
        boat_conversation, messages=(boat_conversation.messages[0], thought, *boat_conversation.messages[2:])
    )
    assert make([one], Options(validation=0, reasoning=True)).train[0].target.reasoning == "I look it up."
    made = make([one], Options(validation=0))
    assert all(
        message.reasoning is None
        for example in made.train
        for message in (*example.context, example.target)
        if isinstance(message, AssistantMessage)
    )


def test_an_empty_answer_is_no_example(boat_conversation: Conversation) -> None:
    """Nobody learns to say nothing."""
    silent = msgspec.structs.replace(
        boat_conversation, messages=(*boat_conversation.messages[:-1], AssistantMessage(content=" "))
    )
    made = make([silent], Options(validation=0))
    assert [(one.id, one.reason) for one in made.left_out] == [("boat#3", "empty")]


def test_trials_of_a_numbered_task_are_one_group(boat_conversation: Conversation) -> None:
    """A task that is called 0 is a task, under either of its names."""
    first, second = (
        msgspec.structs.replace(boat_conversation, id=name, metadata={key: 0})
        for name, key in (("a", "task_id"), ("b", "task"))
    )
    assert group_of(first) == group_of(second) == "0"
    assert group_of(boat_conversation) == "boat"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"validation": 1.0}, "validation"),
        ({"validation": 0.5, "evaluation": 0.5}, "nothing to train on"),
        ({"mix": "tool"}, "natural, balanced, tools"),
        ({"count": 0}, "at least 1"),
    ],
)
def test_options_that_make_no_sense(settings: dict[str, object], said: str) -> None:
    """One line says which setting, and what it may be."""
    with pytest.raises(UsageError, match=said):
        Options(**settings)  # type: ignore[arg-type]


def test_two_conversations_of_one_id(boat_conversation: Conversation) -> None:
    """Ids name conversations, so they differ."""
    with pytest.raises(UsageError, match="'boat'"):
        make([boat_conversation, boat_conversation], Options())


def test_a_repaired_call_is_learnt_as_it_was_meant(boat_conversation: Conversation) -> None:
    """What was written as a Python literal is learnt as JSON: the slip is not part of the decision."""
    meant = {"booking_id": "BK-1042"}
    slip = ToolCall(name="get_booking", arguments=meant, raw="{'booking_id': 'BK-1042'}", notes=("python_literal",))
    messages = (boat_conversation.messages[0], AssistantMessage(calls=(slip,)), *boat_conversation.messages[2:])
    made = make([msgspec.structs.replace(boat_conversation, messages=messages)], Options(validation=0))
    assert made.train[0].target.calls == (ToolCall(name="get_booking", arguments=meant),)
