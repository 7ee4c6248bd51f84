"""Counting what is in a data set."""

from __future__ import annotations

import msgspec

from turngap.data import AssistantMessage, Conversation, ToolCall
from turngap.formats.inventory import Inventory, Spread


def test_counts(boat_conversation: Conversation) -> None:
    """Decisions, calls, tools and lengths of the boat-hire conversation."""
    inventory = Inventory()
    inventory.add(boat_conversation)
    inventory.add(Conversation(id="chat", messages=(AssistantMessage(content="Hello"),), reward=1.0))
    summary = inventory.summary()
    assert (summary.conversations, summary.tool_requiring, summary.marked, summary.rewarded) == (2, 1, 1, 1)
    assert (summary.decisions, summary.text_decisions, summary.tool_decisions, summary.calls) == (5, 3, 2, 2)
    assert summary.user_turns == 2
    assert summary.lengths["decisions"] == Spread(min=1, median=2.5, max=4)
    calls = {tool.name: (tool.calls, tool.declared) for tool in summary.tools}
    assert calls["get_booking"] == (1, 1)
    assert calls["hand_over"] == (0, 1)


def test_undeclared_and_malformed_calls(boat_conversation: Conversation) -> None:
    """A call of a tool that the conversation does not declare is counted, as is one with malformed arguments."""
    call = ToolCall(name="fly", arguments=None, raw="{", error="cut")
    messages = (AssistantMessage(calls=(call,)),)
    inventory = Inventory()
    inventory.add(msgspec.structs.replace(boat_conversation, messages=messages))
    (tool,) = (tool for tool in inventory.summary().tools if tool.calls)
    assert (tool.name, tool.malformed, tool.undeclared_calls, tool.declared) == ("fly", 1, 1, 0)


def test_nothing() -> None:
    """No conversation has no lengths, and no figure fails."""
    summary = Inventory().summary()
    assert (summary.conversations, summary.lengths, summary.tools) == (0, {}, [])
