"""Decisions, segments and invariants of recorded conversations."""

from __future__ import annotations

import msgspec

from turngap.data import (
    AssistantMessage,
    Conversation,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    check,
    decisions,
    requires_tools,
    results_of,
    segments,
)

CALL = ToolCall(name="f", arguments={})


def made(*messages: object) -> Conversation:
    """A conversation of these messages."""
    return Conversation(id="x", messages=tuple(messages))  # type: ignore[arg-type]


def test_decisions_are_the_assistant_messages(boat_conversation: Conversation) -> None:
    """Four decisions, two of each kind; gold history is everything before."""
    found = list(decisions(boat_conversation))
    assert [(decision.index, decision.kind, decision.position) for decision in found] == [
        (0, "tool", 1),
        (1, "text", 3),
        (2, "tool", 5),
        (3, "text", 7),
    ]
    assert [result.content for result in results_of(boat_conversation, found[2])] == ['{"ok": true}']
    assert requires_tools(boat_conversation)


def test_segments_are_cut_at_user_messages(boat_conversation: Conversation) -> None:
    """Two user turns, two decisions each."""
    found = segments(boat_conversation)
    assert [[decision.index for decision in segment.decisions] for segment in found] == [[0, 1], [2, 3]]
    assert [segment.end for segment in found] == [4, 8]


def test_an_agent_that_speaks_first_opens_a_segment_without_user() -> None:
    """A greeting is a decision; two user messages in a row are one turn; a last user message has no decision."""
    hello, user, bye = AssistantMessage(content="Hello"), UserMessage(content="a"), AssistantMessage(content="b")
    found = segments(made(hello, user, SystemMessage(content="s"), user, bye, user))
    assert [(len(segment.spoken), len(segment.decisions)) for segment in found] == [(0, 1), (3, 1), (1, 0)]


def test_broken_invariants_are_named(boat_conversation: Conversation) -> None:
    """Results without calls, calls without results, two assistant messages in a row."""
    calling, result, text = AssistantMessage(calls=(CALL,)), ToolMessage(content="r"), AssistantMessage(content="t")
    assert check(boat_conversation) is None
    assert check(made(calling, result, text)) is None
    assert "without a call" in (check(made(result)) or "")
    assert "no result" in (check(made(calling, text)) or "")
    assert "no result" in (check(made(calling)) or "")
    assert "in a row" in (check(made(text, text)) or "")


def test_conversations_survive_storage(boat_conversation: Conversation) -> None:
    """What is encoded decodes to the same value."""
    assert msgspec.json.decode(msgspec.json.encode(boat_conversation), type=Conversation) == boat_conversation
