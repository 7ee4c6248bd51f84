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


def _say(tool: str, compare_args: dict[str, tuple[str, ...]] | None = None, **arguments: object) -> Conversation:
    messages = (AssistantMessage(calls=(ToolCall(name=tool, arguments=arguments),)),)
    return Conversation(id="c", messages=messages, compare_args=compare_args or {})


def test_free_text_is_told_from_other_arguments() -> None:
    """Sentences in more than half of the calls make an argument free text; what is left out already is none."""
    long = "one two three four five six seven eight"
    inventory = Inventory()
    for conversation in (
        _say("think", thought=long),
        _say("think", thought=long),
        _say("think", thought="short"),
        _say("book", note=long, seats=2),
        _say("book", note="window", seats=2),
        _say("hand_over", {"hand_over": ()}, summary=long),
        _say("hand_over", {"hand_over": ("summary",)}, summary=long, team="boats"),
        _say("mail", {"mail": ("to",)}, to="ann", text=long),
    ):
        inventory.add(conversation)
    found = {tool.name: (tool.free_text, tool.other_arguments) for tool in inventory.summary().tools}
    assert found == {
        "think": (["thought"], []),
        "book": ([], ["note", "seats"]),
        "hand_over": ([], ["summary", "team"]),
        "mail": ([], ["text", "to"]),
    }
