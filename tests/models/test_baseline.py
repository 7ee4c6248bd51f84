"""The baselines whose error rates are known."""

from __future__ import annotations

import asyncio
import math
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.config import ModelConfig
from turngap.data import (
    AssistantMessage,
    Conversation,
    Message,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    decisions,
)
from turngap.errors import UsageError
from turngap.models import Request, Seat, build
from turngap.models.baseline import CLOSING, Noisy, Reference

TOOL = AssistantMessage(
    calls=(ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-02"}),)
)
TEXT = AssistantMessage(content="Done, your booking is on 2 May.")


def _seat(
    reference: AssistantMessage | None, *, index: int = 0, attempt: int = 1, protocol: str = "gold", trial: int = 0
) -> Seat:
    return Seat(
        conversation="boat", protocol=protocol, decision=index, attempt=attempt, trial=trial, reference=reference
    )


def _answer(model: Noisy | Reference, where: Seat) -> AssistantMessage:
    return asyncio.run(model.act(Request(policy="", tools=(), messages=(), seat=where))).message


def _many(model: Noisy, make: Callable[[int], Seat], n: int = 2000) -> list[AssistantMessage]:
    async def run() -> list[AssistantMessage]:
        return [
            (await model.act(Request(policy="", tools=(), messages=(), seat=make(index)))).message for index in range(n)
        ]

    return asyncio.run(run())


def test_reference_answers_every_decision_as_recorded(boat_conversation: Conversation) -> None:
    """`reference` gives each recorded decision back, unchanged."""
    model = build(ModelConfig(spec="baseline/reference"))
    for decision in decisions(boat_conversation):
        assert _answer(model, _seat(decision.reference)) == decision.reference


@pytest.mark.parametrize("model", [Reference(), Noisy(p_text=0, p_tool=0)])
def test_past_the_recording_a_closing_text_is_said(model: Noisy | Reference) -> None:
    """Where nothing is recorded the answer is a text that is not empty, so that the turn ends."""
    assert _answer(model, _seat(None)) == AssistantMessage(content=CLOSING)
    assert CLOSING


@pytest.mark.parametrize("p", [0.0, 0.3, 0.7, 1.0])
def test_tool_error_rate_is_the_one_asked_for(p: float) -> None:
    """The share of correct tool decisions lies within four standard errors of `p_tool`."""
    found = _many(Noisy(p_tool=p, seed=1), lambda index: _seat(TOOL, index=index))
    share = sum(message == TOOL for message in found) / len(found)
    assert abs(share - p) <= 4 * math.sqrt(p * (1 - p) / len(found))


def _after(*messages: Message, tools: tuple[ToolSpec, ...] = (), index: int = 0) -> Request:
    return Request(
        policy="", tools=tools, messages=messages, seat=_seat(TOOL, index=index, attempt=2, protocol="replay")
    )


def _own_error(request: Request) -> tuple[Message, Message]:
    """What the history shows after the baseline has erred at a request."""
    wrong = asyncio.run(Noisy(p_tool=0).act(request)).message
    return wrong, ToolMessage(name=wrong.calls[0].name, content='{"error": "unknown tool"}', error=True)


def test_it_gets_worse_after_its_first_error() -> None:
    """`after_error` replaces `p_tool` once a rejected call of its own stands in the history, for good."""
    erred = _own_error(_after())
    model = Noisy(p_tool=0.9, after_error=0.3, seed=1)
    for history, p in (((), 0.9), (erred, 0.3), ((*erred, TEXT, UserMessage(content="Go on.")), 0.3)):
        found = [asyncio.run(model.act(_after(*history, index=index))).message == TOOL for index in range(2000)]
        assert abs(sum(found) / len(found) - p) <= 4 * math.sqrt(p * (1 - p) / len(found))


def test_what_others_did_wrong_does_not_make_it_worse(boat_conversation: Conversation) -> None:
    """Recorded errors, errors without its mark, accepted calls and texts are no errors of its own."""
    model = Noisy(p_tool=1, after_error=0)
    failing = ToolMessage(content="no such booking", error=True)
    marked = AssistantMessage(calls=(ToolCall(name="state_unknown", arguments={}),))
    assert asyncio.run(model.act(_after(TOOL, failing))).message == TOOL
    assert asyncio.run(model.act(_after(marked, ToolMessage(content="ok")))).message == TOOL
    known = (ToolSpec(name="state_unknown"),)
    assert asyncio.run(model.act(_after(marked, failing, tools=known))).message == TOOL
    assert asyncio.run(model.act(_after(marked, failing))).message != TOOL
    assert asyncio.run(model.act(_after(*boat_conversation.messages))).message == TOOL


def test_texts_do_not_get_worse() -> None:
    """`after_error` is about tool decisions alone."""
    request = Request(policy="", tools=(), messages=_own_error(_after()), seat=_seat(TEXT, protocol="replay"))
    assert asyncio.run(Noisy(after_error=0).act(request)).message == TEXT


def test_attempts_are_independent() -> None:
    """Three attempts at one decision fail together with probability (1-p)^3."""
    model = Noisy(p_tool=0.5, seed=3)
    rounds = [
        _many(model, lambda index, n=n: _seat(TOOL, index=index, attempt=n, protocol="replay")) for n in (1, 2, 3)
    ]
    lost = sum(TOOL not in attempts for attempts in zip(*rounds, strict=True)) / len(rounds[0])
    assert abs(lost - 0.125) <= 4 * math.sqrt(0.125 * 0.875 / len(rounds[0]))


def test_each_part_of_the_seat_makes_another_draw() -> None:
    """Seed, decision, protocol, attempt and trial each change the sequence of errors."""

    def pattern(model: Noisy, **fields: object) -> list[bool]:
        return [message == TOOL for message in _many(model, lambda index: _seat(TOOL, index=index, **fields), n=64)]

    model = Noisy(p_tool=0.5)
    patterns = [
        pattern(model),
        pattern(Noisy(p_tool=0.5, seed=1)),
        pattern(model, protocol="replay"),
        pattern(model, attempt=2),
        pattern(model, trial=1),
    ]
    assert len({tuple(found) for found in patterns}) == len(patterns)


def test_order_and_restarts_do_not_change_a_draw() -> None:
    """The same seat gets the same answer from a new model, asked in another order."""
    forward = _many(Noisy(p_tool=0.5, seed=9), lambda index: _seat(TOOL, index=index), n=50)
    backward = _many(Noisy(p_tool=0.5, seed=9), lambda index: _seat(TOOL, index=49 - index), n=50)
    assert forward == backward[::-1]


def test_a_wrong_tool_decision_is_one_call_that_exists_nowhere(boat_conversation: Conversation) -> None:
    """The error of a tool decision is exactly one call, of a name no tool has, whatever is compared of its arguments."""
    names = {tool.name for tool in boat_conversation.tools}
    reference = AssistantMessage(calls=(TOOL.calls[0], ToolCall(name="list_slots", arguments={})))
    request = Request(policy="", tools=boat_conversation.tools, messages=(), seat=_seat(reference))
    message = asyncio.run(Noisy(p_tool=0).act(request)).message
    assert len(message.calls) == 1
    assert message.calls[0].name not in names
    assert message.calls[0].arguments is not None


@given(st.text(), st.integers(0, 100))
def test_a_wrong_text_shares_nothing_with_reference_or_history(text: str, seed: int) -> None:
    """The error of a text decision is a number that nobody mentioned, and never a call."""
    message = _answer(Noisy(p_text=0, seed=seed), _seat(AssistantMessage(content=text)))
    assert message.content.isdigit()
    assert message.content not in text
    assert not message.calls


def test_texts_and_tools_err_apart() -> None:
    """`p_text` touches no tool decision and `p_tool` no text decision."""
    assert _answer(Noisy(p_text=0, p_tool=1), _seat(TOOL)) == TOOL
    assert _answer(Noisy(p_text=1, p_tool=0), _seat(TEXT)) == TEXT


def test_options_reach_the_model_and_its_identity() -> None:
    """Everything that changes answers is in the identity, and the label is the spec."""
    spec = "baseline/noisy?p_text=0.9&p_tool=0.7&seed=4"
    model = build(ModelConfig(spec=spec))
    assert model.label == spec
    assert model.identity() == {"model": "baseline/noisy", "p_text": 0.9, "p_tool": 0.7, "seed": 4}
    assert pickle.loads(pickle.dumps(model)).identity() == model.identity()
    worse = build(ModelConfig(spec=f"{spec}&after_error=0.3"))
    assert worse.identity() == {**model.identity(), "after_error": 0.3}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("baseline/oracle", ("oracle", "reference", "noisy", "nearest")),
        ("baseline/noisy?p_tool=1.2", ("p_tool", "1.2")),
        ("baseline/noisy?p_tool=nan", ("p_tool", "nan")),
        ("baseline/noisy?p_text=often", ("p_text", "often")),
        ("baseline/noisy?seed=1.5", ("seed", "1.5")),
        ("baseline/noisy?after_error=2", ("after_error", "2")),
        ("baseline/noisy?p=0.5", ("'p'", "p_text", "p_tool", "seed")),
        ("baseline/reference?seed=1", ("seed", "no options")),
        ("baseline/nearest?file=x", ("file", "train")),
    ],
)
def test_what_makes_no_sense_is_named(spec: str, names: tuple[str, ...]) -> None:
    """An unknown baseline, option or value is one line that says what is known."""
    with pytest.raises(UsageError) as caught:
        build(ModelConfig(spec=spec))
    assert "\n" not in str(caught.value)
    for name in names:
        assert name in str(caught.value)
