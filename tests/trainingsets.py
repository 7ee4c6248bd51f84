"""Strategies that draw conversations, for the properties of sets of examples."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from turngap.data import AssistantMessage, Conversation, Message, ToolCall, ToolMessage, ToolSpec, UserMessage


@st.composite
def conversations(draw: st.DrawFn, *, several: bool = False) -> Conversation:
    """A conversation of a few turns, with calls here and there."""
    messages: list[Message] = []
    for turn in range(draw(st.integers(1, 3))):
        messages.append(UserMessage(content=draw(st.sampled_from(["Hello.", "Move it.", "Thanks."]))))
        for step in range(draw(st.integers(0, 2))):
            calls = tuple(
                ToolCall(name="get_booking", arguments={"id": f"{draw(st.integers(0, 3))}.{turn}.{step}"})
                for _ in range(draw(st.integers(1, 3)) if several else 1)
            )
            messages.append(AssistantMessage(calls=calls))
            messages += [ToolMessage(name="get_booking", content=f"result {at}") for at in range(len(calls))]
        messages.append(AssistantMessage(content=draw(st.sampled_from(["Done.", "Shall I?", "Bye."]))))
    return Conversation(id="c", policy="Be kind.", tools=(ToolSpec(name="get_booking"),), messages=tuple(messages))


@st.composite
def sources(draw: st.DrawFn) -> list[Conversation]:
    """Trials of some tasks."""
    made = draw(st.lists(conversations(), min_size=1, max_size=12))
    return [
        msgspec.structs.replace(one, id=f"c{at}", metadata={"task": f"t{draw(st.integers(0, 4))}"})
        for at, one in enumerate(made)
    ]
