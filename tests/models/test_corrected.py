"""A model that acts until it differs from the advice: when that is, who acts then, and what passes through."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from boats import DOMAIN, task

from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Message, Prediction, Task, ToolCall, ToolMessage, Usage, UserMessage
from turngap.data.asking import ANYTHING_ELSE, GO_AHEAD
from turngap.errors import UsageError
from turngap.models import Examined, Model, ModelContext, Request, Seat, build
from turngap.models.base import workers
from turngap.models.corrected import PREFIX, Corrected, acting, first_difference
from turngap.models.live_baseline import advice
from turngap.models.scripted import ScriptedModel

TASK = task(1)
TOOLS = tuple(tool.spec for tool in DOMAIN.tools)
MOVE = ToolCall(name="move_booking", arguments={"booking_id": "BK-1", "date": "2031-05-02"})
WRONG = ToolCall(name="move_booking", arguments={"booking_id": "BK-7", "date": "2031-05-02"})
OPENING = UserMessage(content="Hello, please move BK-1 to 2031-05-02.")
YES = UserMessage(content="Yes, please.")
PROPOSAL = AssistantMessage(
    content=f"This is what I would do: move booking, with booking id BK-1; date 2031-05-02.\n{GO_AHEAD}"
)
REFUSED = ToolMessage(content="there is no booking BK-7", name="move_booking", error=True)
SLIP = (OPENING, PROPOSAL, YES, AssistantMessage(calls=(WRONG,)), REFUSED)


def _request(*messages: Message, one: Task | None = TASK) -> Request:
    seat = Seat(conversation="t", protocol="rollout" if one else "gold", decision=None, task=one)
    return Request(policy="", tools=TOOLS, messages=messages, seat=seat)


def _act(model: Model, *messages: Message, one: Task | None = TASK) -> Prediction:
    return asyncio.run(model.act(_request(*messages, one=one)))


def test_the_first_difference_is_that_of_kind_or_of_calls() -> None:
    """Words of its own are none; a text where a call is due, a call where a text is due, and another call are."""
    free = (OPENING, AssistantMessage(content="I move booking BK-1 to 2031-05-02, right?"), YES)
    done = (AssistantMessage(calls=(MOVE,)), ToolMessage(content="ok", name="move_booking"))
    assert first_difference(TASK, TOOLS, (*free, *done, AssistantMessage(content="Bye."))) is None
    assert first_difference(TASK, TOOLS, (*free, AssistantMessage(content="Well..."))) == 1
    assert first_difference(TASK, TOOLS, (OPENING, *done)) == 0
    assert first_difference(TASK, TOOLS, SLIP) == 1
    assert first_difference(TASK, TOOLS, (*SLIP, *SLIP)) == 1
    assert first_difference(TASK, TOOLS, (*free, *done, *done)) == 2
    assert first_difference(TASK, TOOLS, ()) is None


def test_what_was_given_is_not_counted() -> None:
    """Decisions before the conversation are nobody's; the index begins behind them."""
    given = (OPENING, AssistantMessage(calls=(WRONG,)), REFUSED)
    one = msgspec.structs.replace(TASK, given=given)
    assert first_difference(one, TOOLS, given) is None
    assert first_difference(one, TOOLS, (*given, PROPOSAL, YES, AssistantMessage(content="No."))) == 1
    assert advice(one, TOOLS, given) == PROPOSAL


def test_the_model_acts_until_it_differs_and_is_not_asked_any_more_then() -> None:
    """Its decisions come as it gives them, with what they cost; the advice costs nothing."""
    answer = Prediction(message=AssistantMessage(content="Hm."), usage=Usage(prompt_tokens=7, completion_tokens=1))
    inner = ScriptedModel(lambda _: answer)
    model = Corrected(inner)
    assert _act(model, *SLIP[:3]) == answer
    assert len(inner.requests) == 1
    corrected = _act(model, *SLIP)
    assert corrected == Prediction(message=AssistantMessage(calls=(MOVE,)))
    closing = _act(model, *SLIP, corrected.message, ToolMessage(content="ok", name="move_booking"))
    assert closing.message.content == f"For your information: 2031-05-02. {ANYTHING_ELSE}"
    assert len(inner.requests) == 1


def test_who_acts_hangs_on_the_history_alone() -> None:
    """The same model in another trial at the same time is asked there."""
    inner = ScriptedModel(lambda _: "Hm.")
    model = Corrected(inner)
    assert _act(model, *SLIP).message.calls
    assert _act(model, OPENING).message.content == "Hm."
    assert _act(model, *SLIP).message.calls


def test_outside_live_conversations_it_is_refused_in_one_line() -> None:
    """Without a task there is no advice; the model is not asked."""
    inner = ScriptedModel([])
    with pytest.raises(UsageError, match=r"^corrected/scripted acts in live conversations only.*turngap rollout"):
        _act(Corrected(inner), OPENING, one=None)
    assert not inner.requests


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("corrected", "'corrected' names no model to correct; corrected/hf/FOLDER does"),
        ("corrected/", "names no model"),
        ("corrected/ ", "names no model"),
        ("corrected/corrected/baseline/noisy", "corrected already"),
        ("corrected/corrected", "corrected already"),
        ("corrected/pelican/x", "unknown model 'pelican'; known: baseline, corrected"),
        ("corrected/baseline/noisy?p_tool=2", "p_tool should be a number from 0 to 1"),
        (
            "corrected/recorded/nowhere.jsonl",
            "a recorded model holds predictions on recorded history and cannot act live",
        ),
        ("corrected/recorded", "cannot act live; name a model that can be asked"),
    ],
)
def test_a_spec_without_a_model_to_correct_is_refused(spec: str, said: str) -> None:
    """Nothing, the corrected itself, and whatever its own provider refuses."""
    with pytest.raises(UsageError) as error:
        build(ModelConfig(spec=spec))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_inner_model_gets_the_whole_configuration_but_for_its_spec() -> None:
    """Also its options; table and identity say that it is corrected."""
    model = build(ModelConfig(spec="corrected/baseline/noisy?p_tool=0.25&seed=3", temperature=0.5))
    plain = build(ModelConfig(spec="baseline/noisy?p_tool=0.25&seed=3", temperature=0.5))
    assert model.label == "corrected/baseline/noisy?p_tool=0.25&seed=3"
    assert model.identity() == {"model": "corrected", "inner": plain.identity()}
    assert PREFIX == "corrected/"


def test_settings_reach_a_model_that_uses_them() -> None:
    """A server's model is asked as configured."""
    config = ModelConfig(spec="corrected/openai/pelican", base_url="http://127.0.0.1:9/v1", temperature=0.5)
    inner = msgspec.structs.replace(config, spec="openai/pelican")
    assert build(config, ModelContext()).identity()["inner"] == build(inner, ModelContext()).identity()


def test_the_spec_of_the_model_that_acts() -> None:
    """Behind the prefix; of a model that acts alone its own."""
    assert acting("corrected/baseline/noisy?seed=3") == "baseline/noisy?seed=3"
    assert acting("openai/corrected/x") == "openai/corrected/x"


class _OnGold(ScriptedModel):
    """A double that answers on recorded history alone."""

    gold_only = True


class _Server(ScriptedModel):
    """A double with a limit and a server to look at."""

    concurrency = 2

    def __init__(self) -> None:
        super().__init__([])
        self.looked: list[Request] = []

    async def preflight(self, request: Request) -> None:
        """Remember the request."""
        self.looked.append(request)


def test_limits_looks_and_the_end_pass_through() -> None:
    """What the inner model says of itself holds for the corrected one, and what it does not say changes nothing."""
    server, plain = _Server(), ScriptedModel([])
    assert workers(Corrected(server), 8) == 2
    assert workers(Corrected(plain), 8) == 8
    assert not Corrected(plain).gold_only
    assert Corrected(_OnGold([])).gold_only
    assert Corrected(plain).live_only
    for inner in (server, plain):
        model = Corrected(inner)
        assert isinstance(model, Examined)
        asyncio.run(model.preflight(_request(OPENING, one=None)))
        asyncio.run(model.aclose())
        assert inner.closed
    assert len(server.looked) == 1
