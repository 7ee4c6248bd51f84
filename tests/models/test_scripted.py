"""The double of a model."""

from __future__ import annotations

import pytest

from turngap.data import AssistantMessage, Prediction, ToolCall, UserMessage
from turngap.errors import EndpointError, HarnessFault
from turngap.models.base import Model, Request, Seat
from turngap.models.scripted import ScriptedModel

_REQUEST = Request(
    policy="", tools=(), messages=(UserMessage(content="Hi"),), seat=Seat(conversation="c", protocol="gold", decision=0)
)


async def test_a_list_is_answered_in_order_and_every_kind_of_answer_is_understood() -> None:
    """Texts, calls, messages and predictions come back as predictions; requests are kept."""
    call = ToolCall(name="list_slots", arguments={})
    whole = Prediction(message=AssistantMessage(content="c"), raw="{}")
    model: Model = ScriptedModel(["a", call, AssistantMessage(content="b"), whole])
    found = [(await model.act(_REQUEST)).message for _ in range(4)]
    assert [message.content for message in found] == ["a", "", "b", "c"]
    assert found[1].calls == (call,)


async def test_a_used_up_script_says_who_asked() -> None:
    """One request too many is the harness's fault and names the unit."""
    with pytest.raises(HarnessFault, match="0 answers, and 'c'"):
        await ScriptedModel([]).act(_REQUEST)


async def test_an_exception_as_answer_is_raised_and_a_function_sees_the_request() -> None:
    """Scripts can fail on purpose and look at what they are asked."""
    model = ScriptedModel(lambda request: EndpointError(f"no {request.seat.conversation}"))
    with pytest.raises(EndpointError, match="no c"):
        await model.act(_REQUEST)
    assert model.requests == [_REQUEST]
    await model.aclose()
    assert model.closed
