"""What the tests of the run directory share: a configuration, conversations, and results of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Cause,
    Conversation,
    Failure,
    Prediction,
    Problem,
    Score,
    Source,
    ToolCall,
    ToolMessage,
    Trajectory,
    Usage,
    UserMessage,
    Verdict,
)


@pytest.fixture
def config() -> EvalConfig:
    """A plain evaluation of one file by one model."""
    return EvalConfig(data=DataConfig(paths=("logs.jsonl",)), model=ModelConfig(spec="openai/pelican", temperature=0.5))


@pytest.fixture
def with_model(config: EvalConfig) -> Callable[..., EvalConfig]:
    """`config` with other settings of the model."""

    def build(**changes: Any) -> EvalConfig:
        return msgspec.structs.replace(config, model=msgspec.structs.replace(config.model, **changes))

    return build


@pytest.fixture
def conversations() -> list[Conversation]:
    """Ten small different conversations."""
    return [
        Conversation(
            id=f"c{number}",
            policy="Be kind.",
            messages=(UserMessage(content=f"Hallo {number}, grüß dich"), AssistantMessage(content="Guten Tag")),
            metadata={"serial": 10**30 + number},
            source=Source(file="logs.jsonl", line=number + 1),
        )
        for number in range(10)
    ]


@pytest.fixture
def prediction() -> Prediction:
    """A prediction with a malformed call, whose text must survive as it is."""
    call = ToolCall(name="move_booking", arguments=None, raw='{"date": ', error="cut off", notes=("from_reasoning",))
    return Prediction(
        message=AssistantMessage(content="I will.\u2028Now\0", calls=(call,), reasoning="hm"),
        raw='{"role":"assistant"}',
        usage=Usage(prompt_tokens=3, completion_tokens=4, cost=0.25),
        seconds=0.5,
    )


@pytest.fixture
def failure() -> Failure:
    """A unit whose server failed."""
    return Failure(cause=Cause.ENDPOINT, reason="503 after 5 attempts", kind="EndpointError", attempts=5)


@pytest.fixture
def trajectory() -> Trajectory:
    """A closed loop with one rejected call."""
    act = Acted(
        message=AssistantMessage(calls=(ToolCall(name="get_booking", arguments={"booking_id": "BK-1"}),)),
        results=(ToolMessage(content="no", error=True),),
        verdicts=(CallVerdict(accepted=False, category=Category.WRONG_ARGUMENTS, decision=0, attempt=1),),
    )
    problem = Problem(category=Category.WRONG_ARGUMENTS, decision=0, event=0)
    return Trajectory(conversation="c0", events=(act,), problems=(problem,), steps=1, rejected=1)


@pytest.fixture
def verdict() -> Verdict:
    """A judge's answer."""
    return Verdict(success=False, category="wrong date", rationale="2 May was asked for", raw="{}")


@pytest.fixture
def make_score() -> Callable[..., Score]:
    """Builds scores of text decisions."""

    def build(conversation: str, decision: int | None = 0, **changes: Any) -> Score:
        fields: dict[str, Any] = {
            "protocol": "text",
            "kind": "text",
            "success": True,
            "cause": None,
            "values": {"rouge1": 0.5},
        }
        return Score(conversation=conversation, decision=decision, **(fields | changes))

    return build
