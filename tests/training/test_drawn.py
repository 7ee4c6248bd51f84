"""From examples back to conversations: every example counts where it comes from, or none does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainingsets import sources

from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage, decisions
from turngap.training.drawn import UnmatchedError, drawn
from turngap.training.example import Example
from turngap.training.exchange import Manifest, conversations, read, write
from turngap.training.making import MIXES, ExampleSet, Options, make


@given(sources(), st.sampled_from(MIXES), st.sampled_from([None, 1, 40]), st.booleans())
def test_what_is_drawn_is_counted(talks: list[Conversation], mix: str, count: int | None, single: bool) -> None:
    """Whatever the mix: the counts are those of the examples, and nothing that was not drawn stands among them."""
    options = msgspec.convert({"mix": mix, "count": count, "split_calls": single, "validation": 0}, Options)
    made = make(talks, options)
    found = drawn(made.conversations["train"], made.train)
    wanted = Counter((one.conversation, one.decision) for one in made.train)
    assert {(one.conversation.id, at): n for one in found for at, n in one.counts.items()} == dict(wanted)
    assert all(one.counts for one in found)
    targets = {(one.conversation, one.decision): one.target for one in made.train}
    for one in found:
        known = {decision.index: decision.reference for decision in decisions(one.conversation)}
        assert all(known[at] == targets[one.conversation.id, at] for at in one.counts)


def _written(made: ExampleSet, options: Options, directory: Path) -> None:
    write(directory, made, Manifest(options=options, sources=(), counts=made.counts()))


@pytest.mark.parametrize("single", [False, True])
def test_the_files_of_a_set_belong_together(boat_conversation: Conversation, tmp_path: Path, single: bool) -> None:
    """As written and read back: calls that were split, decisions from the start on, and malformed calls as context."""
    call = boat_conversation.messages[1].calls[0]  # type: ignore[union-attr]
    odd = ToolCall(name="get_booking", arguments=None, raw='["BK-1042","x"]', error="no object")
    several = (
        UserMessage(content="Both, please."),
        AssistantMessage(calls=(odd,)),
        ToolMessage(name="get_booking", content="no"),
        AssistantMessage(content="One moment.", calls=(call, call)),
        ToolMessage(name="get_booking", content="{}"),
        ToolMessage(name="get_booking", content="{}"),
        AssistantMessage(content="Both are open."),
    )
    talk = msgspec.structs.replace(boat_conversation, messages=(*boat_conversation.messages, *several), start=2)
    options = Options(validation=0, split_calls=single)
    _written(make([talk], options), options, tmp_path / "set")
    (found,) = drawn(conversations(tmp_path / "set", "train"), read(tmp_path / "set")[1]["train"])
    assert found.counts == dict.fromkeys((2, 3, 5, 6, 7) if single else (2, 3, 5, 6), 1)


def test_a_conversation_without_examples_is_left_out(boat_conversation: Conversation) -> None:
    """What nothing was drawn of is not learnt from."""
    made = make([boat_conversation], Options(validation=0))
    other = msgspec.structs.replace(boat_conversation, id="other")
    (found,) = drawn([other, boat_conversation], made.train[1:2] * 3)
    assert (found.conversation.id, found.counts) == ("boat", {1: 3})
    assert drawn([boat_conversation], []) == ()


def test_examples_of_another_conversation_are_refused(boat_conversation: Conversation) -> None:
    """Other words before it, another decision, another policy, no such place, no such conversation, or two of them."""
    examples = make([boat_conversation], Options(validation=0)).train

    def refused(example: Example, *talks: Conversation) -> str:
        with pytest.raises(UnmatchedError) as found:
            drawn(talks or [boat_conversation], [*examples, example])
        return str(found.value)

    changed = msgspec.structs.replace
    said = "example 'boat#2' is not decision {} of the conversation as the set holds it"
    assert refused(changed(examples[2], context=(UserMessage(content="Hi."),))) == said.format(2)
    assert refused(changed(examples[2], target=AssistantMessage(content="No."))) == said.format(2)
    assert refused(changed(examples[2], setting=changed(examples[2].setting, policy="None."))) == said.format(2)
    assert refused(changed(examples[2], decision=3)) == said.format(3)
    assert refused(changed(examples[2], decision=9)) == said.format(9)
    assert refused(changed(examples[2], decision=-2)) == said.format(-2)
    assert "does not hold the conversation of example 'boat#2'" in refused(changed(examples[2], conversation="c"))
    assert "two conversations" in refused(examples[2], boat_conversation, boat_conversation)
