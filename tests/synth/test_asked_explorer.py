"""The explorer that a language model is, against a server that answers by script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from chatserver import ChatServer, Status, Step, call, calls, text
from explorations import CANCEL, DELIVERED, EXCHANGE, FIND, PENDING, RETURN, USER, explored, noor, shop

from turngap import models
from turngap.config import ModelConfig
from turngap.data import ToolCall
from turngap.errors import ContextOverflow, EndpointError
from turngap.models.scripted import ScriptedModel
from turngap.synth.asked_explorer import AskedExplorer, prompt
from turngap.synth.bank import can_be_done
from turngap.synth.explore import Brief
from turngap.synth.plan import Customer, Exploration, LostError

Start = Callable[..., ChatServer]
TOOLS = ("find_user_id_by_email", "get_user_details", "get_order_details", "cancel_pending_order", "calculate")
SUM = call("calculate", {"expression": "6.0 - 1.0"})


def _brief(**changed: Any) -> Brief:
    settings: dict[str, Any] = {"id": "x1", "seed": 7, "customer": noor(), "tools": TOOLS}
    return Brief(**{**settings, **changed})


def _say(made: ToolCall) -> Step:
    return call(made.name, made.arguments)


def _explore(server: ChatServer, brief: Brief | None = None) -> Exploration:
    async def run() -> Exploration:
        config = ModelConfig(spec="openai/m", base_url=server.url, give_up_after=1.0)
        explorer = AskedExplorer(models.build(config), shop())
        try:
            return await explorer.explore(brief or _brief(), shop().world())
        finally:
            await explorer.aclose()

    return asyncio.run(run())


def test_what_the_model_does_is_kept_in_order(chat_server: Start) -> None:
    """Calls become steps with what they led to; the last answer tells what was asked for."""
    ending = text('Done. {"told": [{"about": "the state of my order", "value": "pending"}]}')
    server = chat_server([_say(FIND), _say(PENDING), _say(CANCEL), ending])
    found = _explore(server)
    assert [step.call for step in found.steps] == [FIND, PENDING, CANCEL]
    assert [step.changed for step in found.steps] == [False, False, True]
    assert can_be_done(shop(), found)
    assert [(fact.step, fact.path, fact.value, fact.about) for fact in found.facts] == [
        (1, "status", "pending", "the state of my order")
    ]
    assert (found.explorer, found.offered, found.mishaps) == ("openai/m", TOOLS, {})


def test_the_model_is_told_everything_that_it_needs(chat_server: Start) -> None:
    """Customer, policy, example, stranger and limits are in the prompt; the offer and only it is in the tools."""
    other = Customer(table="users", key="v", record=shop().world().content()["users"]["v"], linked=("#W9",))
    customer = Customer(table="users", key="u", record=noor().record, linked=("#W8",))
    brief = _brief(customer=customer, example=explored([FIND, PENDING, CANCEL]), stranger=other, most_steps=17)
    server = chat_server([_say(FIND), text("{}")])
    _explore(server, brief)
    told = server.requests[0]["messages"][0]["content"]
    for part in ("noor@example.com", "#W8", "ada@example.com", "17", 'cancel_pending_order({"order_id"'):
        assert part in told
    assert shop().policy in told
    assert told == prompt(brief, shop().policy)
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == list(TOOLS)
    assert server.requests[1]["messages"][-1]["content"] == "u"


def test_calls_that_cannot_be_made_are_answered_counted_and_no_steps(chat_server: Start) -> None:
    """Broken JSON, an unknown tool, one that was not offered, and arguments against the schema."""
    server = chat_server(
        [
            call("get_order_details", '{"order_id": '),
            call("refund", {"order_id": "#W1"}),
            _say(RETURN),
            call("cancel_pending_order", {"order_id": "#W1"}),
            _say(FIND),
            _say(CANCEL),
            text("{}"),
        ]
    )
    found = _explore(server)
    assert [step.call for step in found.steps] == [FIND, CANCEL]
    assert found.mishaps == {"malformed call": 1, "tool not offered": 2, "wrong arguments": 1}
    answers = [message for message in server.requests[-1]["messages"] if message["role"] == "tool"]
    assert all("error" in json.loads(message["content"]) for message in answers[:4])
    assert "reason" in answers[3]["content"]


def test_after_too_many_mishaps_it_has_had_its_turn(chat_server: Start) -> None:
    """A model that never makes a readable call gives nothing, with the count as the reason."""
    server = chat_server([call("get_order_details", "not json at all")])
    with pytest.raises(LostError) as caught:
        _explore(server)
    assert caught.value.loss.reason == "nothing was done"
    assert caught.value.loss.detail == "malformed call: 6"
    assert len(server.requests) == 6


def test_the_limit_of_steps_holds_also_within_one_answer(chat_server: Start) -> None:
    """Four calls in one message are two steps where two are allowed."""
    server = chat_server([calls(*((one.name, one.arguments) for one in (FIND, USER, PENDING, DELIVERED)))])
    found = _explore(server, _brief(most_steps=2))
    assert [step.call for step in found.steps] == [FIND, USER]
    assert found.mishaps == {"too many calls": 2}
    assert len(server.requests) == 1


def test_an_empty_answer_is_asked_for_again(chat_server: Start) -> None:
    """Nothing is not an ending; the model is told that nothing arrived, and the silence is not shown to it."""
    server = chat_server([_say(FIND), text(""), text(None), _say(CANCEL), text("{}")])
    found = _explore(server)
    assert [step.call for step in found.steps] == [FIND, CANCEL]
    assert found.mishaps == {"empty answer": 2}
    assert all(message.get("content") or message.get("tool_calls") for message in server.requests[-1]["messages"])


def test_words_before_the_first_call_are_no_ending(chat_server: Start) -> None:
    """Who only announces what will be done is asked to do it."""
    server = chat_server([text("I will look the customer up."), _say(FIND), _say(CANCEL), text("Done.")])
    found = _explore(server)
    assert len(found.steps) == 2
    assert found.mishaps == {"no call": 1}


def test_the_same_look_twice_is_no_step_unless_something_changed(chat_server: Start) -> None:
    """A model that goes in circles is told so; to look again after a change is fine."""
    server = chat_server([_say(FIND), _say(PENDING), _say(PENDING), _say(CANCEL), _say(PENDING), text("{}")])
    found = _explore(server)
    assert [step.call for step in found.steps] == [FIND, PENDING, CANCEL, PENDING]
    assert found.mishaps == {"same call again": 1}


def test_refusals_and_breaches_are_steps(chat_server: Start) -> None:
    """What the world refuses, and what a rule forbids, is material."""
    tools = (*TOOLS, "return_delivered_order_items", "exchange_delivered_order_items")
    refused = {**(RETURN.arguments or {}), "order_id": "#W1"}
    itself = {**(EXCHANGE.arguments or {}), "new_item_ids": ["11"]}
    server = chat_server(
        [_say(FIND), call(RETURN.name, refused), call(EXCHANGE.name, itself), text("{}")],
    )
    found = _explore(server, _brief(tools=tools))
    assert [step.error for step in found.steps] == [False, True, False]
    assert found.steps[2].breaches == ("an item is exchanged for one with other options, not for itself",)


def test_what_is_told_has_to_stand_in_a_result(chat_server: Start) -> None:
    """Made-up answers are counted and dropped; what was worked out is told in any case."""
    ending = text('{"told": [{"about": "the carrier", "value": "DHL"}, {"about": "what I pay", "value": "$6.00"}]}')
    server = chat_server([_say(FIND), _say(PENDING), SUM, ending])
    found = _explore(server)
    assert [(fact.step, fact.about) for fact in found.facts] == [
        (1, "what I pay"),
        (2, "what 6.0 - 1.0 comes to"),
    ]
    assert found.mishaps == {"told what no result says": 1}


def test_an_ending_that_cannot_be_read_tells_nothing(chat_server: Start) -> None:
    """Broken JSON at the end costs the facts, not the exploration."""
    server = chat_server([_say(FIND), _say(CANCEL), text('{"told": [{"about": ]}')])
    found = _explore(server)
    assert found.facts == ()
    assert found.mishaps == {"unreadable ending": 1}


def test_a_failing_server_is_no_loss_of_a_candidate(chat_server: Start) -> None:
    """What could not be asked is to be asked again, so it is raised as the server's fault."""
    with pytest.raises(EndpointError):
        _explore(chat_server([Status(500)]))


def test_a_full_context_ends_it_with_what_there_is() -> None:
    """Long results may fill the context; what was done till then is kept."""
    script = iter([FIND, CANCEL, ContextOverflow("too long")])
    explorer = AskedExplorer(ScriptedModel(lambda _: next(script)), shop())
    found = asyncio.run(explorer.explore(_brief(), shop().world()))
    assert len(found.steps) == 2
    assert found.mishaps == {"context full": 1}


def test_identity_covers_model_prompt_and_domain() -> None:
    """Another model is another explorer; closing it closes the model."""
    model = ScriptedModel([], label="a")
    explorer = AskedExplorer(model, shop())
    assert explorer.identity() != AskedExplorer(ScriptedModel([], label="b"), shop()).identity()
    asyncio.run(explorer.aclose())
    assert model.closed
