"""From a request to what goes over the wire."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from turngap.data import (
    AssistantMessage,
    Conversation,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from turngap.models.base import Request, Seat
from turngap.models.wire import NOTHING_SAID, Wire

_SEAT = Seat(conversation="boat", protocol="gold", decision=0)


def _request(*messages: Message, policy: str = "Be kind.", tools: tuple[ToolSpec, ...] = ()) -> Request:
    return Request(policy=policy, tools=tools, messages=messages, seat=_SEAT)


def _sent(wire: Wire, request: Request) -> tuple[list[dict[str, Any]], Any]:
    messages, tools = wire.encode(request)
    return json.loads(msgspec.json.encode(messages)), None if tools is None else json.loads(bytes(tools))


def test_the_boat_conversation_goes_out_as_it_was_recorded(
    boat_conversation: Conversation, boat_record: dict[str, Any]
) -> None:
    """Recorded messages and tools come out in the API's form, with results paired to calls."""
    request = _request(*boat_conversation.messages, policy=boat_conversation.policy, tools=boat_conversation.tools)
    messages, tools = _sent(Wire(), request)
    ids = {}
    for ours, theirs in zip(messages, boat_record["messages"], strict=True):
        assert ours["role"] == theirs["role"]
        assert ours["content"] == theirs["content"]
        for mine, other in zip(ours.get("tool_calls", []), theirs.get("tool_calls", []), strict=True):
            assert mine["function"]["name"] == other["function"]["name"]
            assert json.loads(mine["function"]["arguments"]) == json.loads(other["function"]["arguments"])
            ids[other["id"]] = mine["id"]
        if ours["role"] == "tool":
            assert ours["tool_call_id"] == ids[theirs["tool_call_id"]]
    assert [tool["function"]["parameters"] for tool in tools] == [
        tool["function"]["parameters"] for tool in boat_record["tools"]
    ]


def test_ids_are_deterministic_and_acceptable_everywhere(boat_conversation: Conversation) -> None:
    """The same history gives the same ids of nine letters and digits, all different."""
    request = _request(*boat_conversation.messages)
    first, second = _sent(Wire(), request)[0], _sent(Wire(), request)[0]
    assert first == second
    ids = [call["id"] for message in first for call in message.get("tool_calls", [])]
    assert len(set(ids)) == len(ids) == 2
    assert all(len(one) == 9 and one.isalnum() for one in ids)


def test_prv_09_every_kind_of_own_answer_has_its_form() -> None:
    """PRV-09: calls alone have null content, an empty answer has its placeholder, text alone is text."""
    call = ToolCall(name="list_slots", arguments={})
    messages, _ = _sent(
        Wire(),
        _request(
            AssistantMessage(calls=(call,)),
            ToolMessage(content="[]"),
            AssistantMessage(content=" \n"),
            UserMessage(content="?"),
            AssistantMessage(content="Yes."),
            UserMessage(content="ok"),
            AssistantMessage(content="One moment.", calls=(call,)),
            ToolMessage(content="[]"),
        ),
    )
    said = [message for message in messages if message["role"] == "assistant"]
    assert [one["content"] for one in said] == [None, NOTHING_SAID, "Yes.", "One moment."]
    assert ["tool_calls" in one for one in said] == [True, False, False, True]


def test_malformed_calls_go_out_as_they_were_emitted_or_wrapped() -> None:
    """A malformed call keeps its text; for servers that decode it, the text stands in a valid object."""
    call = ToolCall(name="list_slots", arguments=None, raw='{"a', error="cut")
    request = _request(AssistantMessage(calls=(call,)), ToolMessage(content="bad JSON"))
    plain = _sent(Wire(), request)[0][1]["tool_calls"][0]["function"]["arguments"]
    wrapped = _sent(Wire(wrap_malformed=True), request)[0][1]["tool_calls"][0]["function"]["arguments"]
    assert plain == '{"a'
    assert json.loads(wrapped) == {"malformed_arguments": '{"a'}


def test_prv_12_reasoning_goes_back_only_within_the_turn_and_on_request() -> None:
    """PRV-12: reasoning of the current tool turn is sent back when asked for, that of earlier turns never."""
    call = ToolCall(name="list_slots", arguments={})
    request = _request(
        UserMessage(content="a"),
        AssistantMessage(content="b", reasoning="old"),
        UserMessage(content="c"),
        AssistantMessage(calls=(call,), reasoning="new"),
        ToolMessage(content="[]"),
    )
    kept = [message.get("reasoning_content") for message in _sent(Wire(send_reasoning=True), request)[0]]
    assert kept == [None, None, None, None, "new", None]
    assert not any("reasoning_content" in message for message in _sent(Wire(), request)[0])


def test_prv_11_names_go_out_acceptable_in_tools_calls_and_results() -> None:
    """PRV-11: one mapping is used in the tool list and in the history."""
    tools = (ToolSpec(name="bookings.get"), ToolSpec(name="bookings_get"))
    call = ToolCall(name="bookings.get", arguments={})
    messages, sent = _sent(Wire(), _request(AssistantMessage(calls=(call,)), ToolMessage(content="x"), tools=tools))
    assert [tool["function"]["name"] for tool in sent] == ["bookings_get_2", "bookings_get"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "bookings_get_2"
    assert messages[2]["name"] == "bookings_get_2"


def test_without_policy_and_tools_nothing_stands_for_them() -> None:
    """An empty policy sends no system message, no tools send no list."""
    messages, tools = _sent(Wire(), _request(UserMessage(content="Hi"), policy=""))
    assert messages == [{"role": "user", "content": "Hi"}]
    assert tools is None


def test_a_tool_without_schema_gets_an_empty_object_schema() -> None:
    """Servers require parameters to be an object schema."""
    _, tools = _sent(Wire(), _request(tools=(ToolSpec(name="a"),)))
    assert tools[0]["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.fixture
def folded_boat(boat_conversation: Conversation) -> list[dict[str, Any]]:
    """The boat conversation with an instruction and a second user message in a row, folded."""
    messages = (
        *boat_conversation.messages[:5],
        SystemMessage(content="The customer is in a hurry."),
        *boat_conversation.messages[4:],
    )
    request = _request(*messages, policy=boat_conversation.policy, tools=boat_conversation.tools)
    return _sent(Wire(fold_roles=True), request)[0]


def test_prv_08_folded_roles_alternate(folded_boat: list[dict[str, Any]]) -> None:
    """PRV-08: only user and assistant turns go out, in turn, beginning with the user, and nothing is lost."""
    roles = [message["role"] for message in folded_boat]
    assert roles == [("user", "assistant")[index % 2] for index in range(len(roles))]
    whole = "\n".join(message["content"] for message in folded_boat)
    for piece in ("boat hire", '"name":"move_booking"', "Please move BK-1042", "in a hurry", "Yes.", '{"ok": true}'):
        assert piece in whole
    assert (
        '<tool_call>{"name": "get_booking", "arguments": {"booking_id":"BK-1042"}}</tool_call>'
        in folded_boat[1]["content"]
    )


def test_folding_keeps_an_agent_that_speaks_first() -> None:
    """An assistant message at the start stands behind a user turn."""
    messages, tools = _sent(Wire(fold_roles=True), _request(AssistantMessage(content="Welcome."), policy=""))
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert tools is None
