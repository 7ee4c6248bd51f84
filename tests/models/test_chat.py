"""A model behind a chat-completions server, end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from chatserver import ChatServer, Say, Status, Step, call, calls, text

from turngap.config import ModelConfig, Prices
from turngap.data import (
    AssistantMessage,
    Conversation,
    Finish,
    Message,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from turngap.errors import ConfigError, ContextOverflow, EndpointError, UsageError
from turngap.models import build
from turngap.models.base import ModelContext, Request, Seat
from turngap.models.chat import ChatModel
from turngap.models.limits import TRUNCATED

Start = Callable[..., ChatServer]


def _model(server: ChatServer, context: ModelContext | None = None, **settings: Any) -> ChatModel:
    config = ModelConfig(spec="openai/m", base_url=server.url, api_key_env="NO_SUCH_KEY", give_up_after=5, **settings)
    model = build(config, context)
    assert isinstance(model, ChatModel)
    return model


def _request(tools: tuple[ToolSpec, ...] = (), *messages: Message, **seat: Any) -> Request:
    place = Seat(**{"conversation": "boat", "protocol": "gold", "decision": 0, **seat})
    return Request(policy="Be kind.", tools=tools, messages=messages or (UserMessage(content="Hello."),), seat=place)


async def test_every_kind_of_answer_becomes_the_right_prediction(chat_server: Start, boat_tools: Any) -> None:
    """Text, calls, malformed arguments, a call as text and an empty answer are predictions of the model."""
    server = chat_server(
        [
            text("Which booking?"),
            call("get_booking", {"booking_id": "BK-1"}, content="I look."),
            call("get_booking", '{"booking_id": "BK'),
            text('<tool_call>{"name": "list_slots", "arguments": {}}</tool_call>'),
            text(None),
            Say({"content": "cut sh"}, finish="length"),
        ]
    )
    model = _model(server)
    found = [await model.act(_request(boat_tools)) for _ in range(6)]
    await model.aclose()
    assert found[0].message == AssistantMessage(content="Which booking?")
    assert found[1].message.content == "I look."
    assert found[1].message.calls[0].arguments == {"booking_id": "BK-1"}
    assert found[2].message.calls[0].raw == '{"booking_id": "BK'
    assert (found[3].dialect, found[3].message.calls[0].name) == ("hermes", "list_slots")
    assert found[4].message == AssistantMessage()
    assert found[5].finish is Finish.LENGTH
    assert json.loads(found[0].raw) == {"role": "assistant", "content": "Which booking?"}
    assert found[0].usage.completion_tokens == 7


async def test_the_reference_of_a_seat_is_never_sent(chat_server: Start) -> None:
    """What the recording did is for baselines only."""
    server = chat_server([text("Hi.")])
    model = _model(server)
    await model.act(_request((), reference=AssistantMessage(content="SENTINEL")))
    await model.aclose()
    assert "SENTINEL" not in json.dumps(server.requests)


async def test_prv_02_a_cut_prompt_is_errored_with_its_kind_and_told_once(chat_server: Start) -> None:
    """PRV-02: 2048 reported tokens for a prompt of some 9,000: not the model's failure."""
    notes: list[str] = []
    model = _model(
        chat_server([Say({"content": "?"}, usage={"prompt_tokens": 2048})]), ModelContext(notify=notes.append)
    )
    for _ in range(2):
        with pytest.raises(EndpointError) as caught:
            await model.act(_request((), UserMessage(content="please move my booking " * 1800)))
        assert caught.value.kind == TRUNCATED
    await model.aclose()
    assert len(notes) == 1
    assert "larger context" in notes[0]


async def test_prv_04_a_prompt_that_cannot_fit_is_not_sent(chat_server: Start) -> None:
    """PRV-04: with a known context, a prompt far over it is an overflow found before sending."""
    server = chat_server([text("Hi.")])
    model = _model(server, context_length=1000)
    with pytest.raises(ContextOverflow):
        await model.act(_request((), UserMessage(content="move my booking " * 1000)))
    await model.aclose()
    assert server.requests == []


async def test_prv_07_all_parallel_calls_are_kept_and_told_once(chat_server: Start, boat_tools: Any) -> None:
    """PRV-07: three calls although parallel_tool_calls is false: all stay, one note a run."""
    notes: list[str] = []
    server = chat_server([calls(("list_slots", {}), ("list_slots", {}), ("list_slots", {}))])
    model = _model(server, ModelContext(notify=notes.append), extra_body={"parallel_tool_calls": False})
    found = [await model.act(_request(boat_tools)) for _ in range(2)]
    await model.aclose()
    assert [len(one.message.calls) for one in found] == [3, 3]
    assert len([note for note in notes if "parallel_tool_calls" in note]) == 1


def _strict_roles(body: dict[str, Any], _count: int) -> Step:
    """A template that knows user and assistant only, in turn."""
    roles = [message["role"] for message in body["messages"]]
    expected = [("user", "assistant")[index % 2] for index in range(len(roles))]
    if roles != expected:
        return Status(
            400, '{"error": {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}}'
        )
    return text('<tool_call>{"name": "list_slots", "arguments": {}}</tool_call>')


async def test_prv_08_folding_roles_cures_a_template_that_refuses_them(
    chat_server: Start, boat_conversation: Conversation
) -> None:
    """PRV-08: without folding the run stops with the remedy after one request; with it the same history goes through."""
    server = chat_server(_strict_roles)
    history = (*boat_conversation.messages[:3], UserMessage(content="Well?"), UserMessage(content="Please."))
    request = _request(boat_conversation.tools, *history)
    plain, folded = _model(server), _model(server, fold_roles=True)
    with pytest.raises(ConfigError, match="--fold-roles"):
        await plain.act(request)
    assert len(server.requests) == 1
    answer = await folded.act(request)
    assert answer.message.calls[0].name == "list_slots"
    assert "tools" not in server.requests[1]
    await plain.aclose()
    await folded.aclose()


async def test_prv_12_reasoning_is_sent_back_within_the_turn_when_the_profile_says_so(
    chat_server: Start, boat_tools: Any
) -> None:
    """PRV-12: reasoning of a reply is kept and goes into the next request of the same turn."""
    server = chat_server([Say({**call("list_slots", {}).message, "reasoning_content": "I look."}), text("Here.")])
    model = _model(server, send_reasoning=True)
    first = await model.act(_request(boat_tools))
    history = (UserMessage(content="Hello."), first.message, ToolMessage(content="[]", name="list_slots"))
    await model.act(_request(boat_tools, *history))
    await model.aclose()
    assert first.message.reasoning == "I look."
    assert server.requests[1]["messages"][2]["reasoning_content"] == "I look."


async def test_prv_11_renamed_tools_are_told_and_mapped_back(chat_server: Start) -> None:
    """PRV-11: the server sees acceptable names, everyone else the recording's."""
    notes: list[str] = []
    server = chat_server([call("Move_Booking", {})])
    model = _model(server, ModelContext(notify=notes.append))
    request = _request((ToolSpec(name="Move Booking"),))
    await model.preflight(request)
    answer = await model.act(request)
    await model.aclose()
    assert server.requests[0]["tools"][0]["function"]["name"] == "Move_Booking"
    assert answer.message.calls[0].name == "Move Booking"
    assert any("Move Booking" in note for note in notes)


async def test_a_server_that_decodes_malformed_history_gets_it_wrapped(chat_server: Start, boat_tools: Any) -> None:
    """A model's malformed call in its own history never becomes a failed endpoint; the cure is found once."""

    def script(body: dict[str, Any], _count: int) -> Step:
        for message in body["messages"]:
            for one in message.get("tool_calls", []):
                try:
                    json.loads(one["function"]["arguments"])
                except ValueError:
                    return Status(500, "Failed to parse tool call arguments as JSON")
        return text("Hi.")

    server = chat_server(script)
    broken = ToolCall(name="list_slots", arguments=None, raw='{"a', error="cut")
    request = _request(boat_tools, AssistantMessage(calls=(broken,)), ToolMessage(content="malformed"))
    model = _model(server)
    assert (await model.act(request)).message.content == "Hi."
    assert (await model.act(request)).message.content == "Hi."
    await model.aclose()
    assert len(server.requests) == 3


async def test_costs_follow_the_configured_prices(chat_server: Start) -> None:
    """Cached prompt tokens have their own price; without prices the cost is unknown."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    server = chat_server([Say({"content": "Hi."}, usage=usage)])
    dear = _model(server, prices=Prices(prompt=1.0, completion=10.0, cached=0.5))
    free = _model(server)
    priced, unpriced = await dear.act(_request()), await free.act(_request())
    await dear.aclose()
    await free.aclose()
    assert priced.usage.cost == pytest.approx((600 * 1 + 400 * 0.5 + 100 * 10) / 1e6)
    assert unpriced.usage.cost is None


async def test_run_06_trials_and_attempts_have_their_own_sampled_answers(chat_server: Start) -> None:
    """RUN-06: at temperature 1 each seat asks once; at temperature 0 equal requests share an answer."""
    stored: dict[str, bytes] = {}

    class Cache:
        def get(self, key: str) -> bytes | None:
            return stored.get(key)

        def put(self, key: str, response: bytes) -> None:
            stored[key] = response

    server = chat_server(lambda _body, count: text(f"answer {count}"))
    warm = _model(server, ModelContext(cache=Cache()), temperature=1.0)
    cold = _model(server, ModelContext(cache=Cache()))
    seats: list[dict[str, Any]] = [{"trial": 0}, {"trial": 1}, {"attempt": 2}, {"trial": 0}]
    sampled = [(await warm.act(_request((), **seat))).message.content for seat in seats]
    greedy = [(await cold.act(_request((), **seat))).message.content for seat in seats]
    await warm.aclose()
    await cold.aclose()
    assert sampled == ["answer 0", "answer 1", "answer 2", "answer 0"]
    assert greedy == ["answer 3"] * 4


async def test_usr_09_policy_tools_and_settings_are_the_same_in_every_turn(
    chat_server: Start, boat_conversation: Conversation
) -> None:
    """USR-09: what is sent beside the history does not depend on the turn."""
    server = chat_server([text("Hi.")])
    model = _model(server, seed=3, temperature=0.5, extra_body={"top_k": 5})
    for position in (1, 3, 5, 7):
        await model.act(_request(boat_conversation.tools, *boat_conversation.messages[:position]))
    await model.aclose()
    beside = [
        {**{key: value for key, value in body.items() if key != "messages"}, "policy": body["messages"][0]}
        for body in server.requests
    ]
    assert all(one == beside[0] for one in beside)


def test_identity_holds_settings_and_no_secret() -> None:
    """The identity names endpoint and settings; user part and query of the URL are not in it."""
    url = "http://me:SENTINEL-1@127.0.0.1:9/v1?key=SENTINEL-2"
    model = build(ModelConfig(spec="openai/m", base_url=url, api_key_env="NO_SUCH_KEY", temperature=0.3))
    identity = model.identity()
    assert identity["endpoint"] == "http://127.0.0.1:9/v1"
    assert identity["temperature"] == 0.3
    assert "SENTINEL" not in json.dumps(identity)


@pytest.mark.parametrize("spec", ["openai/", "openai/m?x=1"])
def test_a_spec_without_a_name_or_with_options_is_wrong_usage(spec: str) -> None:
    """The message says how a spec is written."""
    with pytest.raises(UsageError, match="openai/NAME"):
        build(ModelConfig(spec=spec, base_url="http://127.0.0.1:9/v1"))
